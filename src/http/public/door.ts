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
import { AnnexError } from '../../errors.ts';
import type { Limits } from '../../limits.ts';
import { ENDPOINT_KEY } from '../../model/identifiers.ts';
import { verifySignature } from '../../model/signature.ts';
import type { Target } from '../../model/target.ts';
import { Caller, type Dispatch, type Envelope } from '../../runtime/dispatch.ts';
import { outcomeError } from '../../runtime/outcome.ts';
import type { Registry } from '../../store/registry.ts';
import type { Tokens } from '../../store/tokens.ts';
import { sendAnswer } from './answer.ts';
import { BodyBudget } from './body-budget.ts';
import { readEnvelope } from './envelope.ts';
import { fetchEvent } from './fetch-event.ts';
import { isStreamed, refuseAnnouncedBody, shed, withBody } from './request-body.ts';
import { Upload } from './upload.ts';

/** The one version of the envelope door (REFERENCE D1). */
const VERSION = 'v1';
/** Room for the heads of an envelope's parts, beside the parts. */
const MULTIPART_OVERHEAD_BYTES = 64 * 1024;
/** Answers up to this size go into the socket's own memory at once, as a rule. */
const UNCOUNTED_BYTES_MAX = 16 * 1024;
const BEARER = /^Bearer +(\S+) *$/i;

export interface PublicDoorParts {
  readonly limits: Limits;
  readonly registry: Pick<Registry, 'target'>;
  readonly tokens: Pick<Tokens, 'authenticate'>;
  readonly dispatch: Pick<Dispatch, 'call'>;
}

/** A request whose head has been looked at. */
interface Visit {
  readonly target: Target;
  /** What follows the endpoint in the URL. */
  readonly pathAndQuery: string;
  readonly door: 'raw' | 'envelope';
  /** Signature to verify once the body is there; absent where a token has already vouched for the sender. */
  readonly signature?: string;
}

/** Registers the public listener's only route. */
export function publicDoor(app: FastifyInstance, parts: PublicDoorParts): void {
  const budget = new BodyBudget(parts.limits.bufferedBodyBytes);
  const answering = { ...parts, budget };
  // To the framework no method has a body: it would refuse content types it cannot read (an empty one, for instance),
  // and raw traffic may have any. `withBody` reads them.
  for (const method of METHODS) app.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  app.route({
    method: app.supportedMethods.filter((method) => method !== 'CONNECT'),
    url: '/*',
    exposeHeadRoute: false,
    handler: async (request, reply) => {
      const visit = await look(request, parts);
      if (typeof visit === 'string') {
        return reply.code(400).type('text/plain; charset=utf-8').send(`Unsupported version ${visit}`);
      }
      const bytesMax = bodyBytesMax(visit.door, parts.limits);
      if (visit.door === 'raw' && isStreamed(request.raw)) {
        const upload = new Upload(request.raw, bytesMax);
        return answer(request, reply, visit, upload, answering);
      }
      return withBody(request.raw, bytesMax, budget, (body) =>
        answer(request, reply, visit, body, answering),
      );
    },
  });
}

/** An envelope holds a body of raw traffic, and more; `envelope.ts` looks at the size of each of its parts. */
const bodyBytesMax = (door: Visit['door'], { requestBodyBytes, envelopePartBytes }: Limits): number =>
  door === 'raw' ? requestBodyBytes : requestBodyBytes + 2 * envelopePartBytes + MULTIPART_OVERHEAD_BYTES;

/** @returns what is asked of whom, or the name of a version that does not exist */
async function look(
  request: FastifyRequest,
  { registry, tokens, limits }: PublicDoorParts,
): Promise<Visit | string> {
  const url = request.originalUrl;
  const keyEnd = url.slice(1).search(/[/?#]/);
  const key = keyEnd === -1 ? url.slice(1) : url.slice(1, keyEnd + 1);
  const target = ENDPOINT_KEY.test(key) ? await registry.target(key) : undefined;
  if (target === undefined) throw new AnnexError('ENDPOINT_UNKNOWN', 'No installation answers at this URL.');
  const pathAndQuery = url.slice(1 + key.length);
  const version = request.method === 'POST' ? /^\/(v\d{1,8})(?:\?|$)/.exec(pathAndQuery)?.[1] : undefined;
  if (version !== undefined && version !== VERSION) return version;
  if (target.status === 'paused') throw new AnnexError('ENDPOINT_PAUSED', 'The installation is paused.');
  const door = version === undefined ? 'raw' : 'envelope';
  const signature = door === 'raw' ? undefined : await credentials(request, tokens);
  refuseAnnouncedBody(request.raw, bodyBytesMax(door, limits));
  return { target, pathAndQuery, door, ...(signature !== undefined && { signature }) };
}

/**
 * The envelope door is for the platform. A wrong token is refused even beside a signature, and no answer tells which of
 * the two was the trouble.
 *
 * @returns the signature that is still to be verified; undefined where a token has been accepted
 */
async function credentials(
  request: FastifyRequest,
  tokens: Pick<Tokens, 'authenticate'>,
): Promise<string | undefined> {
  const { authorization } = request.headers;
  const signature = request.headers['x-platform-signature'];
  if (authorization !== undefined) {
    const token = BEARER.exec(authorization)?.[1];
    const principal = token === undefined ? undefined : await tokens.authenticate(token);
    if (principal === undefined) throw unauthorized();
    if (principal.kind === 'organization') {
      throw new AnnexError(
        'TOKEN_FORBIDDEN',
        'The envelope door needs a platform token; this one is an organization token.',
      );
    }
    return undefined;
  }
  if (typeof signature !== 'string') throw unauthorized();
  return signature;
}

async function answer(
  request: FastifyRequest,
  reply: FastifyReply,
  visit: Visit,
  body: Buffer | Upload,
  parts: PublicDoorParts & { readonly budget: BodyBudget },
): Promise<FastifyReply> {
  const { target } = visit;
  const envelope = toEnvelope(request, visit, body, parts.limits);
  const caller = new Caller();
  // `close` without an end: the client went away, and the call has nobody left to answer.
  reply.raw.once('close', () => {
    if (!reply.raw.writableEnded) caller.leave();
  });
  // One that went away while the head was looked at is not heard of again.
  if (request.raw.socket.destroyed) caller.leave();
  if (body instanceof Upload) body.onTooLarge = () => caller.leave();
  const { outcome, response, detail } = await parts.dispatch.call(target, envelope, request.id, caller);
  if (response === undefined) {
    // What is left of an upload that nobody reads: the connection cannot carry another request.
    if (!request.raw.complete) reply.header('connection', 'close');
    if (body instanceof Upload) body.finish();
    throw outcomeError(outcome, detail);
  }
  if (Buffer.isBuffer(response.body)) holdUntilSent(reply.raw, response.body.byteLength, parts.budget);
  reply.hijack();
  sendAnswer(request.raw, reply.raw, response);
  return reply;
}

/**
 * Counts an answer among the bodies that are held until its last byte has left. Its call is over by then, so no bound on
 * calls applies: clients that ask for megabytes and do not read would fill the host's memory.
 *
 * @throws AnnexError REQUEST_SHED where there is no room
 */
function holdUntilSent(raw: ServerResponse, bytes: number, budget: BodyBudget): void {
  // One whose client has gone is held no longer, and its `close` has been: it would be waited for in vain.
  if (bytes <= UNCOUNTED_BYTES_MAX || raw.destroyed) return;
  const share = budget.open();
  if (!share.take(bytes)) throw shed();
  raw.once('close', () => share.giveBack());
}

function toEnvelope(request: FastifyRequest, visit: Visit, body: Buffer | Upload, limits: Limits): Envelope {
  const { target, pathAndQuery, door, signature } = visit;
  if (door === 'envelope' && Buffer.isBuffer(body)) {
    if (signature !== undefined && !verifySignature(signature, body, target.signingSecrets))
      throw unauthorized();
    return readEnvelope(request.headers['content-type'], body, target, limits);
  }
  const { method, headers } = request;
  return {
    event: fetchEvent(request.id, target, { method, pathAndQuery, headers }),
    environment: target.environmentJson,
    ...((body instanceof Upload || body.length > 0) && { body }),
  };
}

const unauthorized = (): AnnexError =>
  new AnnexError(
    'ENVELOPE_UNAUTHORIZED',
    'The envelope door needs a platform token or a valid X-Platform-Signature.',
  );
