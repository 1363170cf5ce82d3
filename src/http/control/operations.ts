/**
 * `/healthz` and `/metrics`: for supervisors and Prometheus, whose agents send no token.
 *
 * The control listener is the operator's, and metrics name no tenant.
 */
import type { FastifyInstance } from 'fastify';
import type { BundlerLayers } from '../../bundle/bundler-confinement.ts';
import type { Layers } from '../../confinement/layers.ts';
import type { IntegrityState } from '../../database/engine.ts';

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
  /** Findings of the integrity checks so far. */
  database(): IntegrityState;
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

export function operationsRoutes(
  app: FastifyInstance,
  { metrics, cells, bundlers, database }: OperationsParts,
): void {
  // A service with a damaged database still answers. Its status is 503 for supervisors that look
  // only at the status.
  app.get('/healthz', async (_request, reply) => {
    const { integrity, checkedAt, tables, damagedTables } = database();
    const isDamaged = integrity === 'damaged';
    reply.code(isDamaged ? UNAVAILABLE : OK);
    return {
      status: isDamaged ? 'damaged' : 'ok',
      cells: { count: cells.count, layers: cells.layers },
      bundlers: { layers: bundlers.layers },
      database: {
        integrity,
        checkedAt: checkedAt === undefined ? null : new Date(checkedAt).toISOString(),
        tables,
        ...(isDamaged && { damagedTables }),
      },
    };
  });
  app.get('/metrics', async (_request, reply) => {
    reply.type(metrics.contentType);
    return metrics.metrics();
  });
}
