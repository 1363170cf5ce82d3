/**
 * `/healthz` and `/metrics`: what a supervisor and Prometheus ask for, without a token, as their agents do.
 *
 * The control listener is the operator's; metrics name no tenant.
 */
import type { FastifyInstance } from 'fastify';
import type { BundlerLayers } from '../../bundle/bundler-confinement.ts';
import type { Layers } from '../../confinement/layers.ts';
import type { IntegrityState } from '../../database/integrity/integrity.ts';

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
  /** What the checks of the database have found so far. */
  database(): IntegrityState;
}

/** What a supervisor is told of the cells. */
export interface CellHealth {
  /** Cells that take calls. */
  readonly count: number;
  /** What keeps them in. */
  readonly layers: Layers;
}

/** What a supervisor is told of the processes that read and bundle uploads. */
export interface BundlerHealth {
  /** What keeps them in. */
  readonly layers: BundlerLayers;
}

export function operationsRoutes(
  app: FastifyInstance,
  { metrics, cells, bundlers, database }: OperationsParts,
): void {
  // A service on a damaged database still answers. It is not well, and a supervisor that only looks at the status has to see that.
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
