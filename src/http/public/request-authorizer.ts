/**
 * What can be said of a request by its head: whom it is for, by which door, whether its sender may, and whether there have
 * been too many of them.
 *
 * All of it comes before a byte of a body is read. What costs the host a look-up in the database is counted first: keys of
 * endpoints and tokens are there to be tried. Whoever holds a platform token is not counted: it is the host product, which
 * sends for everybody from one address.
 */
import type { FastifyRequest } from 'fastify';
import { AnnexError } from '../../errors.ts';
import type { LimitName, Limits } from '../../limits.ts';
import { hasOwnOrigins } from '../../model/endpoint-url.ts';
import { ENDPOINT_KEY } from '../../model/identifiers.ts';
import { limitSentence } from '../../model/limit-met.ts';
import { maySendEnvelopes } from '../../model/principal.ts';
import { RateLimit } from '../../model/rate-limit.ts';
import type { Target } from '../../model/target.ts';
import type { TargetResolver } from '../../targets/target-resolver.ts';
import type { AddressList } from '../address-list.ts';
import { addressKey, clientAddress } from '../client-address.ts';
import { bearerToken, type Credentials } from '../credentials.ts';
import { endpointHosts } from '../host-header.ts';
import { inProcessOwner } from '../loopback-listeners.ts';
import { SharedRate } from '../shared-rate.ts';
import { leavesEndpoint } from './endpoint-path.ts';
import { type EnvelopeSignatures, unauthorized } from './envelope-signatures.ts';

/** The one version of the envelope door (REFERENCE D1). */
const VERSION = 'v1';
const SECOND_MS = 1_000;
/** How often the operator hears that an address is refused. */
const TELL_EVERY_MS = 60_000;

export interface RequestAuthorizerParts {
  readonly limits: Pick<Limits, 'requestsPerSecondPerAddress' | 'requestsPerSecondPerEndpoint'>;
  readonly targets: Pick<TargetResolver, 'get'>;
  readonly credentials: Credentials;
  readonly trustedProxies: AddressList;
  /** As configured; absent: endpoints are below whatever the listener is reached by. */
  readonly publicUrl?: string;
  /** Milliseconds that only ever grow. */
  readonly clock: () => number;
  readonly signatures: Pick<EnvelopeSignatures, 'headRefusal'>;
  /** Told of limits that a request met. */
  limitMet(limit: LimitName): void;
}

/** A request whose head has been looked at. */
export interface AuthorizedRequest {
  readonly target: Target;
  /** What follows the endpoint in the URL. */
  readonly pathAndQuery: string;
  readonly door: 'raw' | 'envelope';
  /** Signature to verify once the body is there; absent where a token has already vouched for the sender. */
  readonly signature?: string;
  /** The key that the sender's address is counted by; absent where a token has vouched for the sender. */
  readonly sender: string | undefined;
}

/** What the sender of an envelope has shown. */
type Vouched = { readonly signature?: string } | AnnexError;

export class RequestAuthorizer {
  readonly #parts: RequestAuthorizerParts;
  readonly #perAddress: RateLimit;
  readonly #perEndpoint: SharedRate;
  readonly #keyOf: (request: FastifyRequest) => string | undefined;
  /** Where the path begins: behind the key, or, where endpoints have origins of their own, at once. */
  readonly #pathAt: (key: string) => number;
  #toldAt = Number.NEGATIVE_INFINITY;

  constructor(parts: RequestAuthorizerParts) {
    this.#parts = parts;
    const { limits, clock, publicUrl } = parts;
    const { requestsPerSecondPerAddress, requestsPerSecondPerEndpoint } = limits;
    const perSecond = { windowMs: SECOND_MS, clock };
    this.#perAddress = new RateLimit({ timesMax: requestsPerSecondPerAddress, ...perSecond });
    this.#perEndpoint = new SharedRate({ timesMax: requestsPerSecondPerEndpoint, ...perSecond });
    const isInHost = publicUrl !== undefined && hasOwnOrigins(publicUrl);
    const endpointOf = isInHost ? endpointHosts(publicUrl) : undefined;
    this.#keyOf = endpointOf ? ({ headers }) => endpointOf(headers.host) : keyInPath;
    this.#pathAt = isInHost ? () => 0 : (key) => 1 + key.length;
  }

  /** @returns what is asked of whom, or the name of a version that does not exist */
  async look(request: FastifyRequest): Promise<AuthorizedRequest | string> {
    const key = this.#keyOf(request);
    const pathAndQuery = request.originalUrl.slice(this.#pathAt(key ?? ''));
    const version = request.method === 'POST' ? /^\/(v\d{1,8})(?:\?|$)/.exec(pathAndQuery)?.[1] : undefined;
    const vouched = version === VERSION ? await this.#vouched(request) : undefined;
    const isCounted = vouched === undefined || vouched instanceof AnnexError || 'signature' in vouched;
    const sender = isCounted ? this.#countSender(request) : undefined;
    const target = key === undefined ? undefined : await this.#parts.targets.get(key);
    if (target === undefined) {
      throw new AnnexError('ENDPOINT_UNKNOWN', 'No installation answers at this URL.');
    }
    if (sender !== undefined && !this.#perEndpoint.take(target.endpointKey, sender)) {
      throw this.#exceeded('requestsPerSecondPerEndpoint');
    }
    if (leavesEndpoint(pathAndQuery))
      throw new AnnexError(
        'REQUEST_INVALID',
        'The path of the request leaves the endpoint, by its dot segments.',
      );
    if (version !== undefined && version !== VERSION) return version;
    if (target.status === 'paused') throw new AnnexError('ENDPOINT_PAUSED', 'The installation is paused.');
    if (vouched instanceof AnnexError) throw vouched;
    const door = vouched === undefined ? 'raw' : 'envelope';
    return { target, pathAndQuery, door, sender, ...vouched };
  }

  /**
   * The envelope door is for the platform. A wrong token is refused even beside a signature, and no answer tells which of
   * the two was the trouble.
   */
  async #vouched(request: FastifyRequest): Promise<Vouched> {
    const { credentials } = this.#parts;
    if (request.headers.authorization !== undefined) {
      const token = bearerToken(request.raw);
      const principal = token === undefined ? undefined : await credentials.principal(request.raw, token);
      if (typeof principal !== 'object') return unauthorized();
      if (maySendEnvelopes(principal)) return {};
      return new AnnexError(
        'TOKEN_FORBIDDEN',
        `The envelope door needs a platform token; this one is of kind ${principal.kind}.`,
      );
    }
    const signature = request.headers['x-platform-signature'];
    if (typeof signature !== 'string') return unauthorized();
    // Before the body: to be verified, it has to be read and hashed.
    credentials.refuseSpent(request.raw);
    const refusal = this.#parts.signatures.headRefusal(signature);
    if (refusal === undefined) return { signature };
    credentials.failed(request.raw);
    if (refusal.limit) this.#parts.limitMet(refusal.limit.name);
    return refusal;
  }

  /** @returns the key of the request's address @throws AnnexError REQUEST_RATE_EXCEEDED */
  #countSender(request: FastifyRequest): string {
    const address = clientAddress(request.raw, this.#parts.trustedProxies);
    // An integration's own, which comes in process, is counted by the endpoint it goes to. Attack: one installation that uses
    // up what all that come in process have of an endpoint. So each is a sender of its own.
    if (address === undefined) return `installation ${inProcessOwner(request.raw.socket)}`;
    const sender = addressKey(address);
    if (this.#perAddress.take(sender)) return sender;
    const now = this.#parts.clock();
    if (now - this.#toldAt >= TELL_EVERY_MS) {
      this.#toldAt = now;
      const hint = 'requests from an address are refused; if it is a proxy, name it with --trusted-proxies';
      request.log.warn({ address, limit: 'requestsPerSecondPerAddress' }, hint);
    }
    throw this.#exceeded('requestsPerSecondPerAddress');
  }

  #exceeded(name: 'requestsPerSecondPerAddress' | 'requestsPerSecondPerEndpoint'): AnnexError {
    this.#parts.limitMet(name);
    const limit = { name, max: this.#parts.limits[name] };
    return new AnnexError('REQUEST_RATE_EXCEEDED', limitSentence(limit), { limit });
  }
}

/** The first segment of the path, as it was sent: an encoded letter or slash in it makes no key. */
function keyInPath({ originalUrl }: FastifyRequest): string | undefined {
  const keyEnd = originalUrl.slice(1).search(/[/?]/);
  const key = keyEnd === -1 ? originalUrl.slice(1) : originalUrl.slice(1, keyEnd + 1);
  return ENDPOINT_KEY.test(key) ? key : undefined;
}
