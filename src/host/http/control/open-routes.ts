/**
 * What the control listener answers without a token. It contains nothing of a tenant.
 *
 * - `/healthz`, `/readyz` and `/metrics`: for supervisors, load balancers and Prometheus, whose
 *   agents send no token.
 * - `/v1/manifest.schema.json` and `/v1/contentkit.schema.json`: the JSON Schemas of manifests, for
 *   editors, which have no token, and of ContentKit, for host products that show it.
 * - `/v1/packages` and `/v1/packages/{file}`: the npm packages of the version that runs, for
 *   authors and host products: `npm install {url}` asks no registry for them, and sends no token.
 * - `/v1/.well-known/jwks.json`: the public keys that verify statements to the product's API (RFC
 *   7517).
 */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';
import { AnnexError } from '../../../errors.ts';
import { CONTENTKIT_SCHEMA } from '../../../model/contentkit/contentkit.ts';
import { MANIFEST_SCHEMA } from '../../../model/manifest/manifest.ts';
import { ARCHIVES, archiveName } from '../../../own-files.ts';
import { VERSION } from '../../../version.ts';
import type { BundlerLayers } from '../../bundle/bundler-confinement.ts';
import type { Layers } from '../../confinement/layers.ts';
import type { DatabaseState, IntegrityState } from '../../database/engine.ts';
import type { StatementKeys } from '../../store/statement-keys.ts';
import type { Origins } from '../../targets/target-resolver.ts';

const OK = 200;
const UNAVAILABLE = 503;

/** The part of a prom-client registry that answers a scrape. */
export interface Exposition {
  readonly contentType: string;
  metrics(): Promise<string>;
}

export interface OperationsDeps {
  readonly metrics: Exposition;
  /** Number of cells that accept calls, and their confinement. */
  readonly cells: { readonly count: number; readonly layers: Layers };
  /** Confinement of the processes that read and bundle uploads. */
  readonly bundlers: { readonly layers: BundlerLayers };
  /** Findings of the integrity checks so far, and whether the database does its work now. */
  database(): IntegrityState & DatabaseState;
}

export function healthAndMetricsRoutes(app: FastifyInstance, deps: OperationsDeps): void {
  const { metrics } = deps;
  // A service with a damaged database still answers. Its status is 503 for supervisors that look
  // only at the status. While the database is away it is 200: to start the node again would help
  // nothing, and would lose the caches from which it still serves calls.
  app.get('/healthz', async (_request, reply) => {
    const state = healthOf(deps);
    reply.code(state.status === 'damaged' ? UNAVAILABLE : OK);
    return state;
  });
  app.get('/readyz', async (_request, reply) => {
    const state = healthOf(deps);
    reply.code(state.status === 'ok' ? OK : UNAVAILABLE);
    return state;
  });
  app.get('/metrics', async (_request, reply) => {
    reply.type(metrics.contentType);
    return metrics.metrics();
  });
}

function healthOf({ cells, bundlers, database }: OperationsDeps) {
  const { integrity, checkedAt, tables, damagedTables, reachable, writable } = database();
  const isDamaged = integrity === 'damaged';
  const works = reachable && writable ? 'ok' : 'degraded';
  return {
    status: isDamaged ? ('damaged' as const) : works,
    cells: { count: cells.count, layers: cells.layers },
    bundlers: { layers: bundlers.layers },
    database: {
      ...{ reachable, writable, integrity },
      checkedAt: checkedAt === undefined ? null : new Date(checkedAt).toISOString(),
      tables,
      ...(isDamaged && { damagedTables }),
    },
  };
}

/** Editors fetch it at every start; they notice a new release within the hour. */
const SCHEMA_CACHE = 'public, max-age=3600';
const SCHEMAS = { manifest: MANIFEST_SCHEMA, contentkit: CONTENTKIT_SCHEMA };

export function jsonSchemasRoutes(app: FastifyInstance): void {
  for (const [name, schema] of Object.entries(SCHEMAS)) {
    const text = JSON.stringify(schema);
    app.get(`/v1/${name}.schema.json`, async (_request, reply) => {
      reply.header('cache-control', SCHEMA_CACHE).type('application/schema+json');
      return text;
    });
  }
}

/** The next key is published before it signs, so a cached copy is good for long enough. */
const KEYS_CACHE = 'public, max-age=300';

export function jwksRoute(app: FastifyInstance, statementKeys: Pick<StatementKeys, 'published'>): void {
  app.get('/v1/.well-known/jwks.json', async (_request, reply) => {
    const published = await statementKeys.published();
    reply.header('cache-control', KEYS_CACHE).type('application/jwk-set+json');
    const [type, use] = [
      { kty: 'OKP', crv: 'Ed25519' },
      { alg: 'EdDSA', use: 'sig' },
    ];
    return JSON.stringify({ keys: published.map(({ kid, x }) => ({ ...type, x, kid, ...use })) });
  });
}

const NAMES = ['annex', '@annex/sdk', '@annex/testing', '@annex/client', '@annex/components'];
/** File → name. Attack: a path of another file of this machine. */
const FILES: ReadonlyMap<string, string> = new Map(NAMES.map((name) => [archiveName(name, VERSION), name]));

const pathOf = (file: string): string => fileURLToPath(new URL(file, ARCHIVES));
const bytesOf = (file: string): Promise<number | undefined> =>
  stat(pathOf(file)).then(
    ({ size }) => size,
    () => undefined,
  );

export function packagesRoutes(app: FastifyInstance, origins: Pick<Origins, 'apiUrl'>): void {
  app.get('/v1/packages', async () => {
    const items: { name: string; version: string; url: string }[] = [];
    for (const [file, name] of FILES)
      if ((await bytesOf(file)) !== undefined)
        items.push({ name, version: VERSION, url: `${origins.apiUrl}/packages/${file}` });
    return { items };
  });
  app.get<{ Params: { file: string } }>('/v1/packages/:file', async (request, reply) => {
    const { file } = request.params;
    const bytes = FILES.has(file) ? await bytesOf(file) : undefined;
    if (bytes === undefined) throw unknownFile();
    reply.type('application/gzip').header('content-length', bytes);
    return reply.send(createReadStream(pathOf(file)));
  });
}

function unknownFile(): AnnexError {
  const files = [...FILES.keys()].join(', ');
  const message = `This service has no such package. There are ${files}; in a clone, "npm run packages" makes them.`;
  return new AnnexError('ROUTE_UNKNOWN', message);
}
