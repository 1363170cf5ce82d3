/**
 * `…/render`: draws a component of an installation for the host product
 * (docs/contract/components.md#rendering). No drawing is stored here; a client may cache one that
 * it got by GET, if its component allows it.
 *
 * `/v1/integrations/{name}/render` draws where the request or its token says, for clients that know
 * the integration's name and have a runtime token: an installation token stands for its target, and
 * an integration token for the integration as a whole, unless the request names an installation.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { AnnexError } from '../../../errors.ts';
import { CHOICES_URL_CHARS_MAX } from '../../../model/contentkit/choice-page.ts';
import { isObject, type JsonObject } from '../../../model/contentkit/contentkit-values-check.ts';
import { configurationAt, type TargetName, wholeInstallation } from '../../../model/installation.ts';
import { LEVELS, type Level } from '../../../model/level.ts';
import type { Target } from '../../../model/target.ts';
import { unknownIntegration } from '../../../model/unknown-name-errors.ts';
import { nestedCaller } from '../client-caller.ts';
import { principalOf, wrongKind } from './authenticate.ts';
import type { Control } from './control.ts';
import type { RenderInput } from './drawing/renderer.ts';
import { contentTag, IfNoneMatch, isKnownTag } from './entity-tag.ts';
import {
  callableTarget,
  TARGET_NOUNS,
  TARGET_PARAMS,
  TARGET_PATHS,
  TARGET_TAGS,
  targetNameOf,
} from './installations/targets.ts';
import { route } from './route.ts';
import { closed, Name, optional, Place } from './schemas.ts';

/** The `id` of a component, or of a block. */
export const ComponentId = Type.String({ minLength: 1, maxLength: 256 });
export const anyObject = (description: string) =>
  Type.Unsafe<JsonObject>(Type.Object({}, { description, additionalProperties: Type.Unknown() }));

/** Members of a body: where the component is shown, and to which user. */
export const SHOWN_TO = {
  context: Type.Optional(anyObject('Where it is shown.')),
  auth: Type.Optional(
    Type.Object(
      { userId: Type.String({ minLength: 1, maxLength: 256 }) },
      { description: 'The user of the host product to whom it is shown.', additionalProperties: false },
    ),
  ),
};

/** Members of a body: the component, and its input. */
const RENDER_BODY = {
  componentId: ComponentId,
  props: Type.Optional(anyObject('The service sets those of a configuration component itself.')),
  state: Type.Optional(anyObject('State of the last answer; absent in the first request.')),
  action: Type.Optional(
    Type.Unsafe<JsonObject>(
      Type.Object(
        { action: Type.String({ minLength: 1 }) },
        {
          description: 'Action of the user, with bindings resolved.',
          additionalProperties: Type.Unknown(),
        },
      ),
    ),
  ),
  choices: Type.Optional(
    Type.Object(
      {
        url: Type.String({
          description: 'With search and page in its query.',
          maxLength: CHOICES_URL_CHARS_MAX,
        }),
      },
      {
        description: 'Reads a page of choices of a `select` from its URL, and draws nothing.',
        additionalProperties: false,
      },
    ),
  ),
  ...SHOWN_TO,
};
const RenderBody = closed('Render', RENDER_BODY);

const JsonText = (description: string) => optional(Type.String(), `${description} As JSON.`);
/** Members of a query, the same. */
const RENDER_QUERY = {
  componentId: ComponentId,
  props: JsonText('Its props.'),
  context: JsonText('Where it is shown.'),
};
const RenderQuery = closed('RenderQuery', RENDER_QUERY);

/** Members of an answer with a drawing. */
export const DRAWN = {
  type: Type.Literal('element'),
  state: anyObject('State to send with the next action.'),
  props: anyObject('Props to send with the next action.'),
  element: anyObject('ContentKit to show, as `/v1/contentkit.schema.json` describes it.'),
  canAccessVisitorClaims: optional(
    Type.Boolean(),
    'Whether its frames may get the claims of the visitor: by the scope `site:visitor:claims`, unless the code declines.',
  ),
};

const Choice = Type.Object({
  id: Type.String(),
  label: Type.String(),
  icon: Type.Optional(Type.String()),
});

/** Serialized here: the framework's serializer would filter it by another schema. */
const RenderView = Type.Unsafe<string>(
  Type.Union(
    [
      Type.Object(DRAWN),
      Type.Object({ type: Type.Literal('complete'), returnValue: Type.Optional(Type.Unknown()) }),
      Type.Object({
        type: Type.Literal('choices'),
        choices: Type.Object({
          items: Type.Array(Choice),
          selected: optional(Type.Array(Choice), 'Those that are chosen.'),
          next: optional(Type.String(), 'Mark of the next page.'),
          nextPage: optional(Type.String(), 'URL of the next page, in place of a mark.'),
        }),
      }),
    ],
    { title: 'Rendering' },
  ),
);

/** Members of a body or query: the target that draws. */
const DRAWN_AT = {
  installationId: Type.Optional(
    Type.Unsafe<string>({
      ...Name,
      description: 'The installation; by default the own target of the token.',
    }),
  ),
  spaceId: Type.Optional(Place),
  siteId: Type.Optional(Place),
};

const RenderAtBody = closed('RenderAt', { ...RENDER_BODY, ...DRAWN_AT });
const RenderAtQuery = closed('RenderAtQuery', { ...RENDER_QUERY, ...DRAWN_AT });

/** The same, as it was sent. */
interface DrawnAt {
  readonly installationId?: string | undefined;
  readonly spaceId?: string | undefined;
  readonly siteId?: string | undefined;
}

/** What the routes that draw after an action share. */
const AFTER_ACTION = {
  rate: 'calls',
  bodyBytesMax: ({ envelopePartBytes }: { readonly envelopePartBytes: number }) => envelopePartBytes,
  answer: RenderView,
} as const;
/** What the routes that draw an initial state share. */
const INITIAL = { headers: IfNoneMatch, answer: RenderView, answers: { 304: Type.Null() } };

const ofTarget = (level: Level) => [
  route({
    ...AFTER_ACTION,
    name: `${TARGET_TAGS[level]}.render`,
    at: `POST ${TARGET_PATHS[level]}/render`,
    right: 'render',
    summary: `Draw a component of ${TARGET_NOUNS[level]}, after an action if one is sent`,
    forUi: true,
    params: TARGET_PARAMS[level],
    body: RenderBody,
    async handle(request, control, reply) {
      await requireOwnSettings(control, request, level);
      const target = await drawableTarget(control, request, targetNameOf(request, level));
      return drawAfterAction(control, reply, target, request.body);
    },
  }),
  route({
    ...INITIAL,
    name: `${TARGET_TAGS[level]}.getRendering`,
    at: `GET ${TARGET_PATHS[level]}/render`,
    right: 'render',
    summary: `Draw a component of ${TARGET_NOUNS[level]} in its initial state`,
    description: 'Answers with an `ETag`. Clients may cache it for as long as the component allows.',
    params: TARGET_PARAMS[level],
    query: RenderQuery,
    async handle(request, control, reply) {
      const target = await drawableTarget(control, request, targetNameOf(request, level));
      return drawInitial(control, reply, target, request.query);
    },
  }),
];

/** What the routes of an integration share. */
const OF_INTEGRATION = {
  description:
    'At the target that is named. Otherwise at the own target of an installation token, and for an integration token at ' +
    'the integration itself, without an installation.',
  forRuntime: true,
  params: { name: Name },
};

const ofIntegration = [
  route({
    ...AFTER_ACTION,
    ...OF_INTEGRATION,
    name: 'integrations.render',
    at: 'POST /integrations/:name/render',
    right: 'render',
    summary: 'Draw a component of an integration, after an action if one is sent',
    body: RenderAtBody,
    async handle(request, control, reply) {
      const { installationId, spaceId, siteId, ...input } = request.body;
      const target = await drawnTarget(control, request, 'body', { installationId, spaceId, siteId });
      return drawAfterAction(control, reply, target, input);
    },
  }),
  route({
    ...INITIAL,
    ...OF_INTEGRATION,
    name: 'integrations.getRendering',
    at: 'GET /integrations/:name/render',
    right: 'render',
    summary: 'Draw a component of an integration in its initial state',
    query: RenderAtQuery,
    async handle(request, control, reply) {
      const { installationId, spaceId, siteId, ...input } = request.query;
      const target = await drawnTarget(control, request, 'query', { installationId, spaceId, siteId });
      return drawInitial(control, reply, target, input);
    },
  }),
];

export const RENDER_ROUTES = [...LEVELS.flatMap(ofTarget), ...ofIntegration];

const JSON_TYPE = 'application/json; charset=utf-8';

/** Sets `cache-control` of the reply. @returns the drawing as JSON text */
async function draw(
  { renderer, limits }: Control,
  reply: FastifyReply,
  target: Target,
  input: RenderInput,
): Promise<string> {
  const client = { requestId: reply.request.id, caller: nestedCaller(reply, limits) };
  const { rendering, maxAge } = await renderer.draw(target, input, client);
  if (maxAge !== undefined) reply.header('cache-control', `max-age=${maxAge}`);
  return JSON.stringify(rendering);
}

/** Sends the drawing, or the choices, that a body asks for. */
async function drawAfterAction(
  control: Control,
  reply: FastifyReply,
  target: Target,
  { choices, ...input }: RenderInput & { readonly choices?: { readonly url: string } },
): Promise<FastifyReply> {
  if (choices === undefined) return reply.type(JSON_TYPE).send(await draw(control, reply, target, input));
  const client = { requestId: reply.request.id, caller: nestedCaller(reply, control.limits) };
  const page = await control.choices.page(target, choices.url, client);
  return reply.type(JSON_TYPE).send(JSON.stringify({ type: 'choices', choices: page }));
}

/** Sends a drawing that a query asks for, with its tag. */
async function drawInitial(
  control: Control,
  reply: FastifyReply,
  target: Target,
  { componentId, props, context }: { componentId: string; props?: string; context?: string },
): Promise<FastifyReply> {
  const input: RenderInput = {
    componentId,
    ...(props !== undefined && { props: objectOf('props', props) }),
    ...(context !== undefined && { context: objectOf('context', context) }),
  };
  const text = await draw(control, reply, target, input);
  const tag = contentTag(text);
  // Different tokens may get different answers.
  reply.header('etag', tag).header('vary', 'authorization');
  if (isKnownTag(reply.request, tag)) return reply.code(304).send(null);
  return reply.type(JSON_TYPE).send(text);
}

/** @throws `REQUEST_INVALID` */
function objectOf(parameter: string, text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value;
  } catch {}
  throw new AnnexError('REQUEST_INVALID', `query.${parameter} must be a JSON object.`);
}

/** @throws AnnexError INSTALLATION_UNKNOWN, ENDPOINT_PAUSED */
const drawableTarget = (control: Control, request: FastifyRequest, name: TargetName): Promise<Target> =>
  callableTarget(control, request, name, { paused: 'its components cannot be drawn' });

/**
 * @throws AnnexError REQUEST_INVALID, INTEGRATION_UNKNOWN, INSTALLATION_UNKNOWN, ENDPOINT_PAUSED
 */
async function drawnTarget(
  control: Control,
  request: FastifyRequest<{ Params: { name: string } }>,
  part: 'body' | 'query',
  at: DrawnAt,
): Promise<Target> {
  const name = namedTarget(request, part, at);
  if (name !== undefined) return drawableTarget(control, request, name);
  const { name: integration } = request.params;
  const principal = principalOf(request);
  // Only code of the integration reaches this: others name an installation.
  const isOwn = principal.kind === 'integration' && principal.integration === integration;
  const target = isOwn ? await control.targets.ofIntegration(integration) : undefined;
  if (target === undefined) throw unknownIntegration(integration);
  return target;
}

/**
 * A page with a UI token draws the component of the settings, and no other. Attack: the page says
 * that it is shown to another user, or elsewhere; what the product's backend says, code believes.
 *
 * @throws AnnexError TOKEN_FORBIDDEN
 */
async function requireOwnSettings(
  { registry }: Control,
  request: FastifyRequest<{ Body: RenderInput }>,
  level: Level,
): Promise<void> {
  const principal = principalOf(request);
  if (principal.kind !== 'ui') return;
  const { componentId, auth, context } = request.body;
  const integration = await registry.integration(principal.integration);
  const version = integration && (await registry.version(integration.name, integration.activeVersion));
  const own = version && configurationAt(version.manifest, level)?.componentId;
  if (own === componentId && auth === undefined && context === undefined) return;
  const what = 'The token of a page draws the component of the settings, without `auth` and `context`';
  throw wrongKind(principal, what);
}

/** The target of a request, or of its token; undefined for the integration itself. */
function namedTarget(
  request: FastifyRequest,
  part: 'body' | 'query',
  { installationId: named, spaceId, siteId }: DrawnAt,
): TargetName | undefined {
  const principal = principalOf(request);
  const own = principal.kind === 'installation' ? principal.target : undefined;
  const installationId = named ?? own?.installationId;
  if (spaceId !== undefined && siteId !== undefined)
    throw new AnnexError('REQUEST_INVALID', `Send either ${part}.spaceId or ${part}.siteId.`);
  if (installationId === undefined) {
    if (principal.kind === 'integration' && spaceId === undefined && siteId === undefined) return undefined;
    const message = `${part}.installationId is missing: only the token of an installation stands for one.`;
    throw new AnnexError('REQUEST_INVALID', message);
  }
  if (spaceId !== undefined) return { installationId, level: 'space', place: spaceId };
  if (siteId !== undefined) return { installationId, level: 'site', place: siteId };
  return named === undefined && own !== undefined ? own : wholeInstallation(installationId);
}
