/**
 * The rates of requests to endpoints: for each address, and for each endpoint.
 *
 * Requests are counted before the look-up of their endpoint. Attack: trying keys of endpoints, each
 * of which costs a query of the database. This file reads only heads, and does not decide which
 * requests are counted.
 */
import type { FastifyRequest } from 'fastify';
import { AnnexError } from '../../../errors.ts';
import type { LimitName, Limits } from '../../../limits.ts';
import type { AddressList } from '../../../model/address-list.ts';
import { limitSentence } from '../../../model/limit-met.ts';
import { RateLimit, type RateLimitDeps } from '../../../model/rate-limit.ts';
import { addressKey, clientAddress } from '../client-address.ts';
import { inProcessOwner } from '../loopback-listeners.ts';

const SECOND_MS = 1_000;
/** How often a refused address is written to the log. */
const WARN_EVERY_MS = 60_000;

export interface RequestRatesDeps {
  readonly limits: Pick<Limits, 'requestsPerSecondPerAddress' | 'requestsPerSecondPerEndpoint'>;
  readonly trustedProxies: AddressList;
  /** Monotonic, in milliseconds. */
  readonly monotonicNow: () => number;
  /** Called with each limit that a request met. */
  limitMet(limit: LimitName): void;
}

export class RequestRates {
  readonly #deps: RequestRatesDeps;
  readonly #perAddress: RateLimit;
  readonly #perEndpoint: EndpointRate;
  #warnedAt = Number.NEGATIVE_INFINITY;

  constructor(deps: RequestRatesDeps) {
    this.#deps = deps;
    const { limits, monotonicNow } = deps;
    const perSecond = { windowMs: SECOND_MS, monotonicNow };
    this.#perAddress = new RateLimit({ timesMax: limits.requestsPerSecondPerAddress, ...perSecond });
    this.#perEndpoint = new EndpointRate({ timesMax: limits.requestsPerSecondPerEndpoint, ...perSecond });
  }

  /**
   * Counts a request of its address.
   *
   * @returns the key of the sender
   * @throws AnnexError REQUEST_RATE_EXCEEDED
   */
  countAddress(request: FastifyRequest): string {
    const address = clientAddress(request.raw, this.#deps.trustedProxies);
    // A request in process is counted by its endpoint only. Attack: one installation that uses up
    // the share of all in-process requests to an endpoint. So each installation is a sender of its
    // own.
    if (address === undefined) return `installation ${inProcessOwner(request.raw.socket)}`;
    const sender = addressKey(address);
    if (this.#perAddress.take(sender)) return sender;
    const now = this.#deps.monotonicNow();
    if (now - this.#warnedAt >= WARN_EVERY_MS) {
      this.#warnedAt = now;
      const hint = 'requests from an address are refused; if it is a proxy, name it with --trusted-proxies';
      request.log.warn({ address, limit: 'requestsPerSecondPerAddress' }, hint);
    }
    throw this.#exceeded('requestsPerSecondPerAddress');
  }

  /** Counts a request to an endpoint. @throws AnnexError REQUEST_RATE_EXCEEDED */
  countEndpoint(endpointKey: string, sender: string): void {
    if (!this.#perEndpoint.take(endpointKey, sender)) throw this.#exceeded('requestsPerSecondPerEndpoint');
  }

  #exceeded(name: 'requestsPerSecondPerAddress' | 'requestsPerSecondPerEndpoint'): AnnexError {
    this.#deps.limitMet(name);
    const limit = { name, max: this.#deps.limits[name] };
    return new AnnexError('REQUEST_RATE_EXCEEDED', limitSentence(limit), { limit });
  }
}

/** Part of a bucket that is reserved for senders that send little. */
const RESERVE_SHARE = 1 / 4;
/** Part of the rate that one sender may take while the reserve is in use. */
const SENDER_SHARE = 1 / 64;

/**
 * A rate limit for each key, shared by several senders, which a few senders cannot use up.
 *
 * Attack: six addresses, each at the most that one address may send, use up the rate of an
 * endpoint, and all its other clients are refused. So the last quarter of a bucket is reserved for
 * senders that send little: while the reserve is in use, each sender has a small bucket of its own.
 * With up to a quarter of 64 busy senders, others are served as before.
 */
export class EndpointRate {
  readonly #all: RateLimit;
  readonly #perSender: RateLimit;
  readonly #reserve: { readonly spareMs: number };

  constructor(deps: RateLimitDeps) {
    this.#all = new RateLimit(deps);
    this.#perSender = new RateLimit({ ...deps, timesMax: Math.ceil(deps.timesMax * SENDER_SHARE) });
    this.#reserve = { spareMs: deps.windowMs * RESERVE_SHARE };
  }

  /**
   * @returns whether the request is within the rate; if not, nothing of the shared bucket is taken
   */
  take(key: string, sender: string): boolean {
    if (this.#all.take(key, this.#reserve)) return true;
    return this.#perSender.take(`${key} ${sender}`) && this.#all.take(key);
  }
}
