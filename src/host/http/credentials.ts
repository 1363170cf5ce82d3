/**
 * The bearer token of a request (RFC 6750), and a limit on wrong tokens for each address.
 *
 * Attack: guessing tokens. No token can be guessed, but each try costs a look-up in the database.
 * Known tokens need no look-up, so they work during a flood of wrong ones, also if both come
 * through one proxy. Nothing here compares secrets: tokens are looked up by hash
 * (`store/tokens.ts`), and signatures are compared in constant time (`model/signature.ts`).
 */
import type { IncomingMessage } from 'node:http';
import { AnnexError } from '../../errors.ts';
import type { LimitName, Limits } from '../../limits.ts';
import type { AddressList } from '../../model/address-list.ts';
import { limitSentence } from '../../model/limit-met.ts';
import type { Principal } from '../../model/principal.ts';
import { RateLimit } from '../../model/rate-limit.ts';
import { isRuntimeToken } from '../../model/runtime-token-format.ts';
import { isUiToken } from '../../model/ui-token-format.ts';
import type { Tokens } from '../store/tokens.ts';
import type { RuntimeGrant, RuntimeTokens } from '../targets/runtime-tokens.ts';
import type { UiGrant, UiTokens } from '../targets/ui-tokens.ts';
import { addressKey, clientAddress } from './client-address.ts';

const BEARER = /^Bearer +(\S+) *$/i;
const MINUTE_MS = 60_000;
const LIMIT = 'failedCredentialsPerMinutePerAddress' as const satisfies LimitName;

export interface CredentialsDeps {
  readonly tokens: Pick<Tokens, 'known' | 'authenticate'>;
  readonly runtimeTokens: Pick<RuntimeTokens, 'read' | 'grant'>;
  readonly uiTokens: Pick<UiTokens, 'grant'>;
  readonly limits: Pick<Limits, typeof LIMIT>;
  readonly trustedProxies: AddressList;
  /** Monotonic, in milliseconds. */
  readonly monotonicNow: () => number;
}

/**
 * Why a token has no principal. A genuine one is `expired` if it is a runtime token, `ended` if it
 * is a stored one.
 */
export type Refused = 'unknown' | 'expired' | 'ended';

export class Credentials {
  readonly #deps: CredentialsDeps;
  readonly #failures: RateLimit;

  constructor(deps: CredentialsDeps) {
    this.#deps = deps;
    this.#failures = new RateLimit({
      timesMax: deps.limits[LIMIT],
      windowMs: MINUTE_MS,
      monotonicNow: deps.monotonicNow,
    });
  }

  /**
   * @returns the principal of the token, or why it has none, which counts as a failure
   * @throws AnnexError REQUEST_RATE_EXCEEDED
   */
  async principal(request: IncomingMessage, token: string): Promise<Principal | Refused> {
    if (isRuntimeToken(token)) {
      const grant = await this.runtimeGrant(request, token);
      return typeof grant === 'object' ? grant.principal : grant;
    }
    const known = this.#deps.tokens.known(token);
    if (known !== undefined) return known;
    this.refuseExhausted(request);
    const principal = await this.#deps.tokens.authenticate(token);
    if (typeof principal === 'object') return principal;
    this.countFailure(request);
    return principal === 'expired' ? 'ended' : 'unknown';
  }

  /**
   * What a UI token grants; undefined for any other token. One that grants nothing counts as a
   * failure.
   *
   * @throws AnnexError REQUEST_RATE_EXCEEDED
   */
  async uiGrant(request: IncomingMessage, token: string): Promise<UiGrant | undefined> {
    if (!isUiToken(token)) return undefined;
    const grant = await this.#deps.uiTokens.grant(token);
    if (typeof grant.principal === 'object') return grant;
    this.refuseExhausted(request);
    this.countFailure(request);
    return grant;
  }

  /**
   * What a runtime token grants, or why it grants nothing, which counts as a failure. A genuine
   * token that has not expired is no guess: it is accepted after any number of failures.
   *
   * @throws AnnexError REQUEST_RATE_EXCEEDED
   */
  async runtimeGrant(request: IncomingMessage, token: string): Promise<RuntimeGrant | Refused> {
    const { runtimeTokens } = this.#deps;
    const read = runtimeTokens.read(token);
    if (read === undefined || read.isExpired) this.refuseExhausted(request);
    const grant = read && !read.isExpired ? await runtimeTokens.grant(read.claims) : undefined;
    if (grant !== undefined) return grant;
    this.countFailure(request);
    return read?.isExpired ? 'expired' : 'unknown';
  }

  /** @throws AnnexError REQUEST_RATE_EXCEEDED if the address has sent too many wrong credentials */
  refuseExhausted(request: IncomingMessage): void {
    const key = this.#keyOf(request);
    if (key === undefined || !this.#failures.isSpent(key)) return;
    const limit = { name: LIMIT, max: this.#deps.limits[LIMIT] };
    throw new AnnexError('REQUEST_RATE_EXCEEDED', limitSentence(limit), { limit });
  }

  /** Counts wrong credentials for the address of the request. */
  countFailure(request: IncomingMessage): void {
    const key = this.#keyOf(request);
    if (key !== undefined) this.#failures.take(key);
  }

  /** @returns the client's address; undefined for a request in process */
  addressOf(request: IncomingMessage): string | undefined {
    return clientAddress(request, this.#deps.trustedProxies);
  }

  /** Undefined for requests in process: the limits on an integration's fetches bound those. */
  #keyOf(request: IncomingMessage): string | undefined {
    const address = this.addressOf(request);
    return address === undefined ? undefined : addressKey(address);
  }
}

/** @returns the bearer token of a request; undefined if there is none or the scheme is another */
export const bearerToken = ({ headers }: IncomingMessage): string | undefined =>
  BEARER.exec(headers.authorization ?? '')?.[1];
