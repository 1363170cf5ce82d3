/**
 * `…/visitor-authentication`: asks an integration to sign in, or out, a visitor of a site or a
 * space (docs/contract/published-scripts.md#visitor-authentication).
 *
 * The answer is described as JSON: a client that follows redirects would otherwise go where the
 * code sends the visitor. The host product sends it to the visitor's browser, or parts of it.
 */
import Type from 'typebox';
import type { Dispatch } from '../../../calls/dispatch.ts';
import type { Limits } from '../../../limits.ts';
import { HOP_BY_HOP } from '../../../model/hop-by-hop.ts';
import { eventIds } from '../../../model/target.ts';
import type { TargetResolver } from '../../../targets/target-resolver.ts';
import { TARGET_NOUNS, TARGET_PARAMS, TARGET_PATHS, targetNameOf } from '../installations/target-paths.ts';
import { BOUND_BY_CALLS } from '../order-rate.ts';
import { ERRORS_VIEW, NoQuery } from '../schemas.ts';
import type { TypedApp } from '../typed-routes.ts';
import { callableTarget } from './callable-target.ts';
import { type IntegrationAnswer, integrationAnswer } from './integration-answer.ts';

/** Largest request, and largest body of an answer. */
const BYTES_MAX = 256 * 1024;

/** Most values of one name. */
const VALUES_MAX = 1_000;

const texts = (description: string) =>
  Type.Record(
    Type.String(),
    Type.Union([Type.String(), Type.Array(Type.String(), { maxItems: VALUES_MAX })]),
    { description },
  );

const Visit = Type.Object(
  {
    location: Type.Optional(Type.String({ description: 'URL that the visitor asked for.' })),
    searchParams: Type.Optional(texts('Query of the request.')),
    cookies: Type.Optional(texts('Cookies of the visitor on the site.')),
    action: Type.Optional(Type.Literal('logout')),
  },
  { title: 'Visit', additionalProperties: false },
);

const VisitView = Type.Object(
  {
    status: Type.Integer(),
    headers: Type.Array(Type.Array(Type.String(), { minItems: 2, maxItems: 2 }), {
      description: 'Names and values in their order; a name can occur more than once.',
    }),
    body: Type.Optional(Type.String({ description: 'As UTF-8; absent if the answer has none.' })),
  },
  { title: 'AnsweredVisit' },
);

export interface VisitorAuthenticationRouteParts {
  readonly dispatch: Pick<Dispatch, 'call'>;
  readonly targets: Pick<TargetResolver, 'named'>;
  readonly limits: Limits;
}

export function visitorAuthenticationRoutes(app: TypedApp, parts: VisitorAuthenticationRouteParts): void {
  for (const level of ['space', 'site'] as const) {
    app.post(
      `${TARGET_PATHS[level]}/visitor-authentication`,
      {
        config: BOUND_BY_CALLS,
        bodyLimit: BYTES_MAX,
        schema: {
          summary: `Have ${TARGET_NOUNS[level]} sign in a visitor`,
          description:
            'Answers with what the integration answers, normally a redirect. It needs the scope `site:visitor:auth`.',
          params: TARGET_PARAMS[level],
          querystring: NoQuery,
          body: Visit,
          response: { 200: VisitView, ...ERRORS_VIEW },
        },
      },
      async (request, reply) => {
        const name = targetNameOf(level, request.params);
        const target = await callableTarget(parts.targets, request, name, 'site:visitor:auth');
        const { location = '', searchParams = {}, cookies = {}, action } = request.body;
        const event = {
          ...{ eventId: request.id, type: 'fetch_visitor_authentication', ...eventIds(target) },
          ...{ location, searchParams, cookies, action },
        };
        const call = { ...parts, bytesMax: BYTES_MAX };
        return visitView(await integrationAnswer(call, { request, reply }, target, event));
      },
    );
  }
}

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
