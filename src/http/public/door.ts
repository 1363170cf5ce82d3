/**
 * The public listener: every endpoint of every target (REFERENCE D1, D7).
 *
 *   {endpoint key}/…            any method: raw traffic, handed over as a `fetch` event
 *   POST {endpoint key}/v1      the envelope door, for the platform and for senders that sign
 *
 * Whatever can be refused by looking at the head of a request is refused before its body is read, and whatever can be
 * refused by the host never enters an isolate. It serves nothing of the host's own: no token, cookie or page.
 */
import { METHODS } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AnnexError } from '../../errors.ts';
import type { Limits } from '../../limits.ts';
import { ENDPOINT_KEY } from '../../model/identifiers.ts';
import { verifySignature } from '../../model/signature.ts';
import type { Target } from '../../model/target.ts';
import type { Dispatch, Envelope } from '../../runtime/dispatch.ts';
import { outcomeError } from '../../runtime/outcome.ts';
import type { Registry } from '../../store/registry.ts';
import type { Tokens } from '../../store/tokens.ts';
import { sendAnswer } from './answer.ts';
import { readEnvelope } from './envelope.ts';
import { fetchEvent } from './fetch-event.ts';

/** The one version of the envelope door (REFERENCE D1). */
const VERSION = 'v1';
/** Room for the heads of an envelope's parts, beside the parts. */
const MULTIPART_OVERHEAD_BYTES = 64 * 1024;
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

const visits = new WeakMap<FastifyRequest, Visit>();

/** Registers the public listener's only route. */
export function publicDoor(app: FastifyInstance, parts: PublicDoorParts): void {
  const { limits } = parts;
  const known = new Set(app.supportedMethods);
  for (const method of METHODS) if (!known.has(method)) app.addHttpMethod(method, { hasBody: true });
  app.removeAllContentTypeParsers();
  // One body limit for both doors, the larger; `envelope.ts` and the raw door check their own exact ones.
  const bodyLimit = limits.requestBodyBytes + 2 * limits.envelopePartBytes + MULTIPART_OVERHEAD_BYTES;
  app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit }, (_request, body, done) => done(null, body));
  app.route({
    method: app.supportedMethods.filter((method) => method !== 'CONNECT'),
    url: '/*',
    bodyLimit,
    exposeHeadRoute: false,
    onRequest: async (request, reply) => {
      const visit = await look(request, parts);
      if (typeof visit === 'string') {
        return reply.code(400).type('text/plain; charset=utf-8').send(`Unsupported version ${visit}`);
      }
      visits.set(request, visit);
      return undefined;
    },
    handler: (request, reply) => answer(request, reply, parts),
  });
}

/** @returns what is asked of whom, or the name of a version that does not exist */
async function look(
  request: FastifyRequest,
  { registry, tokens, limits }: PublicDoorParts,
): Promise<Visit | string> {
  const url = request.raw.url ?? '';
  const keyEnd = url.slice(1).search(/[/?#]/);
  const key = keyEnd === -1 ? url.slice(1) : url.slice(1, keyEnd + 1);
  const target = ENDPOINT_KEY.test(key) ? await registry.target(key) : undefined;
  if (target === undefined) throw new AnnexError('ENDPOINT_UNKNOWN', 'No installation answers at this URL.');
  const pathAndQuery = url.slice(1 + key.length);
  const version = request.method === 'POST' ? /^\/(v\d{1,8})(?:\?|$)/.exec(pathAndQuery)?.[1] : undefined;
  if (version !== undefined && version !== VERSION) return version;
  if (target.status === 'paused') throw new AnnexError('ENDPOINT_PAUSED', 'The installation is paused.');
  if (version === undefined) {
    refuseDeclaredLength(request, limits.requestBodyBytes);
    return { target, pathAndQuery, door: 'raw' };
  }
  const signature = await credentials(request, tokens);
  return { target, pathAndQuery, door: 'envelope', ...(signature !== undefined && { signature }) };
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
  parts: PublicDoorParts,
): Promise<FastifyReply> {
  const visit = visits.get(request);
  if (visit === undefined) throw new AnnexError('INTERNAL_ERROR', 'The request was never looked at.');
  const { target } = visit;
  const body = request.body instanceof Buffer ? request.body : undefined;
  const envelope = toEnvelope(request, visit, body, parts.limits);
  const gone = new AbortController();
  // `close` without an end: the client went away, and the call has nobody left to answer.
  reply.raw.once('close', () => {
    if (!reply.raw.writableEnded) gone.abort();
  });
  const { outcome, response, detail } = await parts.dispatch.call(target, envelope, request.id, gone.signal);
  if (response === undefined) throw outcomeError(outcome, detail);
  reply.hijack();
  sendAnswer(reply.raw, request.method, response);
  return reply;
}

function toEnvelope(
  request: FastifyRequest,
  visit: Visit,
  body: Buffer | undefined,
  limits: Limits,
): Envelope {
  const { target, pathAndQuery, door, signature } = visit;
  if (door === 'envelope') {
    const bytes = body ?? Buffer.alloc(0);
    if (signature !== undefined && !verifySignature(signature, bytes, target.signingSecrets))
      throw unauthorized();
    return readEnvelope(request.headers['content-type'], bytes, target, limits);
  }
  if (body && body.length > limits.requestBodyBytes) throw bodyTooLarge(limits.requestBodyBytes);
  const { method, headers } = request;
  const hasBody = body !== undefined && body.length > 0 && method !== 'GET' && method !== 'HEAD';
  return {
    event: fetchEvent(request.id, target, { method, pathAndQuery, headers }),
    environment: target.environmentJson,
    ...(hasBody && { body }),
  };
}

/** A body that is announced as too large is never read. */
function refuseDeclaredLength(request: FastifyRequest, bytesMax: number): void {
  if (Number(request.headers['content-length'] ?? 0) > bytesMax) throw bodyTooLarge(bytesMax);
}

const bodyTooLarge = (bytesMax: number): AnnexError =>
  new AnnexError('REQUEST_TOO_LARGE', `The body is over the limit of ${bytesMax} bytes.`);
const unauthorized = (): AnnexError =>
  new AnnexError(
    'ENVELOPE_UNAUTHORIZED',
    'The envelope door needs a platform token or a valid X-Platform-Signature.',
  );
