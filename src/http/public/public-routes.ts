/**
 * The public listener: every endpoint of every target (REFERENCE D1, D7).
 *
 *   {endpoint key}/…            any method: raw traffic, handed over as a `fetch` event
 *   POST {endpoint key}/v1      the envelope door, for the platform and for senders that sign
 *
 * Whatever can be refused by looking at the head of a request is refused before its body is read, and whatever can be
 * refused by the host never enters an isolate. It serves nothing of the host's own: no token, cookie or page.
 */
import { METHODS, type ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Caller, type Envelope } from '../../calls/call.ts';
import type { CallLog } from '../../calls/call-log.ts';
import type { Dispatch } from '../../calls/dispatch.ts';
import { outcomeError } from '../../calls/outcome.ts';
import { AnnexError } from '../../errors.ts';
import type { LimitName, Limits } from '../../limits.ts';
import { hasOwnOrigins } from '../../model/endpoint-url.ts';
import { inProcessDepth } from '../loopback-listeners.ts';
import { SlowSenders } from '../slow-senders.ts';
import { sendAnswer } from './answer.ts';
import { BodyBudget, type BodyOwner } from './body-budget.ts';
import { readEnvelope } from './envelope.ts';
import { EnvelopeSignatures } from './envelope-signatures.ts';
import { fetchEvent } from './fetch-event.ts';
import {
  type AuthorizedRequest,
  RequestAuthorizer,
  type RequestAuthorizerParts,
} from './request-authorizer.ts';
import { isStreamed, refuseAnnouncedBody, shed, withBody } from './request-body.ts';
import type { CookieHome } from './set-cookie.ts';
import { StreamedUpload } from './streamed-upload.ts';

/** Room for the heads of an envelope's parts, beside the parts. */
const MULTIPART_OVERHEAD_BYTES = 64 * 1024;
/** Answers up to this size go into the socket's own memory at once, as a rule. */
const UNCOUNTED_BYTES_MAX = 16 * 1024;

export interface PublicRouteParts extends Omit<RequestAuthorizerParts, 'signatures'> {
  readonly limits: Limits;
  readonly dispatch: Pick<Dispatch, 'call'>;
  /** The time of day, in milliseconds. */
  readonly now: () => number;
  /** Hears of requests that a limit keeps from becoming calls. */
  readonly observer: Pick<CallLog, 'refused' | 'log'>;
}

/** Registers the public listener's only route. */
export function publicRoutes(app: FastifyInstance, parts: PublicRouteParts): void {
  const { limits } = parts;
  const { requestStallMs: stallMs, paceBytesPerSecond } = limits;
  const signatures = new EnvelopeSignatures(parts);
  const visits = new RequestAuthorizer({ ...parts, signatures });
  const bodies = bodyBudgets(parts);
  const senders = new SlowSenders({ stallMs, paceBytesPerSecond }, parts.clock);
  app.addHook('onClose', () => {
    senders.stop();
    bodies.requests.stop();
    bodies.answers.stop();
  });
  const answering = { ...parts, bodies, senders, signatures };
  // To the framework no method has a body: it would refuse content types it cannot read (an empty one, for instance),
  // and raw traffic may have any. `withBody` reads them.
  for (const method of METHODS) app.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  app.route({
    method: app.supportedMethods.filter((method) => method !== 'CONNECT'),
    url: '/*',
    exposeHeadRoute: false,
    handler: async (request, reply) => {
      const visit = await visits.look(request);
      if (typeof visit === 'string') {
        return reply.code(400).type('text/plain; charset=utf-8').send(`Unsupported version ${visit}`);
      }
      try {
        return await serve(request, reply, visit, answering);
      } catch (cause) {
        // What a call met is in the journal already, with its outcome.
        if (cause instanceof AnnexError && cause.limit && !('outcome' in cause.extra))
          parts.observer.refused(visit.target, request.id, cause.limit);
        throw cause;
      }
    },
  });
}

type Answering = PublicRouteParts & {
  readonly bodies: { readonly requests: BodyBudget; readonly answers: BodyBudget };
  readonly senders: SlowSenders;
  readonly signatures: EnvelopeSignatures;
};

/** Two budgets, so that answers that are not read leave requests their room, and the other way round. */
function bodyBudgets({ limits, clock }: Pick<PublicRouteParts, 'limits' | 'clock'>): Answering['bodies'] {
  const limit = (name: LimitName) => ({ name, max: limits[name] });
  const perInstallation = limit('bufferedBodyBytesPerInstallation');
  const unverified = limit('bufferedUnverifiedBytes');
  return {
    requests: new BodyBudget({ all: limit('bufferedBodyBytes'), perInstallation, unverified, clock }),
    answers: new BodyBudget({ all: limit('bufferedAnswerBytes'), perInstallation, clock }),
  };
}

/** Takes the body, or begins to, and hands the request over. */
async function serve(
  request: FastifyRequest,
  reply: FastifyReply,
  visit: AuthorizedRequest,
  parts: Answering,
): Promise<FastifyReply> {
  const bytesMax = bodyBytesMax(visit);
  refuseAnnouncedBody(request.raw, bytesMax);
  if (visit.door === 'raw' && isStreamed(request.raw)) {
    const upload = new StreamedUpload(request.raw, bytesMax, parts.senders);
    await upload.begun;
    return answer(request, reply, visit, toEnvelope(request, visit, upload, parts), parts);
  }
  const share = parts.bodies.requests.open(ownerOf(visit, visit.signature !== undefined));
  let isRead = false;
  const served = withBody(request.raw, bytesMax, share, parts.senders, (body) => {
    isRead = true;
    const envelope = toEnvelope(request, visit, body, parts);
    share.verified();
    return answer(request, reply, visit, envelope, parts);
  });
  if (visit.signature === undefined) return served;
  return served.catch((cause: unknown) => {
    // Attack: envelopes with a made-up signature that are never finished, so that none is ever found to be wrong.
    const isSendersFault = !(cause instanceof AnnexError && cause.code === 'REQUEST_SHED');
    if (!isRead && isSendersFault) parts.credentials.failed(request.raw);
    throw cause;
  });
}

/** Who the bodies of a request and of its answer are counted for. */
const ownerOf = ({ target, sender }: AuthorizedRequest, isUnverified: boolean): BodyOwner => ({
  installationId: target.installationId,
  organization: target.organization,
  sender,
  isUnverified,
});

/** An envelope holds a body of raw traffic, and more; `envelope.ts` looks at the size of each of its parts. */
function bodyBytesMax({ door, target }: AuthorizedRequest): number {
  const { requestBodyBytes, envelopePartBytes } = target.limits;
  return door === 'raw'
    ? requestBodyBytes
    : requestBodyBytes + 2 * envelopePartBytes + MULTIPART_OVERHEAD_BYTES;
}

async function answer(
  request: FastifyRequest,
  reply: FastifyReply,
  visit: AuthorizedRequest,
  envelope: Envelope,
  parts: Answering,
): Promise<FastifyReply> {
  const { target } = visit;
  const { body } = envelope;
  // One that was refused before its call began is not called for.
  if (body instanceof StreamedUpload && body.destroyed) body.finish();
  const caller = new Caller(inProcessDepth(request.raw.socket));
  // `close` without an end: the client went away, and the call has nobody left to answer.
  reply.raw.once('close', () => {
    if (!reply.raw.writableEnded) caller.leave();
  });
  // One that went away while the head was looked at is not heard of again.
  if (request.raw.socket.destroyed) caller.leave();
  if (body instanceof StreamedUpload) {
    body.onRefused = () => caller.leave();
    body.onArrived = () => caller.uploaded();
    if (body.isComing) caller.uploader = visit.sender;
  }
  const result = await parts.dispatch.call(target, envelope, request.id, caller);
  const { response } = result;
  if (response === undefined) {
    // What is left of an upload that nobody reads: the connection cannot carry another request.
    if (!request.raw.complete) reply.header('connection', 'close');
    if (body instanceof StreamedUpload) body.finish();
    throw result.refusal ?? outcomeError(result.outcome, result);
  }
  if (Buffer.isBuffer(response.body)) holdUntilSent(reply.raw, response.body.byteLength, visit, parts);
  reply.hijack();
  const { withheld } = sendAnswer(
    request.raw,
    reply.raw,
    response,
    cookieHome(visit, parts),
    target.contentSecurityPolicy,
  );
  if (withheld !== undefined) {
    for (const what of withheld) parts.observer.log(target, request.id, 'warn', `Held back: ${what}.`);
  }
  return reply;
}

/**
 * On an origin that all share, an endpoint's cookies stay below its own path.
 *
 * @returns undefined where it is no browser that asks, but the platform: it has everything as it was given
 */
function cookieHome(
  { door, target, pathAndQuery }: AuthorizedRequest,
  { publicUrl }: PublicRouteParts,
): CookieHome | undefined {
  if (door === 'envelope') return undefined;
  if (publicUrl !== undefined && hasOwnOrigins(publicUrl)) return OWN_ORIGIN;
  return { path: pathOf(target.publicEndpoint), isRoot: !pathAndQuery.startsWith('/') };
}
const OWN_ORIGIN: CookieHome = {};

/** What follows the host. */
const pathOf = (url: string): string => url.slice(url.indexOf('/', url.indexOf('//') + 2));

/**
 * Counts an answer among the bodies that are held until its last byte has left. Its call is over by then, so no bound on
 * calls applies: clients that ask for megabytes and do not read would fill the host's memory.
 *
 * @throws AnnexError REQUEST_SHED where there is no room
 */
function holdUntilSent(
  raw: ServerResponse,
  bytes: number,
  visit: AuthorizedRequest,
  { bodies }: Answering,
): void {
  // One whose client has gone is held no longer, and its `close` has been: it would be waited for in vain.
  if (bytes <= UNCOUNTED_BYTES_MAX || raw.destroyed) return;
  const share = bodies.answers.open(ownerOf(visit, false));
  if (!share.take(bytes)) throw shed(share);
  raw.once('close', () => share.giveBack());
  // Not that of the answer, which has none before its turn. Attack: answers behind one that does not come, which never give way.
  const { socket } = raw.req;
  const movedBytes = () => socket.bytesWritten - socket.writableLength;
  share.await({ movedBytes, giveWay: () => socket.destroy() });
}

function toEnvelope(
  request: FastifyRequest,
  visit: AuthorizedRequest,
  body: Buffer | StreamedUpload,
  { credentials, signatures }: Answering,
): Envelope {
  const { target, pathAndQuery, door, signature } = visit;
  if (door === 'envelope' && Buffer.isBuffer(body)) {
    const refusal = signature === undefined ? undefined : signatures.refusal(signature, body, target);
    if (refusal !== undefined) {
      credentials.failed(request.raw);
      throw refusal;
    }
    return readEnvelope(request.headers['content-type'], body, target, request.id);
  }
  const { method, headers } = request;
  return {
    event: fetchEvent(request.id, target, { method, pathAndQuery, headers }),
    environment: target.environmentJson,
    ...((body instanceof StreamedUpload || body.length > 0) && { body }),
  };
}
