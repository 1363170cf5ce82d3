/**
 * The public listener's routes: the endpoints of all targets
 * (docs/contract/endpoints.md#credentials).
 *
 *   {endpoint key}/…            any method: raw traffic, passed on as a `fetch` event
 *   POST {endpoint key}/v1      an envelope, from the host product or from a sender that signs
 *   GET, POST oauth/{integration}/callback   where there are redirect URLs: `oauth-callback.ts`
 *   GET {endpoint key}/~script.js   the published script of a site
 *     (docs/contract/published-scripts.md#script)
 *   GET {endpoint key}/~assets/…    the images of an integration (`published-files.ts`)
 *   GET {endpoint key}/…        the static files of a worker, before its code (`static-files.ts`)
 *
 * What the head of a request shows to be wrong is refused before its body is read, and what the
 * host can refuse never enters an isolate. It serves nothing of the host's own: no token, cookie or
 * page.
 */
import { METHODS, type ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AnnexError } from '../../../errors.ts';
import type { LimitName, Limits } from '../../../limits.ts';
import { endpointPath, hasOwnOrigins } from '../../../model/endpoint-url.ts';
import type { CallResponse, Envelope } from '../../calls/call.ts';
import type { CallLog } from '../../calls/call-log.ts';
import type { Dispatch } from '../../calls/dispatch.ts';
import { outcomeError } from '../../calls/outcome.ts';
import { hasPublishedScript, type PublishedScripts } from '../../calls/published-scripts.ts';
import type { Registry } from '../../store/integrations/registry.ts';
import { callerOf } from '../client-caller.ts';
import { SlowSenders } from '../slow-senders.ts';
import { type CookieScope, sendAnswer } from './answer.ts';
import { BodyBudget, type BodyOwner } from './body-budget.ts';
import { readEnvelope } from './envelope.ts';
import { EnvelopeSignatures, type EnvelopeSignaturesDeps } from './envelope-signatures.ts';
import { fetchEvent } from './fetch-event.ts';
import { type OAuthCallbackDeps, oauthCallbackRoute } from './oauth-callback.ts';
import {
  askedImage,
  fileHeaders,
  isKnownFile,
  type PublishedFile,
  PublishedImages,
} from './published-files.ts';
import {
  type AuthorizedRequest,
  RequestAuthorizer,
  type RequestAuthorizerDeps,
} from './request-authorizer.ts';
import { bodyReader, isStreamed, refuseAnnouncedBody, StreamedUpload, shed } from './request-body.ts';
import { StaticFiles } from './static-files.ts';

/** Allowance for the heads of an envelope's parts. */
const MULTIPART_OVERHEAD_BYTES = 64 * 1024;
/** Answers up to this size usually fit into the socket's own buffer. */
const UNCOUNTED_BYTES_MAX = 16 * 1024;

export interface PublicRouteDeps extends Omit<RequestAuthorizerDeps, 'signatures'> {
  readonly limits: Limits;
  readonly dispatch: Pick<Dispatch, 'call'>;
  readonly scripts: Pick<PublishedScripts, 'script'>;
  readonly registry: Pick<Registry, 'image' | 'staticPaths'>;
  /** Wall-clock time, in milliseconds. */
  readonly wallNow: () => number;
  /** Signatures that other nodes have accepted; absent if there are none. */
  readonly spent?: EnvelopeSignaturesDeps['spent'];
  /** Serves the redirect URLs of OAuth; absent where the operator offers none. */
  readonly oauth?: Omit<OAuthCallbackDeps, 'wallNow'>;
  /** Logs requests that a limit keeps from becoming calls. */
  readonly observer: Pick<CallLog, 'refused' | 'log'>;
}

/** Registers the public listener's routes. */
export function publicRoutes(app: FastifyInstance, deps: PublicRouteDeps): void {
  const { limits } = deps;
  const { requestStallMs: stallMs, paceBytesPerSecond } = limits;
  const signatures = new EnvelopeSignatures(deps);
  const authorizer = new RequestAuthorizer({ ...deps, signatures });
  const bodies = bodyBudgets(deps);
  const senders = new SlowSenders({ stallMs, paceBytesPerSecond }, deps.monotonicNow);
  app.addHook('onClose', () => {
    senders.stop();
    bodies.requests.stop();
    bodies.answers.stop();
  });
  const images = new PublishedImages(deps.registry);
  const files = new StaticFiles(deps.registry);
  const answering = { ...deps, bodies, senders, withBody: bodyReader(senders), signatures };
  // For the framework, no method has a body: otherwise it would refuse content types that it cannot
  // parse, and raw traffic may have any. `withBody` reads them.
  for (const method of METHODS) app.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  const hasSharedOrigin = isShared(deps.publicUrl);
  const serveEndpoint = async (request: FastifyRequest, reply: FastifyReply) => {
    const authorized = await authorizer.authorize(request);
    if (typeof authorized === 'string') {
      return reply.code(400).type('text/plain; charset=utf-8').send(`Unsupported version ${authorized}`);
    }
    try {
      const below = hasSharedOrigin ? belowEndpoint(request, authorized) : undefined;
      // A cache in front must not answer programs with it.
      if (below !== undefined)
        return reply.code(307).headers({ location: below, 'cache-control': 'no-store' }).send();
      const image = askedImage(request.method, authorized);
      if (image !== undefined)
        return sendFile(reply, authorized, await images.image(authorized.target, image), answering);
      if (isScriptRequest(request, authorized))
        return sendFile(reply, authorized, await scriptOf(reply, authorized, deps), answering);
      const { target, kind, pathAndQuery } = authorized;
      if (target.assets !== undefined && kind === 'raw') {
        const file = await files.answer(request.raw, target, pathAndQuery);
        if (file !== undefined) return sendResponse(reply, authorized, file, answering);
      }
      return await serve(request, reply, authorized, answering);
    } catch (cause) {
      // The call log already has the limits that a call met, with its outcome.
      if (cause instanceof AnnexError && cause.limit && !('outcome' in cause.extra))
        deps.observer.refused(authorized.target, request.id, cause.limit);
      throw cause;
    }
  };
  app.route({
    method: app.supportedMethods.filter((method) => method !== 'CONNECT'),
    url: '/*',
    exposeHeadRoute: false,
    handler: serveEndpoint,
  });
  if (deps.oauth === undefined) return;
  const count = (request: FastifyRequest) => authorizer.countAddress(request);
  const read = async ({ raw }: FastifyRequest, bytesMax: number) => {
    refuseAnnouncedBody(raw, bytesMax);
    return answering.withBody(raw, bytesMax, bodies.requests.open(NO_OWNER), async (body) => body);
  };
  oauthCallbackRoute(app, { ...deps.oauth, wallNow: deps.wallNow }, { count, read, others: serveEndpoint });
}

/** Of a body that alone names its target: counted like those of strangers. */
const NO_OWNER: BodyOwner = { tenant: '', organization: '', sender: undefined, isUnverified: true };

const SCRIPT_PATH = '/~script.js';

/** One comparison for all other requests. */
const isScriptRequest = ({ method }: FastifyRequest, { target, pathAndQuery }: AuthorizedRequest): boolean =>
  pathAndQuery.startsWith(SCRIPT_PATH) &&
  (pathAndQuery.length === SCRIPT_PATH.length || pathAndQuery[SCRIPT_PATH.length] === '?') &&
  (method === 'GET' || method === 'HEAD') &&
  hasPublishedScript(target);

/** The published script of a site. */
async function scriptOf(
  reply: FastifyReply,
  { target }: AuthorizedRequest,
  { scripts }: PublicRouteDeps,
): Promise<PublishedFile> {
  const client = { requestId: reply.request.id, caller: callerOf(reply.raw) };
  return { type: 'text/javascript; charset=utf-8', ...(await scripts.script(target, client)) };
}

/** Sends a file with headers that are all the host's own. */
function sendFile(
  reply: FastifyReply,
  authorized: AuthorizedRequest,
  file: PublishedFile,
  deps: AnsweringDeps,
): FastifyReply {
  reply.headers(fileHeaders(file));
  if (isKnownFile(reply.request.headers['if-none-match'], file)) return reply.code(304).send();
  // Files outlive their place in the cache while clients read them slowly.
  countUntilSent(reply.raw, file.bytes.byteLength, authorized, deps);
  return reply.send(file.bytes);
}

type AnsweringDeps = PublicRouteDeps & {
  readonly bodies: { readonly requests: BodyBudget; readonly answers: BodyBudget };
  readonly senders: SlowSenders;
  readonly withBody: ReturnType<typeof bodyReader>;
  readonly signatures: EnvelopeSignatures;
};

/** Two budgets, so that unread answers leave requests their room, and the other way round. */
function bodyBudgets({
  limits,
  monotonicNow,
}: Pick<PublicRouteDeps, 'limits' | 'monotonicNow'>): AnsweringDeps['bodies'] {
  const limit = (name: LimitName) => ({ name, max: limits[name] });
  const perInstallation = limit('bufferedBodyBytesPerInstallation');
  const unverified = limit('bufferedUnverifiedBytes');
  return {
    requests: new BodyBudget({ all: limit('bufferedBodyBytes'), perInstallation, unverified, monotonicNow }),
    answers: new BodyBudget({ all: limit('bufferedAnswerBytes'), perInstallation, monotonicNow }),
  };
}

/** Reads the body, or begins to, and answers the request. */
async function serve(
  request: FastifyRequest,
  reply: FastifyReply,
  authorized: AuthorizedRequest,
  deps: AnsweringDeps,
): Promise<FastifyReply> {
  const bytesMax = bodyBytesMax(authorized);
  refuseAnnouncedBody(request.raw, bytesMax);
  if (authorized.kind === 'raw' && isStreamed(request.raw)) {
    const upload = new StreamedUpload(request.raw, bytesMax, deps.senders);
    await upload.begun;
    return answer(reply, authorized, envelopeOf(request, authorized, upload), deps);
  }
  const share = deps.bodies.requests.open(ownerOf(authorized, authorized.signature !== undefined));
  let isRead = false;
  const served = deps.withBody(request.raw, bytesMax, share, async (body) => {
    isRead = true;
    if (authorized.signature !== undefined) await refuseSignature(request, authorized, body, deps);
    const envelope = envelopeOf(request, authorized, body);
    share.verified();
    return answer(reply, authorized, envelope, deps);
  });
  if (authorized.signature === undefined) return served;
  return served.catch((cause: unknown) => {
    // Attack: envelopes with invented signatures that are never finished, so that none is ever
    // verified and counted.
    const isSendersFault = !(cause instanceof AnnexError && cause.code === 'REQUEST_SHED');
    if (!isRead && isSendersFault) deps.credentials.countFailure(request.raw);
    throw cause;
  });
}

/** The owner of a request's body and of its answer. */
const ownerOf = ({ target, sender }: AuthorizedRequest, isUnverified: boolean): BodyOwner => ({
  tenant: target.tenant,
  organization: target.organization,
  sender,
  isUnverified,
});

/**
 * An envelope contains a body of raw traffic and more; `envelope.ts` checks the size of each part.
 */
function bodyBytesMax({ kind, target }: AuthorizedRequest): number {
  const { requestBodyBytes, envelopePartBytes } = target.limits;
  return kind === 'raw'
    ? requestBodyBytes
    : requestBodyBytes + 2 * envelopePartBytes + MULTIPART_OVERHEAD_BYTES;
}

async function answer(
  reply: FastifyReply,
  authorized: AuthorizedRequest,
  envelope: Envelope,
  deps: AnsweringDeps,
): Promise<FastifyReply> {
  const { request } = reply;
  const { target } = authorized;
  const { body } = envelope;
  // Refused before its call started: do not start it.
  if (body instanceof StreamedUpload && body.destroyed) body.finish();
  const caller = callerOf(reply.raw);
  if (body instanceof StreamedUpload) {
    body.onRefused = () => caller.leave();
    body.onArrived = () => caller.uploaded();
    if (body.isComing) caller.uploader = authorized.sender;
  }
  const result = await deps.dispatch.call(target, envelope, request.id, caller);
  const { response } = result;
  if (response === undefined) {
    // The rest of an upload is unread: the connection cannot carry another request.
    if (!request.raw.complete) reply.header('connection', 'close');
    if (body instanceof StreamedUpload) body.finish();
    throw result.refusal ?? outcomeError(result.outcome, result);
  }
  return sendResponse(reply, authorized, response, deps);
}

/** Sends an answer of the code, or one of its files. */
function sendResponse(
  reply: FastifyReply,
  authorized: AuthorizedRequest,
  response: CallResponse,
  deps: AnsweringDeps,
): FastifyReply {
  const { request } = reply;
  const { target } = authorized;
  if (Buffer.isBuffer(response.body)) countUntilSent(reply.raw, response.body.byteLength, authorized, deps);
  reply.hijack();
  const { withheld } = sendAnswer(
    reply.raw,
    response,
    cookieScope(request, authorized, deps),
    target.contentSecurityPolicy,
  );
  if (withheld !== undefined) {
    for (const what of withheld)
      deps.observer.log(target, request.id, 'warn', `Response header withheld: ${what}.`);
  }
  return reply;
}

/**
 * Where the cookies of an answer may apply: on a shared origin only below the endpoint's own path.
 *
 * @returns undefined for the host product's envelopes: all headers are sent unchanged
 */
function cookieScope(
  { headers }: Pick<FastifyRequest, 'headers'>,
  { kind, target, pathAndQuery, isContent }: AuthorizedRequest,
  { publicUrl }: PublicRouteDeps,
): CookieScope | undefined {
  // Attack: a page that signs an envelope, with the secret that its code has. Browsers name their
  // origin with each POST.
  if (kind === 'envelope' && headers.origin === undefined && headers['sec-fetch-site'] === undefined)
    return undefined;
  const withoutCookies = { ...(isContent && { withoutCookies: true }) };
  if (!isShared(publicUrl)) return withoutCookies;
  return { ...withoutCookies, path: endpointPath(target.publicEndpoint), isRoot: isRoot(pathAndQuery) };
}

/** Whether endpoints share an origin. The content origin has the form of the public one. */
const isShared = (publicUrl: string | undefined): boolean =>
  publicUrl === undefined || !hasOwnOrigins(publicUrl);

/** Whether a request is for the endpoint itself, without a slash behind it. */
const isRoot = (pathAndQuery: string): boolean => !pathAndQuery.startsWith('/');

/**
 * Keeps pages and workers of an endpoint below its path. Browsers derive from the folder of a URL
 * what relative URLs mean, where the cookies of a script apply, and which requests a service worker
 * serves. Attack: for `/KEY`, that folder is `/`, with all other endpoints.
 *
 * @returns where the browser has to ask instead, relative to the URL; undefined if nowhere
 * @throws AnnexError REQUEST_INVALID for a service worker
 */
function belowEndpoint(
  { method, headers }: Pick<FastifyRequest, 'method' | 'headers'>,
  { kind, target, pathAndQuery }: AuthorizedRequest,
): string | undefined {
  if (kind === 'envelope' || !isRoot(pathAndQuery)) return undefined;
  if (headers['service-worker'] !== undefined || headers['sec-fetch-dest'] === 'serviceworker')
    throw new AnnexError(
      'REQUEST_INVALID',
      'A service worker of this path would serve all endpoints. Serve its script from a path below the endpoint.',
    );
  const isPage = headers['sec-fetch-mode'] === 'navigate' && (method === 'GET' || method === 'HEAD');
  return isPage ? `${target.endpointKey}/${pathAndQuery}` : undefined;
}

/**
 * Counts an answer in the budget until its last byte has been sent. Attack: clients that ask for
 * megabytes and do not read would fill the host's memory. Their calls have ended, so no bound on
 * calls applies.
 *
 * @throws AnnexError REQUEST_SHED if there is no room
 */
function countUntilSent(
  raw: ServerResponse,
  bytes: number,
  authorized: AuthorizedRequest,
  { bodies }: AnsweringDeps,
): void {
  // After a disconnect the answer is not held, and its `close` event has passed.
  if (bytes <= UNCOUNTED_BYTES_MAX || raw.destroyed) return;
  const share = bodies.answers.open(ownerOf(authorized, false));
  if (!share.take(bytes)) throw shed(share);
  raw.once('close', () => share.release());
  // The socket's progress, not that of the answer, which has none before its turn. Attack:
  // pipelined answers behind one that never ends, which could not be evicted.
  const { socket } = raw.req;
  const movedBytes = () => socket.bytesWritten - socket.writableLength;
  share.awaitClient({ movedBytes, evict: () => socket.destroy() });
}

/** @throws AnnexError ENVELOPE_UNAUTHORIZED if the signature is not genuine, or not new */
async function refuseSignature(
  request: FastifyRequest,
  { target, signature }: AuthorizedRequest,
  body: Buffer,
  { credentials, signatures }: AnsweringDeps,
): Promise<void> {
  const refusal = signature === undefined ? undefined : await signatures.refusal(signature, body, target);
  if (refusal === undefined) return;
  credentials.countFailure(request.raw);
  throw refusal;
}

function envelopeOf(
  request: FastifyRequest,
  authorized: AuthorizedRequest,
  body: Buffer | StreamedUpload,
): Envelope {
  const { target, pathAndQuery, kind, isContent } = authorized;
  if (kind === 'envelope' && Buffer.isBuffer(body))
    return readEnvelope(request.headers['content-type'], body, target, request.id);
  const { method, headers } = request;
  return {
    event: fetchEvent(request.id, target, { method, pathAndQuery, isContent, headers }),
    environment: target.environmentJson,
    ...((body instanceof StreamedUpload || body.length > 0) && { body }),
  };
}
