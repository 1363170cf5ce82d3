/**
 * The bearer token of a request (RFC 6750), and how often one address may send a wrong one.
 *
 * No token can be guessed, but each guess costs a look-up in the database. What is known needs none, so a good token goes
 * on working beside a flood of wrong ones, also where both come through one proxy. Nothing here compares secrets: tokens are
 * looked up by hash (`store/tokens.ts`), signatures compared in constant time (`model/signature.ts`).
 */
import type { IncomingMessage } from 'node:http';
import { AnnexError } from '../errors.ts';
import type { LimitName, Limits } from '../limits.ts';
import { limitSentence } from '../model/limit-met.ts';
import type { Principal } from '../model/principal.ts';
import { RateLimit } from '../model/rate-limit.ts';
import { isRuntimeToken } from '../model/runtime-token.ts';
import type { Tokens } from '../store/tokens.ts';
import type { RuntimeTokens } from '../targets/runtime-tokens.ts';
import type { AddressList } from './address-list.ts';
import { addressKey, clientAddress } from './client-address.ts';

const BEARER = /^Bearer +(\S+) *$/i;
const MINUTE_MS = 60_000;
const LIMIT = 'failedCredentialsPerMinutePerAddress' as const satisfies LimitName;

export interface CredentialsParts {
  readonly tokens: Pick<Tokens, 'known' | 'authenticate'>;
  readonly runtimeTokens: Pick<RuntimeTokens, 'read' | 'grant'>;
  readonly limits: Pick<Limits, typeof LIMIT>;
  readonly trustedProxies: AddressList;
  /** Milliseconds that only ever grow. */
  readonly clock: () => number;
}

/** Why a token is nobody's. `expired` is said only of one that was good. */
export type Refused = 'unknown' | 'expired';

export class Credentials {
  readonly #parts: CredentialsParts;
  readonly #failures: RateLimit;

  constructor(parts: CredentialsParts) {
    this.#parts = parts;
    this.#failures = new RateLimit({
      timesMax: parts.limits[LIMIT],
      windowMs: MINUTE_MS,
      clock: parts.clock,
    });
  }

  /**
   * @returns who holds the token, or why nobody does, which counts as a failure
   * @throws AnnexError REQUEST_RATE_EXCEEDED
   */
  async principal(request: IncomingMessage, token: string): Promise<Principal | Refused> {
    if (isRuntimeToken(token)) return this.#runtimePrincipal(request, token);
    const known = this.#parts.tokens.known(token);
    if (known !== undefined) return known;
    this.refuseSpent(request);
    const principal = await this.#parts.tokens.authenticate(token);
    if (principal !== undefined) return principal;
    this.failed(request);
    return 'unknown';
  }

  /** One that is genuine and not over is no guess, however many there have been from its address. */
  async #runtimePrincipal(request: IncomingMessage, token: string): Promise<Principal | Refused> {
    const { runtimeTokens } = this.#parts;
    const read = runtimeTokens.read(token);
    if (read === undefined || read.isExpired) this.refuseSpent(request);
    const grant = read && !read.isExpired ? await runtimeTokens.grant(read.claims) : undefined;
    if (grant !== undefined) return grant.principal;
    this.failed(request);
    return read?.isExpired ? 'expired' : 'unknown';
  }

  /** @throws AnnexError REQUEST_RATE_EXCEEDED where the address has failed too often */
  refuseSpent(request: IncomingMessage): void {
    const key = this.#keyOf(request);
    if (key === undefined || !this.#failures.isSpent(key)) return;
    const limit = { name: LIMIT, max: this.#parts.limits[LIMIT] };
    throw new AnnexError('REQUEST_RATE_EXCEEDED', limitSentence(limit), { limit });
  }

  /** Counts credentials that were wrong. */
  failed(request: IncomingMessage): void {
    const key = this.#keyOf(request);
    if (key !== undefined) this.#failures.take(key);
  }

  /** @returns where a request came from; undefined for an integration's own, which come in process */
  addressOf(request: IncomingMessage): string | undefined {
    return clientAddress(request, this.#parts.trustedProxies);
  }

  /** Integrations, which reach the doors in process, are bounded by the limits on their fetches. */
  #keyOf(request: IncomingMessage): string | undefined {
    const address = this.addressOf(request);
    return address === undefined ? undefined : addressKey(address);
  }
}

/** @returns the token of a request; undefined where there is none, or what there is has another scheme */
export const bearerToken = ({ headers }: IncomingMessage): string | undefined =>
  BEARER.exec(headers.authorization ?? '')?.[1];
