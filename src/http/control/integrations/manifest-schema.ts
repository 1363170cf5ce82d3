/**
 * `GET /v1/manifest.schema.json`: what a manifest may say, for editors.
 *
 * Without a token, because an editor has none: it holds nothing of a tenant, only what the documentation says anyway.
 */
import type { FastifyInstance } from 'fastify';
import { MANIFEST_SCHEMA } from '../../../model/manifest/manifest-schema.ts';

/** An editor asks at every start; a new release of this service is noticed within the hour. */
const CACHE = 'public, max-age=3600';

export function manifestSchemaDoor(app: FastifyInstance): void {
  const text = JSON.stringify(MANIFEST_SCHEMA);
  app.get('/v1/manifest.schema.json', { schema: { hide: true } }, async (_request, reply) => {
    reply.header('cache-control', CACHE).type('application/schema+json');
    return text;
  });
}
