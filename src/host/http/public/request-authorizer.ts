/**
 * Authorizes a request by its head, before any of its body is read: endpoint, version, credentials,
 * rates.
 *
 * Requests are counted (`request-rates.ts`) before the look-up. Those with a platform token are
 * not: the host product sends for all its users from one address.
 */
import type { FastifyRequest } from 'fastify';
import { AnnexError } from '../../../errors.ts';
import { maySendEnvelopes } from '../../../model/principal.ts';
import type { Target } from '../../../model/target.ts';
import type { TargetResolver } from '../../targets/target-resolver.ts';
import { bearerToken, type Credentials } from '../credentials.ts';
import { type EndpointBases, endpointAddresses, leavesEndpoint } from './endpoint-address.ts';
import { type EnvelopeSignatures, unauthorized } from './envelope-signatures.ts';
import { RequestRates, type RequestRatesDeps } from './request-rates.ts';

/** The only version of envelopes (docs/contract/calls.md#envelope). */
const VERSION = 'v1';

export interface RequestAuthorizerDeps extends RequestRatesDeps, EndpointBases {
  readonly targets: Pick<TargetResolver, 'get'>;
  readonly credentials: Credentials;
  readonly signatures: Pick<EnvelopeSignatures, 'headRefusal'>;
}

/** Paths of the control listener. */
const OF_CONTROL = /^\/(?:v1|metrics|healthz|readyz)(?:[/?]|$)/;

/** For a request that was meant for the other listener. */
const hintOf = (url: string): string =>
  OF_CONTROL.test(url)
    ? ' This is the public listener; the API is on the control listener (--control-port, by default 7700).'
    : '';

/** A request whose head has passed every check. */
export interface AuthorizedRequest {
  readonly target: Target;
  /** The rest of the URL after the endpoint. */
  readonly pathAndQuery: string;
  readonly kind: 'raw' | 'envelope';
  /** Whether it came to the origin without cookies. */
  readonly isContent: boolean;
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
  readonly #deps: RequestAuthorizerDeps;
  readonly #rates: RequestRates;
  readonly #addressOf: ReturnType<typeof endpointAddresses>;

  constructor(deps: RequestAuthorizerDeps) {
    this.#deps = deps;
    this.#rates = new RequestRates(deps);
    this.#addressOf = endpointAddresses(deps);
  }

  /**
   * @returns the authorized request, or the name of an unknown version
   * @throws AnnexError ENDPOINT_UNKNOWN, ENDPOINT_PAUSED, REQUEST_RATE_EXCEEDED, REQUEST_INVALID,
   * ENVELOPE_UNAUTHORIZED, TOKEN_FORBIDDEN
   */
  async authorize(request: FastifyRequest): Promise<AuthorizedRequest | string> {
    const { key, pathAndQuery, isContent } = this.#addressOf(request.headers.host, request.originalUrl);
    const version = request.method === 'POST' ? /^\/(v\d{1,8})(?:\?|$)/.exec(pathAndQuery)?.[1] : undefined;
    const authentication = version === VERSION ? await this.#authenticate(request) : undefined;
    const isCounted =
      authentication === undefined || authentication instanceof AnnexError || 'signature' in authentication;
    const sender = isCounted ? this.#rates.countAddress(request) : undefined;
    const target = key === undefined ? undefined : await this.#deps.targets.get(key);
    if (target === undefined) {
      throw new AnnexError(
        'ENDPOINT_UNKNOWN',
        `There is no endpoint at this URL.${hintOf(request.originalUrl)}`,
      );
    }
    if (sender !== undefined) this.#rates.countEndpoint(target.endpointKey, sender);
    if (leavesEndpoint(pathAndQuery))
      throw new AnnexError(
        'REQUEST_INVALID',
        'The dot segments in the path of the request lead out of the endpoint.',
      );
    if (version !== undefined && version !== VERSION) return version;
    if (target.status === 'paused') throw new AnnexError('ENDPOINT_PAUSED', 'The installation is paused.');
    if (authentication instanceof AnnexError) throw authentication;
    const kind = authentication === undefined ? 'raw' : 'envelope';
    return { target, pathAndQuery, kind, isContent, sender, ...authentication };
  }

  /** Counts a request that is for no endpoint. @throws AnnexError REQUEST_RATE_EXCEEDED */
  countAddress(request: FastifyRequest): void {
    this.#rates.countAddress(request);
  }

  /**
   * Checks the credentials of an envelope. A wrong token is refused even with a valid signature,
   * and the answer does not say which of the two was wrong.
   */
  async #authenticate(request: FastifyRequest): Promise<Authentication> {
    const { credentials } = this.#deps;
    if (request.headers.authorization !== undefined) {
      const token = bearerToken(request.raw);
      const principal = token === undefined ? undefined : await credentials.principal(request.raw, token);
      if (typeof principal !== 'object') return unauthorized();
      if (maySendEnvelopes(principal)) return {};
      return new AnnexError(
        'TOKEN_FORBIDDEN',
        `\`POST {endpoint}/v1\` needs a platform token, with the right \`envelopes:send\` if it is narrowed; the request came with one of kind ${principal.kind}.`,
      );
    }
    const signature = request.headers['x-platform-signature'];
    if (typeof signature !== 'string') return unauthorized();
    // Checked before the body, which must be read and hashed to verify the signature.
    credentials.refuseExhausted(request.raw);
    const refusal = this.#deps.signatures.headRefusal(signature);
    if (refusal === undefined) return { signature };
    credentials.countFailure(request.raw);
    if (refusal.limit) this.#deps.limitMet(refusal.limit.name);
    return refusal;
  }
}
