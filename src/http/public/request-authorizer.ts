/**
 * Authorizes a request by its head, before any of its body is read: endpoint, version, credentials,
 * rates.
 *
 * Attack: trying keys of endpoints and tokens, each of which costs a look-up in the database. So
 * requests are counted before the look-up. Requests with a platform token are not counted: the host
 * product sends for all its users from one address.
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

/** The only version of envelopes (docs/contract/calls.md#envelope). */
const VERSION = 'v1';
const SECOND_MS = 1_000;
/** How often a refused address is written to the log. */
const WARN_EVERY_MS = 60_000;

export interface RequestAuthorizerParts {
  readonly limits: Pick<Limits, 'requestsPerSecondPerAddress' | 'requestsPerSecondPerEndpoint'>;
  readonly targets: Pick<TargetResolver, 'get'>;
  readonly credentials: Credentials;
  readonly trustedProxies: AddressList;
  /** As configured; if absent, endpoints are below any host that reaches the listener. */
  readonly publicUrl?: string;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
  readonly signatures: Pick<EnvelopeSignatures, 'headRefusal'>;
  /** Called with each limit that a request met. */
  limitMet(limit: LimitName): void;
}

/** A request whose head has passed every check. */
export interface AuthorizedRequest {
  readonly target: Target;
  /** The rest of the URL after the endpoint. */
  readonly pathAndQuery: string;
  readonly kind: 'raw' | 'envelope';
  /**
   * Signature to verify when the body has been read; absent if a token authenticated the sender.
   */
  readonly signature?: string;
  /** Key of the sender for limits; absent if a token authenticated the sender. */
  readonly sender: string | undefined;
}

/** The credentials of an envelope, or the error to answer with. */
type Authentication = { readonly signature?: string } | AnnexError;

export class RequestAuthorizer {
  readonly #parts: RequestAuthorizerParts;
  readonly #perAddress: RateLimit;
  readonly #perEndpoint: SharedRate;
  readonly #keyOf: (request: FastifyRequest) => string | undefined;
  /** Index of the path: after the key, or 0 for endpoints with origins of their own. */
  readonly #pathAt: (key: string) => number;
  #warnedAt = Number.NEGATIVE_INFINITY;

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

  /**
   * @returns the authorized request, or the name of an unknown version
   * @throws AnnexError ENDPOINT_UNKNOWN, ENDPOINT_PAUSED, REQUEST_RATE_EXCEEDED, REQUEST_INVALID,
   * ENVELOPE_UNAUTHORIZED, TOKEN_FORBIDDEN
   */
  async authorize(request: FastifyRequest): Promise<AuthorizedRequest | string> {
    const key = this.#keyOf(request);
    const pathAndQuery = request.originalUrl.slice(this.#pathAt(key ?? ''));
    const version = request.method === 'POST' ? /^\/(v\d{1,8})(?:\?|$)/.exec(pathAndQuery)?.[1] : undefined;
    const authentication = version === VERSION ? await this.#authenticate(request) : undefined;
    const isCounted =
      authentication === undefined || authentication instanceof AnnexError || 'signature' in authentication;
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
        'The dot segments in the path of the request lead out of the endpoint.',
      );
    if (version !== undefined && version !== VERSION) return version;
    if (target.status === 'paused') throw new AnnexError('ENDPOINT_PAUSED', 'The installation is paused.');
    if (authentication instanceof AnnexError) throw authentication;
    const kind = authentication === undefined ? 'raw' : 'envelope';
    return { target, pathAndQuery, kind, sender, ...authentication };
  }

  /**
   * Checks the credentials of an envelope. A wrong token is refused even with a valid signature,
   * and the answer does not say which of the two was wrong.
   */
  async #authenticate(request: FastifyRequest): Promise<Authentication> {
    const { credentials } = this.#parts;
    if (request.headers.authorization !== undefined) {
      const token = bearerToken(request.raw);
      const principal = token === undefined ? undefined : await credentials.principal(request.raw, token);
      if (typeof principal !== 'object') return unauthorized();
      if (maySendEnvelopes(principal)) return {};
      return new AnnexError(
        'TOKEN_FORBIDDEN',
        `\`POST {endpoint}/v1\` needs a platform token; the request came with one of kind ${principal.kind}.`,
      );
    }
    const signature = request.headers['x-platform-signature'];
    if (typeof signature !== 'string') return unauthorized();
    // Checked before the body, which must be read and hashed to verify the signature.
    credentials.refuseExhausted(request.raw);
    const refusal = this.#parts.signatures.headRefusal(signature);
    if (refusal === undefined) return { signature };
    credentials.countFailure(request.raw);
    if (refusal.limit) this.#parts.limitMet(refusal.limit.name);
    return refusal;
  }

  /** @returns the key of the sender @throws AnnexError REQUEST_RATE_EXCEEDED */
  #countSender(request: FastifyRequest): string {
    const address = clientAddress(request.raw, this.#parts.trustedProxies);
    // A request in process is counted by its endpoint only. Attack: one installation that uses up
    // the share of all in-process requests to an endpoint. So each installation is a sender of its
    // own.
    if (address === undefined) return `installation ${inProcessOwner(request.raw.socket)}`;
    const sender = addressKey(address);
    if (this.#perAddress.take(sender)) return sender;
    const now = this.#parts.clock();
    if (now - this.#warnedAt >= WARN_EVERY_MS) {
      this.#warnedAt = now;
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

/** The first segment of the path, as it was sent: a percent-encoded key is no key. */
function keyInPath({ originalUrl }: FastifyRequest): string | undefined {
  const keyEnd = originalUrl.slice(1).search(/[/?]/);
  const key = keyEnd === -1 ? originalUrl.slice(1) : originalUrl.slice(1, keyEnd + 1);
  return ENDPOINT_KEY.test(key) ? key : undefined;
}
