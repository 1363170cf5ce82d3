/**
 * `/healthz`, `/readyz` and `/metrics`: for supervisors, load balancers and Prometheus, whose
 * agents send no token.
 *
 * The control listener is the operator's, and metrics name no tenant.
 */
import type { FastifyInstance } from 'fastify';
import type { BundlerLayers } from '../../bundle/bundler-confinement.ts';
import type { Layers } from '../../confinement/layers.ts';
import type { DatabaseState, IntegrityState } from '../../database/engine.ts';

const OK = 200;
const UNAVAILABLE = 503;

/** The part of a prom-client registry that answers a scrape. */
export interface Exposition {
  readonly contentType: string;
  metrics(): Promise<string>;
}

export interface OperationsParts {
  readonly metrics: Exposition;
  readonly cells: CellHealth;
  readonly bundlers: BundlerHealth;
  /** Findings of the integrity checks so far, and whether the database does its work now. */
  database(): IntegrityState & DatabaseState;
}

/** State of the cells, for supervisors. */
export interface CellHealth {
  /** Cells that accept calls. */
  readonly count: number;
  /** Their confinement. */
  readonly layers: Layers;
}

/** State of the processes that read and bundle uploads, for supervisors. */
export interface BundlerHealth {
  /** Their confinement. */
  readonly layers: BundlerLayers;
}

export function healthAndMetricsRoutes(
  app: FastifyInstance,
  { metrics, cells, bundlers, database }: OperationsParts,
): void {
  const health = () => healthOf(database(), cells, bundlers);
  // A service with a damaged database still answers. Its status is 503 for supervisors that look
  // only at the status. While the database is away it is 200: to start the node again would help
  // nothing, and would lose the caches from which it still serves calls.
  app.get('/healthz', async (_request, reply) => {
    const state = health();
    reply.code(state.status === 'damaged' ? UNAVAILABLE : OK);
    return state;
  });
  app.get('/readyz', async (_request, reply) => {
    const state = health();
    reply.code(state.status === 'ok' ? OK : UNAVAILABLE);
    return state;
  });
  app.get('/metrics', async (_request, reply) => {
    reply.type(metrics.contentType);
    return metrics.metrics();
  });
}

function healthOf(
  { integrity, checkedAt, tables, damagedTables, reachable, writable }: IntegrityState & DatabaseState,
  cells: CellHealth,
  bundlers: BundlerHealth,
) {
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
