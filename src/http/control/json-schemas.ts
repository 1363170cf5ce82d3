/**
 * `GET /v1/manifest.schema.json` and `/v1/contentkit.schema.json`: what a manifest may say, for editors, and what a component
 * may draw, for whoever shows it.
 *
 * Without a token, because an editor has none: they hold nothing of a tenant, only what the documentation says anyway.
 */
import type { FastifyInstance } from 'fastify';
import { CONTENTKIT_SCHEMA } from '../../model/contentkit/contentkit.ts';
import { MANIFEST_SCHEMA } from '../../model/manifest/manifest-schema.ts';

/** An editor asks at every start; a new release of this service is noticed within the hour. */
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
