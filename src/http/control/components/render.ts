/**
 * `…/render`: what a component of an installation draws, for the host product to show (REFERENCE 5,
 * D9).
 *
 * Nothing of a drawing is kept here; one that its component lets be cached, whoever asks by GET may
 * keep.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { AnnexError } from '../../../errors.ts';
import type { Limits } from '../../../limits.ts';
import { isObject, type JsonObject } from '../../../model/contentkit/contentkit-values-check.ts';
import { LEVELS, type TargetName } from '../../../model/installation.ts';
import { mayReadInstallation } from '../../../model/principal.ts';
import type { Target } from '../../../model/target.ts';
import { unknownTarget } from '../../../model/unknown.ts';
import type { Registry } from '../../../store/integrations/registry.ts';
import { principalOf } from '../authenticate.ts';
import { contentTag, IfNoneMatch, isKnownTag } from '../entity-tag.ts';
import { TARGET_NOUNS, TARGET_PARAMS, TARGET_PATHS, targetNameOf } from '../installations/target-paths.ts';
import { nestedCaller } from '../nested-call.ts';
import { ERRORS_VIEW } from '../schemas.ts';
import type { TypedApp } from '../typed-routes.ts';
import type { Renderer, Wanted } from './renderer.ts';

/** The `id` of a block, where it is one. */
export const ComponentId = Type.String({ minLength: 1, maxLength: 256 });
export const anyObject = (description: string) =>
  Type.Unsafe<JsonObject>(Type.Object({}, { description, additionalProperties: Type.Unknown() }));

/** Members of a body: where it is shown, and to whom. */
export const SHOWN_TO = {
  context: Type.Optional(anyObject('Where it is shown.')),
  auth: Type.Optional(
    Type.Object(
      { userId: Type.String({ minLength: 1, maxLength: 256 }) },
      { description: 'The user of the host product who looks.', additionalProperties: false },
    ),
  ),
};

const RenderBody = Type.Object(
  {
    componentId: ComponentId,
    props: Type.Optional(anyObject('Of a configuration component, the service puts them in itself.')),
    state: Type.Optional(anyObject('As the last answer had it; absent at first.')),
    action: Type.Optional(
      Type.Unsafe<JsonObject>(
        Type.Object(
          { action: Type.String({ minLength: 1 }) },
          { description: 'What the user did, bindings resolved.', additionalProperties: Type.Unknown() },
        ),
      ),
    ),
    ...SHOWN_TO,
  },
  { additionalProperties: false },
);

const JsonText = (description: string) =>
  Type.Optional(Type.String({ description: `${description} As JSON.` }));
const RenderQuery = Type.Object(
  { componentId: ComponentId, props: JsonText('Its props.'), context: JsonText('Where it is shown.') },
  { additionalProperties: false },
);

/** Members of an answer that is a drawing. */
export const DRAWN = {
  type: Type.Literal('element'),
  state: anyObject('To be sent along with the next action.'),
  props: anyObject('Those of the next drawing.'),
  element: anyObject('What to show: ContentKit, as `/v1/contentkit.schema.json` describes it.'),
};

/** Written by hand, as text: to the framework's own writer it would be another schema to go by. */
const RenderView = Type.Unsafe<string>(
  Type.Union([
    Type.Object(DRAWN),
    Type.Object({ type: Type.Literal('complete'), returnValue: Type.Optional(Type.Unknown()) }),
  ]),
);

export interface RenderRouteParts {
  readonly renderer: Pick<Renderer, 'draw'>;
  readonly registry: Pick<Registry, 'targetNamed'>;
  readonly limits: Limits;
}

export function renderRoutes(app: TypedApp, parts: RenderRouteParts): void {
  const { renderer } = parts;
  /** Says in `reply` how long the drawing may be kept. @returns it as JSON text */
  const draw = async (request: RenderRequest, reply: FastifyReply, name: TargetName, wanted: Wanted) => {
    const target = await visibleTarget(parts.registry, request, name);
    const caller = nestedCaller(request, reply, parts.limits);
    const { rendering, maxAge } = await renderer.draw(target, wanted, { requestId: request.id, caller });
    if (maxAge !== undefined) reply.header('cache-control', `max-age=${maxAge}`);
    return JSON.stringify(rendering);
  };
  for (const level of LEVELS) {
    const url = `${TARGET_PATHS[level]}/render`;
    app.post(
      url,
      {
        bodyLimit: parts.limits.envelopePartBytes,
        schema: {
          summary: `Draw a component of ${TARGET_NOUNS[level]}, after an action where there is one`,
          params: TARGET_PARAMS[level],
          body: RenderBody,
          response: { 200: RenderView, ...ERRORS_VIEW },
        },
      },
      async (request, reply) => {
        const name = targetNameOf(level, request.params);
        const text = await draw(request, reply, name, request.body);
        return reply.type('application/json; charset=utf-8').send(text);
      },
    );
    app.get(
      url,
      {
        schema: {
          summary: `Draw a component of ${TARGET_NOUNS[level]} as it is at first`,
          description: 'Answers with an `ETag`, and may be kept for as long as the component says.',
          params: TARGET_PARAMS[level],
          querystring: RenderQuery,
          headers: IfNoneMatch,
          response: { 200: RenderView, 304: Type.Null(), ...ERRORS_VIEW },
        },
      },
      async (request, reply) => {
        const { componentId, props, context } = request.query;
        const wanted: Wanted = {
          componentId,
          ...(props !== undefined && { props: objectOf('props', props) }),
          ...(context !== undefined && { context: objectOf('context', context) }),
        };
        const text = await draw(request, reply, targetNameOf(level, request.params), wanted);
        const tag = contentTag(text);
        // What one token is shown is no answer to another.
        reply.header('etag', tag).header('vary', 'authorization');
        if (isKnownTag(request, tag)) return reply.code(304).send(null);
        return reply.type('application/json; charset=utf-8').send(text);
      },
    );
  }
}

/** @throws `REQUEST_INVALID` */
function objectOf(parameter: string, text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value;
  } catch {}
  throw new AnnexError('REQUEST_INVALID', `query.${parameter} must be a JSON object.`);
}

type RenderRequest = FastifyRequest<{ Params: { name: string } }>;

/** @throws `INSTALLATION_UNKNOWN`, `ENDPOINT_PAUSED` */
async function visibleTarget(
  registry: RenderRouteParts['registry'],
  request: RenderRequest,
  name: TargetName,
): Promise<Target> {
  const target = await registry.targetNamed(name);
  const isThere =
    target?.integration === request.params.name && mayReadInstallation(principalOf(request), target);
  if (target === undefined || !isThere) throw unknownTarget(name);
  if (target.status !== 'paused') return target;
  throw new AnnexError('ENDPOINT_PAUSED', 'The installation is paused, and with it what it draws.');
}
