/**
 * Forwards calls of integrations that Annex does not serve itself to the product's own API
 * (docs/contract/api.md#the-products-api).
 *
 * What Annex serves is never forwarded, not even a method that its route refuses. Only a valid
 * runtime token opens this way; a request with any other token, or none, is an unknown route. The
 * runtime token goes along, and a signed statement of who calls. The client of the egress dials the
 * product and holds the bounds; this file decides who may call, and says who failed.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AnnexError } from '../../../../errors.ts';
import type { LimitName } from '../../../../limits.ts';
import { BODILESS_STATUSES } from '../../../../model/bodiless-statuses.ts';
import { wholeInstallation } from '../../../../model/installation.ts';
import type { ProductScopes } from '../../../../model/product-scopes.ts';
import { isRuntimeToken } from '../../../../model/runtime-token-format.ts';
import { integrationKeyIn } from '../../../../model/target.ts';
import type { CallLog } from '../../../calls/call-log.ts';
import { EgressError } from '../../../egress/egress-error.ts';
import type { ProductClient, ProductResponse } from '../../../egress/product-client.ts';
import type { CallerStatements } from '../../../targets/caller-statements.ts';
import type { RuntimeGrant } from '../../../targets/runtime-tokens.ts';
import type { TargetResolver } from '../../../targets/target-resolver.ts';
import { AllowedMethods } from '../../allowed-methods.ts';
import { bearerToken, type Credentials } from '../../credentials.ts';
import { answerError, routeUnknown } from '../../error-answer.ts';
import { inProcessOwner } from '../../loopback-listeners.ts';
import { tokenRefused } from '../authenticate.ts';
import { answeredHeaders, isCanonical, overridesMethod, sentHeaders } from './product-head.ts';

/** What forwarding takes; present where the operator has named the product's API. */
export interface Product {
  readonly client: Pick<ProductClient, 'send'>;
  readonly statements: Pick<CallerStatements, 'statement'>;
  /** Absent: every integration may make every call, and the product decides. */
  readonly scopes?: ProductScopes;
}

export interface ProductApiDeps {
  readonly product?: Product;
  readonly credentials: Pick<Credentials, 'runtimeGrant'>;
  readonly targets: Pick<TargetResolver, 'named' | 'ofIntegration'>;
  readonly observer: Pick<CallLog, 'productFailed'>;
  limitMet(limit: LimitName): void;
}

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
/**
 * A client that adds the version to a base URL that has it already. The product has no such path.
 */
const TWICE = ' The path has its version twice: `apiEndpoint` of an SDK integration already ends in /v1.';
const UNSET =
  " Annex does not serve it, and --product-api, which names the product's own API, is not set on this service.";

/**
 * Registers what happens to unknown paths below `/v1`. Call it before other routes are registered.
 */
export function productApiRoutes(app: FastifyInstance, deps: ProductApiDeps): void {
  const own = new AllowedMethods(app);
  app.register(
    async (below) => {
      // The body is streamed to the product, whatever its type.
      below.removeAllContentTypeParsers();
      below.addContentTypeParser('*', (_request, _body, done) => done(null));
      // An answer may also break off after its head has come and before it is passed on.
      below.setErrorHandler((error, request, reply) =>
        answerError(productError(error) ?? error, request, reply),
      );
      below.setNotFoundHandler(async (request, reply) => {
        const [path = ''] = request.originalUrl.split('?', 1);
        const token = bearerToken(request.raw);
        const isOwn = own.of(path).length > 0 || !path.startsWith('/v1/') || !METHODS.has(request.method);
        if (isOwn || token === undefined || !isRuntimeToken(token)) throw routeUnknown(request, own);
        if (path.startsWith('/v1/v1/')) throw routeUnknown(request, own, TWICE);
        if (deps.product === undefined) throw routeUnknown(request, own, UNSET);
        const grant = await deps.credentials.runtimeGrant(request.raw, token);
        if (typeof grant !== 'object') throw tokenRefused(grant);
        const call = new ForwardedCall(deps, deps.product, { request, reply, path, token, grant });
        return call.forward();
      });
    },
    { prefix: '/v1' },
  );
}

interface Forwarded {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  /** As it was sent, without its query. */
  readonly path: string;
  readonly token: string;
  readonly grant: RuntimeGrant;
}

/** One call on its way to the product. */
class ForwardedCall {
  readonly #deps: ProductApiDeps;
  readonly #product: Product;
  readonly #call: Forwarded;

  constructor(deps: ProductApiDeps, product: Product, call: Forwarded) {
    this.#deps = deps;
    this.#product = product;
    this.#call = call;
  }

  async forward(): Promise<FastifyReply> {
    const { request, reply } = this.#call;
    try {
      this.#check();
      return this.#answer(await this.#send());
    } catch (cause) {
      // The rest of the body is not read, so the connection cannot carry another request.
      if (!request.raw.complete) reply.header('connection', 'close');
      // A client that has left is no fault.
      if (reply.raw.destroyed) throw new AnnexError('CALL_CANCELED', 'The caller disconnected.');
      this.#report(cause);
      throw cause;
    }
  }

  /** @throws AnnexError where the call may not be made */
  #check(): void {
    const { request, path, grant } = this.#call;
    if (!isCanonical(path))
      throw new AnnexError(
        'REQUEST_INVALID',
        'The path is not canonical. Once decoded, it must have no dot segments, empty segments, control characters, further encodings, or any of \\ ; ? #, and no segment may end with a dot or a space.',
      );
    if (overridesMethod(request.originalUrl.slice(path.length)))
      throw new AnnexError('REQUEST_INVALID', 'The query must not override the method: it has `_method`.');
    const missing = this.#product.scopes?.missing(request.method, path, grant.claims.scopes);
    if (missing === undefined) return;
    const what = `${request.method} ${path}`;
    const why =
      missing.scope === undefined
        ? 'is not open to integrations: the mapping of this service has no rule for it.'
        : `needs the scope ${missing.scope}, which the manifest of "${grant.claims.integration}" does not have.`;
    throw new AnnexError('SCOPE_MISSING', `${what} ${why}`);
  }

  async #send(): Promise<ProductResponse> {
    const { request, reply, token, grant } = this.#call;
    const { client, statements } = this.#product;
    const { raw, method, originalUrl } = request;
    const statement = await statements.statement(token, grant);
    const left = new AbortController();
    reply.raw.once('close', () => left.abort());
    const hasBody = method !== 'GET' && method !== 'HEAD' && isBodySent(request);
    const headers = sentHeaders(raw.rawHeaders, { token, statement }).filter(
      ([name]) => hasBody || name.toLowerCase() !== 'content-length',
    );
    const { claims } = grant;
    const owner = this.#tenant ?? `integration ${claims.integration}`;
    const organization =
      grant.organization ?? (await this.#deps.targets.ofIntegration(claims.integration))?.organization;
    return client.send(
      { method, path: originalUrl, headers, owner, organization, ...(hasBody && { body: raw }) },
      left.signal,
    );
  }

  #answer({ status, headers, body }: ProductResponse): FastifyReply {
    const { request, reply } = this.#call;
    reply.code(status).headers(answeredHeaders(headers));
    body.once('error', (cause) => this.#report(cause));
    if (request.method !== 'HEAD' && !BODILESS_STATUSES.has(status)) return reply.send(body);
    body.resume();
    return reply.send();
  }

  /** Key of the tenant whose code calls; undefined if it is not known. */
  get #tenant(): string | undefined {
    const { request, grant } = this.#call;
    const { claims } = grant;
    if (claims.kind === 'installation') return claims.target.installationId;
    return inProcessOwner(request.raw.socket) || undefined;
  }

  /** Counts a limit, and writes to the logs of the operator and of the installation. */
  #report(cause: unknown): void {
    const error = cause instanceof AnnexError ? cause : productError(cause);
    if (error === undefined) return;
    if (error.limit) this.#deps.limitMet(error.limit.name);
    const { log } = this.#call.request;
    if (error.blame === 'product' && cause instanceof EgressError)
      log.warn({ code: error.code, detail: cause.detail }, "the product's API failed");
    this.#logFor(error).catch((fault) => log.error({ err: fault }, 'a log line was lost'));
  }

  /** Writes a line to the log of the tenant, if it is known. */
  async #logFor({ code, message }: AnnexError): Promise<void> {
    const { targets, observer } = this.#deps;
    const { request, path, grant } = this.#call;
    const tenant = this.#tenant;
    if (tenant === undefined) return;
    const { claims } = grant;
    const name = claims.kind === 'installation' ? claims.target : wholeInstallation(tenant);
    const target = await (integrationKeyIn(tenant) === undefined
      ? targets.named(name)
      : targets.ofIntegration(claims.integration));
    if (target === undefined) return;
    const shown = path.length > PATH_CHARS_MAX ? `${path.slice(0, PATH_CHARS_MAX)}…` : path;
    const text = `The product's API: ${request.method} ${shown}: ${code}. ${message}`;
    observer.productFailed(target, request.id, code, text);
  }
}

/**
 * The error for the caller; undefined where the cause is none of the client of the product. Its
 * message names no address of the operator's network; the operator's log has that.
 */
function productError(cause: unknown): AnnexError | undefined {
  if (!(cause instanceof EgressError)) return undefined;
  const { result, message, limit } = cause;
  const more = { ...(limit && { limit }), cause };
  if (result === 'canceled') return new AnnexError('REQUEST_TOO_SLOW', message, more);
  if (limit?.name === 'productRequestBodyBytes') return new AnnexError('REQUEST_TOO_LARGE', message, more);
  if (result === 'shed') return new AnnexError(limit ? 'PRODUCT_BUSY' : 'SERVICE_STOPPING', message, more);
  if (result === 'timeout') return new AnnexError('PRODUCT_TIMED_OUT', message, more);
  return new AnnexError('PRODUCT_FAILED', `The product's API failed. ${message}`, more);
}

/** A path in a line of the log is cut there. */
const PATH_CHARS_MAX = 256;

const isBodySent = ({ raw: { headers } }: FastifyRequest): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
