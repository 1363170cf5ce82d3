/**
 * Counts orders: every request to the API that is no GET, unless something else counts it.
 *
 * Nearly every order is an entry of the audit, which is kept for a year. Attack: an organization
 * that makes an install link, activates a version or sets a secret in a loop, and fills the disk.
 * Edits of an installation and tasks have rates of their own, which say so with `markCounted`; a
 * route without an order says so in its `config`. All other routes are counted here, so that none
 * is forgotten. The operator and the host product, which act for all organizations, are not
 * counted.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { LimitName, Limits } from '../../limits.ts';
import { limitError } from '../../model/limit-met.ts';
import { isPlatform, isRuntime } from '../../model/principal.ts';
import { RateLimit } from '../../model/rate-limit.ts';
import { principalOf } from './authenticate.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * What bounds requests to a route instead: the places for `calls`, where it makes a call, or
     * leases what a call renews, and writes no audit; or `edits`, where the route counts them when
     * it has found their installation.
     */
    boundBy?: 'calls' | 'edits';
  }
}

/** `config` of a route that gives no order: it calls code, or serves code in a call. */
export const BOUND_BY_CALLS = { boundBy: 'calls' } as const;
/** `config` of a route that takes an edit of an installation itself. */
export const BOUND_BY_EDITS = { boundBy: 'edits' } as const;

const LIMIT = 'ordersPerMinutePerOrganization';
const MINUTE_MS = 60_000;
const COUNTED = 'isCounted';
const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

export interface OrderRateParts {
  readonly limits: Pick<Limits, typeof LIMIT>;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
  /** Called for each order that is refused. */
  limitMet(limit: LimitName): void;
}

/** A rate of its own has counted the request. */
export const markCounted = (request: FastifyRequest): void => request.setDecorator(COUNTED, true);

/** Counts the orders of this instance and of those below it, before their bodies are read. */
export function countOrders(app: FastifyInstance, { limits, clock, limitMet }: OrderRateParts): void {
  const rate = new RateLimit({ timesMax: limits[LIMIT], windowMs: MINUTE_MS, clock });
  app.decorateRequest(COUNTED, false);
  // After all hooks `onRequest`, in which other rates count.
  app.addHook('preParsing', async (request) => {
    if (READS.has(request.method) || request.routeOptions.config.boundBy !== undefined) return;
    const principal = principalOf(request);
    if (request.getDecorator<boolean>(COUNTED) || isPlatform(principal)) return;
    const key = isRuntime(principal) ? `code ${principal.integration}` : principal.organization;
    if (rate.take(key ?? '')) return;
    limitMet(LIMIT);
    throw limitError('REQUEST_RATE_EXCEEDED', { name: LIMIT, max: limits[LIMIT] });
  });
}
