/**
 * Authorizes a request by its head, before any of its body is read: endpoint, version, credentials,
 * rates.
 *
 * Requests are counted (`request-rates.ts`) before the look-up. Those with a platform token are
 * not: the host product sends for all its users from one address.
 */
import type { FastifyRequest } from 'fastify';
import { AnnexError } from '../../errors.ts';
import { hasOwnOrigins } from '../../model/endpoint-url.ts';
import { ENDPOINT_KEY } from '../../model/identifiers.ts';
import { maySendEnvelopes } from '../../model/principal.ts';
import type { Target } from '../../model/target.ts';
import type { TargetResolver } from '../../targets/target-resolver.ts';
import { bearerToken, type Credentials } from '../credentials.ts';
import { endpointHosts } from '../host-header.ts';
import { leavesEndpoint } from './endpoint-path.ts';
import { type EnvelopeSignatures, unauthorized } from './envelope-signatures.ts';
import { RequestRates, type RequestRatesParts } from './request-rates.ts';

/** The only version of envelopes (docs/contract/calls.md#envelope). */
const VERSION = 'v1';

export interface RequestAuthorizerParts extends RequestRatesParts {
  readonly targets: Pick<TargetResolver, 'get'>;
  readonly credentials: Credentials;
  /** As configured; if absent, endpoints are below any host that reaches the listener. */
  readonly publicUrl?: string;
  readonly signatures: Pick<EnvelopeSignatures, 'headRefusal'>;
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
  readonly #rates: RequestRates;
  readonly #keyOf: (request: FastifyRequest) => string | undefined;
  /** Index of the path: after the key, or 0 for endpoints with origins of their own. */
  readonly #pathAt: (key: string) => number;

  constructor(parts: RequestAuthorizerParts) {
    this.#parts = parts;
    this.#rates = new RequestRates(parts);
    const { publicUrl } = parts;
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
    const sender = isCounted ? this.#rates.countAddress(request) : undefined;
    const target = key === undefined ? undefined : await this.#parts.targets.get(key);
    if (target === undefined) {
      throw new AnnexError('ENDPOINT_UNKNOWN', 'No installation answers at this URL.');
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
}

/** The first segment of the path, as it was sent: a percent-encoded key is no key. */
function keyInPath({ originalUrl }: FastifyRequest): string | undefined {
  const keyEnd = originalUrl.slice(1).search(/[/?]/);
  const key = keyEnd === -1 ? originalUrl.slice(1) : originalUrl.slice(1, keyEnd + 1);
  return ENDPOINT_KEY.test(key) ? key : undefined;
}
