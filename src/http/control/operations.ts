/**
 * `/healthz` and `/metrics`: what a supervisor and Prometheus ask for, without a token, as their agents do.
 *
 * The control listener is the operator's; metrics name no tenant.
 */
import type { FastifyInstance } from 'fastify';
import type { Layers } from '../../confinement/layers.ts';

/** The part of a prom-client registry that answers a scrape. */
export interface Exposition {
  readonly contentType: string;
  metrics(): Promise<string>;
}

export interface OperationsParts {
  readonly metrics: Exposition;
  readonly cells: CellHealth;
}

/** What a supervisor is told of the cells. */
export interface CellHealth {
  /** Cells that take calls. */
  readonly count: number;
  /** What keeps them in. */
  readonly layers: Layers;
}

export function operationsDoor(app: FastifyInstance, { metrics, cells }: OperationsParts): void {
  app.get('/healthz', async () => ({ status: 'ok', cells: { count: cells.count, layers: cells.layers } }));
  app.get('/metrics', async (_request, reply) => {
    reply.type(metrics.contentType);
    return metrics.metrics();
  });
}
