/**
 * The routes by which the host product has an integration make something
 * (docs/contract/published-scripts.md), or asks it (docs/contract/calls.md#calls-of-the-product):
 *
 * - `…/sites/{site}/script`: the published script of a site, for a product that serves it itself.
 *   The public listener serves the same bytes.
 * - `…/visitor-authentication`: signs in, or out, a visitor. The answer is described as JSON: a
 *   client that follows redirects would otherwise go where the code sends the visitor. The product
 *   sends it to the visitor's browser, or parts of it.
 * - `…/content-sources/{source}/compute`: computes the pages of a content source, or the document
 *   of one page. The product's members of the event are passed to the code, and the JSON of its
 *   answer back. The host reads neither, and keeps nothing.
 * - `…/calls/{call}`: what the product asks an installation, by a name that its manifest declares.
 *   The input and the JSON of the answer are passed on in the same way.
 */
import type { FastifyReply } from 'fastify';
import Type from 'typebox';
import { AnnexError } from '../../../errors.ts';
import { HOP_BY_HOP } from '../../../model/hop-by-hop.ts';
import { jsonForm } from '../../../model/json-text.ts';
import { LEVELS } from '../../../model/level.ts';
import { limitError } from '../../../model/limit-met.ts';
import { callMs } from '../../../model/manifest/declared-call.ts';
import { mayAskCode } from '../../../model/principal.ts';
import { eventIds, type Target, withinTime } from '../../../model/target.ts';
import { boundedBody } from '../../calls/bounded-body.ts';
import { outcomeError } from '../../calls/outcome.ts';
import { SCRIPT_SCOPE } from '../../calls/published-scripts.ts';
import { nestedCaller } from '../client-caller.ts';
import { requires } from './authenticate.ts';
import type { Control } from './control.ts';
import { IfNoneMatch, isKnownTag } from './entity-tag.ts';
import {
  callableTarget,
  TARGET_NOUNS,
  TARGET_PARAMS,
  TARGET_PATHS,
  TARGET_TAGS,
  targetNameOf,
} from './installations/targets.ts';
import { route } from './route.ts';
import { closed, NoQuery, named, optional } from './schemas.ts';

const scriptRoute = route({
  name: 'sites.getScript',
  at: `GET ${TARGET_PATHS.site}/script`,
  summary: 'Get the published script of an installation in a site',
  description: 'Answers JavaScript with an `ETag`. The integration needs the scope `site:script:inject`.',
  params: TARGET_PARAMS.site,
  query: NoQuery,
  headers: IfNoneMatch,
  answer: Type.Unsafe<Buffer>(Type.String()),
  answers: { 304: Type.Null() },
  described: { produces: ['text/javascript'] },
  async handle(request, control, reply) {
    const name = targetNameOf(request, 'site');
    const target = await callableTarget(control, request, name, { scope: SCRIPT_SCOPE });
    const caller = nestedCaller(reply, control.limits);
    const { bytes, tag } = await control.scripts.script(target, { requestId: request.id, caller });
    reply.header('etag', tag).header('vary', 'authorization').header('cache-control', 'private, no-cache');
    if (isKnownTag(request, tag)) return reply.code(304).send(null);
    return reply.type('text/javascript; charset=utf-8').send(bytes);
  },
});

/** Largest request, and largest body of an answer. */
const VISIT_BYTES_MAX = 256 * 1024;

/** Most values of one name. */
const VALUES_MAX = 1_000;

const texts = (description: string) =>
  Type.Record(
    Type.String(),
    Type.Union([Type.String(), Type.Array(Type.String(), { maxItems: VALUES_MAX })]),
    { description },
  );

const Visit = closed('Visit', {
  location: optional(Type.String(), 'URL that the visitor asked for.'),
  searchParams: Type.Optional(texts('Query of the request.')),
  cookies: Type.Optional(texts('Cookies of the visitor on the site.')),
  action: Type.Optional(Type.Literal('logout')),
});

const VisitView = named('AnsweredVisit', {
  status: Type.Integer(),
  headers: Type.Array(Type.Array(Type.String(), { minItems: 2, maxItems: 2 }), {
    description: 'Names and values in their order; a name can occur more than once.',
  }),
  body: optional(Type.String(), 'As UTF-8; absent if the answer has none.'),
});

const visitRoutes = (['space', 'site'] as const).map((level) =>
  route({
    name: `${TARGET_TAGS[level]}.authenticateVisitor`,
    at: `POST ${TARGET_PATHS[level]}/visitor-authentication`,
    right: 'render',
    summary: `Have ${TARGET_NOUNS[level]} sign in a visitor`,
    description:
      'Answers with what the integration answers, normally a redirect. It needs the scope `site:visitor:auth`.',
    rate: 'calls',
    params: TARGET_PARAMS[level],
    query: NoQuery,
    body: Visit,
    bodyBytesMax: VISIT_BYTES_MAX,
    answer: VisitView,
    async handle(request, control, reply) {
      const name = targetNameOf(request, level);
      const target = await callableTarget(control, request, name, { scope: 'site:visitor:auth' });
      const { location = '', searchParams = {}, cookies = {}, action } = request.body;
      const event = {
        ...{ eventId: request.id, type: 'fetch_visitor_authentication', ...eventIds(target) },
        ...{ location, searchParams, cookies, action },
      };
      return visitView(await answerOf(control, reply, target, { event, bytesMax: VISIT_BYTES_MAX }));
    },
  }),
);

/** Without the headers of the connection between the code and the host. */
function visitView({ status, headers, body }: IntegrationAnswer) {
  const sent = headers.filter(([name]) => {
    const lower = name.toLowerCase();
    return lower !== 'content-length' && !HOP_BY_HOP.has(lower);
  });
  return {
    status,
    headers: sent.map(([name, value]) => [name, value]),
    ...(body.byteLength > 0 && { body: body.toString('utf8') }),
  };
}

/** Largest answer: a document of many pages. */
const ANSWER_BYTES_MAX = 8 * 1024 * 1024;

const Source = Type.String({
  minLength: 1,
  maxLength: 64,
  pattern: '^[A-Za-z0-9_.-]+$',
  description: '`sourceId` of a content source.',
});

const anything = (description: string) =>
  Type.Optional(Type.Object({}, { description, additionalProperties: Type.Unknown() }));

const Computation = Type.Object(
  {
    type: Type.Enum(['content_compute_revision', 'content_compute_document']),
    props: anything('Props of the source, or of the page.'),
    dependencies: anything('Values of what the source depends on.'),
  },
  {
    title: 'Computation',
    description: 'Members that are not listed are passed on.',
    additionalProperties: Type.Unknown(),
  },
);

/** Sent as the code has written it. */
const ComputedView = Type.Unsafe<Buffer>(Type.Unknown({ description: "The integration's JSON." }));

const sourceRoutes = LEVELS.map((level) =>
  route({
    name: `${TARGET_TAGS[level]}.computeContent`,
    at: `POST ${TARGET_PATHS[level]}/content-sources/:source/compute`,
    right: 'render',
    summary: `Have ${TARGET_NOUNS[level]} compute content`,
    rate: 'calls',
    params: { ...TARGET_PARAMS[level], source: Source },
    query: NoQuery,
    body: Computation,
    bodyBytesMax: ({ envelopePartBytes }) => envelopePartBytes,
    answer: ComputedView,
    async handle(request, control, reply) {
      const target = await callableTarget(control, request, targetNameOf(request, level));
      const { source } = request.params;
      // The ids are the host's. Attack: a product's client that names another installation.
      const event = { ...request.body, eventId: request.id, ...eventIds(target), source, sourceId: source };
      requireFitting(event, target);
      const answer = await answerOf(control, reply, target, { event, bytesMax: ANSWER_BYTES_MAX });
      return reply.type('application/json; charset=utf-8').send(await json(event.type, answer));
    },
  }),
);

const CallInput = Type.Object(
  {},
  {
    title: 'CallInput',
    description: 'What the code gets, of any members.',
    additionalProperties: true,
  },
);

/** Sent as the code has written it. */
const CallAnswer = Type.Unsafe<Buffer>(Type.Unknown({ description: "The integration's JSON." }));

const CallName = Type.String({ ...Source, description: '`name` of a call of the manifest.' });

const callRoutes = LEVELS.map((level) =>
  route({
    name: `${TARGET_TAGS[level]}.call`,
    at: `POST ${TARGET_PATHS[level]}/calls/:call`,
    right: 'call',
    summary: `Ask ${TARGET_NOUNS[level]} what its code answers`,
    description: 'The manifest declares the calls. A call ends when its client disconnects.',
    // Attack: a tenant whose answer the code would take for one to the product.
    rights: requires(mayAskCode, 'Calls of the product need a platform token'),
    rate: 'calls',
    params: { ...TARGET_PARAMS[level], call: CallName },
    query: NoQuery,
    body: CallInput,
    bodyBytesMax: ({ envelopePartBytes }) => envelopePartBytes,
    answer: CallAnswer,
    async handle(request, control, reply) {
      const { call } = request.params;
      const target = await callableTarget(control, request, targetNameOf(request, level));
      const declared = target.calls?.find(({ name }) => name === call);
      if (declared === undefined) throw unknownCall(target, call);
      const event = { eventId: request.id, type: 'call', ...eventIds(target), call, input: request.body };
      requireFitting(event, target);
      const ms = callMs(declared);
      const timed = ms === undefined ? target : withinTime(target, ms);
      const answer = await answerOf(control, reply, timed, { event, bytesMax: CALL_BYTES_MAX });
      return reply.type('application/json; charset=utf-8').send(await answered(call, answer));
    },
  }),
);

/** Largest answer to the product. */
const CALL_BYTES_MAX = 1024 * 1024;

/** Names that the message lists. */
const CALLS_SHOWN = 20;

function unknownCall({ integration, calls = [] }: Target, call: string): AnnexError {
  const shown = calls.slice(0, CALLS_SHOWN).map(({ name }) => `"${name}"`);
  const known = shown.length === 0 ? 'its manifest has none' : `its manifest has ${shown.join(', ')}`;
  return new AnnexError('CALL_UNKNOWN', `"${integration}" has no call "${call}"; ${known}.`);
}

/** @returns the body, which is JSON @throws AnnexError CALL_REFUSED, CALL_FAILED, ANSWER_INVALID */
async function answered(call: string, answer: IntegrationAnswer): Promise<Buffer> {
  const { status, body } = answer;
  // Only the SDK's text of an `ExposableError` is for callers.
  const reason = status === 200 ? '' : reasonIn(body);
  if (status >= 400 && status < 500 && reason !== '')
    throw new AnnexError('CALL_REFUSED', `The integration refused "${call}"${reason}`, { status });
  if (status >= 500)
    throw new AnnexError('CALL_FAILED', `"${call}" failed; the log of the installation has the reason.`);
  return json('call', answer);
}

export const CONTENT_ROUTES = [scriptRoute, ...visitRoutes, ...sourceRoutes, ...callRoutes];

/** @returns the body, which is JSON @throws AnnexError ANSWER_INVALID */
async function json(type: string, { status, body }: IntegrationAnswer): Promise<Buffer> {
  if (status !== 200) throw invalidAnswer(type, `has the status ${status}${reasonIn(body)}`);
  const form = await jsonForm(body);
  if (form === 'tooDeep') throw invalidAnswer(type, 'is nested too deep');
  if (form === 'broken') throw invalidAnswer(type, 'is not JSON');
  return body;
}

const REASON_CHARS_MAX = 1_000;
/** A longer body is not parsed. */
const REASON_BYTES_MAX = 16 * 1024;

/** The message of an `ExposableError`, which the author lets callers see. */
function reasonIn(body: Buffer): string {
  if (body.byteLength > REASON_BYTES_MAX) return '';
  try {
    const { error } = JSON.parse(body.toString('utf8')) as { readonly error?: unknown };
    return typeof error === 'string' ? `: ${error.slice(0, REASON_CHARS_MAX)}` : '';
  } catch {
    return '';
  }
}

/** An event for the code, as JSON. */
interface CodeEvent {
  readonly eventId: string;
  readonly type: string;
  readonly [member: string]: unknown;
}

/** @throws AnnexError REQUEST_TOO_LARGE */
function requireFitting(event: CodeEvent, { limits: { envelopePartBytes: max } }: Target): void {
  const used = Buffer.byteLength(JSON.stringify(event));
  if (used > max) throw limitError('REQUEST_TOO_LARGE', { name: 'envelopePartBytes', max, used });
}

interface IntegrationAnswer {
  readonly status: number;
  readonly headers: readonly [string, string][];
  readonly body: Buffer;
}

/**
 * One call of an integration, and its whole answer. @throws AnnexError CALL_TOO_DEEP,
 * ANSWER_INVALID, or the outcome of a call without an answer
 */
async function answerOf(
  { dispatch, limits }: Control,
  reply: FastifyReply,
  target: Target,
  { event, bytesMax }: { readonly event: CodeEvent; readonly bytesMax: number },
): Promise<IntegrationAnswer> {
  const caller = nestedCaller(reply, limits);
  const envelope = { event: Buffer.from(JSON.stringify(event)), environment: target.environmentJson };
  const result = await dispatch.call(target, envelope, reply.request.id, caller);
  if (result.response === undefined) throw result.refusal ?? outcomeError(result.outcome, result);
  const { status, headers, body } = result.response;
  const bytes = await boundedBody(body, bytesMax).catch(() => {
    throw caller.left ? outcomeError('canceled') : invalidAnswer(event.type, 'broke off');
  });
  if (bytes === undefined) throw invalidAnswer(event.type, `has more than ${bytesMax / 1024} KiB`);
  return { status, headers, body: bytes };
}

/** @param what the fault, as a predicate */
const invalidAnswer = (type: string, what: string): AnnexError =>
  new AnnexError('ANSWER_INVALID', `The answer of the integration to \`${type}\` ${what}.`);
