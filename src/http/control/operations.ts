/**
 * `/healthz` and `/metrics`: what a supervisor and Prometheus ask for, without a token, as their agents do.
 *
 * The control listener is the operator's; metrics name no tenant.
 */
import type { FastifyInstance } from 'fastify';

/** The part of a prom-client registry that answers a scrape. */
export interface Exposition {
  readonly contentType: string;
  metrics(): Promise<string>;
}

export function operationsDoor(app: FastifyInstance, { metrics }: { readonly metrics: Exposition }): void {
  app.get('/healthz', async () => ({ status: 'ok' }));
  app.get('/metrics', async (_request, reply) => {
    reply.type(metrics.contentType);
    return metrics.metrics();
  });
}
