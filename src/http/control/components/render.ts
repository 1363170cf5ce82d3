/**
 * `…/render`: draws a component of an installation for the host product
 * (docs/contract/components.md#rendering).
 *
 * No drawing is stored here; a client may cache one that it got by GET, if its component allows it.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { AnnexError } from '../../../errors.ts';
import type { Limits } from '../../../limits.ts';
import { CHOICES_URL_CHARS_MAX } from '../../../model/contentkit/choice-page.ts';
import { isObject, type JsonObject } from '../../../model/contentkit/contentkit-values-check.ts';
import type { TargetName } from '../../../model/installation.ts';
import { LEVELS } from '../../../model/level.ts';
import { mayReadInstallation } from '../../../model/principal.ts';
import type { Target } from '../../../model/target.ts';
import { unknownTarget } from '../../../model/unknown-name-errors.ts';
import type { TargetResolver } from '../../../targets/target-resolver.ts';
import { principalOf } from '../authenticate.ts';
import { contentTag, IfNoneMatch, isKnownTag } from '../entity-tag.ts';
import { TARGET_NOUNS, TARGET_PARAMS, TARGET_PATHS, targetNameOf } from '../installations/target-paths.ts';
import { nestedCaller } from '../nested-call.ts';
import { BOUND_BY_CALLS } from '../order-rate.ts';
import { ERRORS_VIEW } from '../schemas.ts';
import type { TypedApp } from '../typed-routes.ts';
import type { ChoiceFetch } from './choice-fetch.ts';
import type { Renderer, RenderInput } from './renderer.ts';

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
export const RENDER_BODY = {
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
const RenderBody = Type.Object(RENDER_BODY, { title: 'Render', additionalProperties: false });

const JsonText = (description: string) =>
  Type.Optional(Type.String({ description: `${description} As JSON.` }));
/** Members of a query, the same. */
export const RENDER_QUERY = {
  componentId: ComponentId,
  props: JsonText('Its props.'),
  context: JsonText('Where it is shown.'),
};
const RenderQuery = Type.Object(RENDER_QUERY, { title: 'RenderQuery', additionalProperties: false });

/** Members of an answer with a drawing. */
export const DRAWN = {
  type: Type.Literal('element'),
  state: anyObject('State to send with the next action.'),
  props: anyObject('Props to send with the next action.'),
  element: anyObject('ContentKit to show, as `/v1/contentkit.schema.json` describes it.'),
  canAccessVisitorClaims: Type.Optional(
    Type.Boolean({
      description:
        'Whether its frames may get the claims of the visitor: by the scope `site:visitor:claims`, unless the code declines.',
    }),
  ),
};

const Choice = Type.Object({
  id: Type.String(),
  label: Type.String(),
  icon: Type.Optional(Type.String()),
});

/** Serialized here: the framework's serializer would filter it by another schema. */
export const RenderView = Type.Unsafe<string>(
  Type.Union(
    [
      Type.Object(DRAWN),
      Type.Object({ type: Type.Literal('complete'), returnValue: Type.Optional(Type.Unknown()) }),
      Type.Object({
        type: Type.Literal('choices'),
        choices: Type.Object({
          items: Type.Array(Choice),
          selected: Type.Optional(Type.Array(Choice, { description: 'Those that are chosen.' })),
          next: Type.Optional(Type.String({ description: 'Mark of the next page.' })),
          nextPage: Type.Optional(Type.String({ description: 'URL of the next page, in place of a mark.' })),
        }),
      }),
    ],
    { title: 'Rendering' },
  ),
);

export interface RenderRouteParts {
  readonly renderer: Pick<Renderer, 'draw'>;
  readonly choices: Pick<ChoiceFetch, 'page'>;
  readonly targets: Pick<TargetResolver, 'named'>;
  readonly limits: Limits;
}

export function renderRoutes(app: TypedApp, parts: RenderRouteParts): void {
  for (const level of LEVELS) {
    const url = `${TARGET_PATHS[level]}/render`;
    app.post(
      url,
      {
        config: BOUND_BY_CALLS,
        bodyLimit: parts.limits.envelopePartBytes,
        schema: {
          summary: `Draw a component of ${TARGET_NOUNS[level]}, after an action if one is sent`,
          params: TARGET_PARAMS[level],
          body: RenderBody,
          response: { 200: RenderView, ...ERRORS_VIEW },
        },
      },
      async (request, reply) => {
        const target = await visibleTarget(parts.targets, request, targetNameOf(level, request.params));
        return drawAfterAction(parts, { request, reply, target }, request.body);
      },
    );
    app.get(
      url,
      {
        schema: {
          summary: `Draw a component of ${TARGET_NOUNS[level]} in its initial state`,
          description: 'Answers with an `ETag`. Clients may cache it for as long as the component allows.',
          params: TARGET_PARAMS[level],
          querystring: RenderQuery,
          headers: IfNoneMatch,
          response: { 200: RenderView, 304: Type.Null(), ...ERRORS_VIEW },
        },
      },
      async (request, reply) => {
        const target = await visibleTarget(parts.targets, request, targetNameOf(level, request.params));
        return drawInitial(parts, { request, reply, target }, request.query);
      },
    );
  }
}

/** A request for a drawing, and the target that it is of. */
export interface DrawingRequest {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly target: Target;
}

/** Sets `cache-control` of the reply. @returns the drawing as JSON text */
async function draw(
  { renderer, limits }: RenderRouteParts,
  { request, reply, target }: DrawingRequest,
  input: RenderInput,
): Promise<string> {
  const caller = nestedCaller(request, reply, limits);
  const { rendering, maxAge } = await renderer.draw(target, input, { requestId: request.id, caller });
  if (maxAge !== undefined) reply.header('cache-control', `max-age=${maxAge}`);
  return JSON.stringify(rendering);
}

const JSON_TYPE = 'application/json; charset=utf-8';

/** Sends the drawing, or the choices, that a body asks for. */
export async function drawAfterAction(
  parts: RenderRouteParts,
  asked: DrawingRequest,
  { choices, ...input }: RenderInput & { readonly choices?: { readonly url: string } },
): Promise<FastifyReply> {
  if (choices !== undefined) {
    const { request, reply, target } = asked;
    const by = { requestId: request.id, caller: nestedCaller(request, reply, parts.limits) };
    const page = { type: 'choices', choices: await parts.choices.page(target, choices.url, by) };
    return reply.type(JSON_TYPE).send(JSON.stringify(page));
  }
  return asked.reply.type(JSON_TYPE).send(await draw(parts, asked, input));
}

/** Sends a drawing that a query asks for, with its tag. */
export async function drawInitial(
  parts: RenderRouteParts,
  asked: DrawingRequest,
  { componentId, props, context }: { componentId: string; props?: string; context?: string },
): Promise<FastifyReply> {
  const { request, reply } = asked;
  const input: RenderInput = {
    componentId,
    ...(props !== undefined && { props: objectOf('props', props) }),
    ...(context !== undefined && { context: objectOf('context', context) }),
  };
  const text = await draw(parts, asked, input);
  const tag = contentTag(text);
  // Different tokens may get different answers.
  reply.header('etag', tag).header('vary', 'authorization');
  if (isKnownTag(request, tag)) return reply.code(304).send(null);
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

/** @throws `INSTALLATION_UNKNOWN`, `ENDPOINT_PAUSED` */
export async function visibleTarget(
  targets: RenderRouteParts['targets'],
  request: FastifyRequest,
  name: TargetName,
): Promise<Target> {
  const { name: integration } = request.params as { readonly name: string };
  const target = await targets.named(name);
  const isThere =
    target?.integration === integration &&
    mayReadInstallation(principalOf(request), {
      ...name,
      integration: target.integration,
      organization: target.organization,
    });
  if (target === undefined || !isThere) throw unknownTarget(name);
  if (target.status !== 'paused') return target;
  throw new AnnexError(
    'ENDPOINT_PAUSED',
    'The installation is paused: its components cannot be drawn until it is resumed.',
  );
}
