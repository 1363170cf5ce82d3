/**
 * `GET /v1/manifest.schema.json` and `/v1/contentkit.schema.json`: the JSON Schemas of manifests,
 * for editors, and of ContentKit, for host products that show it.
 *
 * Without a token, because editors have none: the schemas contain only what is documented, and
 * nothing of a tenant.
 */
import type { FastifyInstance } from 'fastify';
import { CONTENTKIT_SCHEMA } from '../../model/contentkit/contentkit.ts';
import { MANIFEST_SCHEMA } from '../../model/manifest/manifest.ts';

/** Editors fetch it at every start; they notice a new release within the hour. */
const CACHE = 'public, max-age=3600';
const SCHEMAS = { manifest: MANIFEST_SCHEMA, contentkit: CONTENTKIT_SCHEMA };

export function jsonSchemasRoutes(app: FastifyInstance): void {
  for (const [name, schema] of Object.entries(SCHEMAS)) {
    const text = JSON.stringify(schema);
    app.get(`/v1/${name}.schema.json`, { schema: { hide: true } }, async (_request, reply) => {
      reply.header('cache-control', CACHE).type('application/schema+json');
      return text;
    });
  }
}
