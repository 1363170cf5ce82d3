/**
 * `GET /v1/contentkit.schema.json`: what a component draws, as the render routes answer it, for whoever shows it.
 *
 * Without a token, like the description of the API: it holds nothing of a tenant, only what the documentation says anyway.
 */
import type { FastifyInstance } from 'fastify';
import { CONTENTKIT_SCHEMA } from '../../../model/contentkit/contentkit.ts';

/** A new release of this service is noticed within the hour. */
const CACHE = 'public, max-age=3600';

export function contentKitSchemaDoor(app: FastifyInstance): void {
  const text = JSON.stringify(CONTENTKIT_SCHEMA);
  app.get('/v1/contentkit.schema.json', { schema: { hide: true } }, async (_request, reply) => {
    reply.header('cache-control', CACHE).type('application/schema+json');
    return text;
  });
}
