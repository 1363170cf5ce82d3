/**
 * One installation, or what of one is in a space or a site: read, edit, pause, resume and remove it. The same five routes
 * at each level (REFERENCE D9), written once.
 *
 * Every answer with one target carries its entity tag, and every change heeds `If-Match`.
 */
import type { FastifyRequest } from 'fastify';
import Type from 'typebox';
import { AnnexError } from '../../../errors.ts';
import type { LimitName, Limits } from '../../../limits.ts';
import type { ConfigurationProblem } from '../../../model/configuration-check.ts';
import type { Level } from '../../../model/installation.ts';
import { mayReadConfiguration } from '../../../model/principal.ts';
import type { OnCondition } from '../../../store/installations/installation-edit.ts';
import type { Installations } from '../../../store/installations/installations.ts';
import type { Installation } from '../../../store/installations/target-rows.ts';
import type { Registry } from '../../../store/integrations/registry.ts';
import { type Origins, publicEndpoint } from '../../../targets/target-resolver.ts';
import { actorOf, FOR_RUNTIME, principalOf } from '../authenticate.ts';
import { expectedRevision, IfMatch, IfNoneMatch, isKnown, tagReply } from '../entity-tag.ts';
import { ERRORS_VIEW, NoQuery } from '../schemas.ts';
import type { TypedApp } from '../typed-routes.ts';
import { countedEdit } from './counted-edit.ts';
import type { EditRate } from './edit-rate.ts';
import { requireEditable, visibleTarget } from './installation-rights.ts';
import { EDIT_BODIES, type EditBody, installationView, VIEWS } from './installation-view.ts';
import {
  TARGET_NOUNS,
  TARGET_PARAMS,
  TARGET_PATHS,
  type TargetParams,
  targetNameOf,
} from './target-paths.ts';

export interface InstallationsRouteParts {
  readonly registry: Pick<Registry, 'integration'>;
  readonly origins: Origins;
  readonly installations: Pick<
    Installations,
    | 'install'
    | 'installBelow'
    | 'read'
    | 'problemsOf'
    | 'list'
    | 'listBelow'
    | 'edit'
    | 'pause'
    | 'resume'
    | 'uninstall'
  >;
  /** How often each installation may be changed. */
  readonly edits: EditRate;
  readonly limits: Pick<Limits, 'configurationBytes'>;
  /** Told of limits that a change met. */
  limitMet(limit: LimitName): void;
}

/** Registers the routes of one target, at one level. */
export function targetRoutes(app: TypedApp, parts: InstallationsRouteParts, level: Level): void {
  readRoute(app, parts, level);
  editRoute(app, parts, level);
  statusRoute(app, parts, level, 'pause');
  statusRoute(app, parts, level, 'resume');
  removeRoute(app, parts, level);
}

function readRoute(app: TypedApp, parts: InstallationsRouteParts, level: Level): void {
  app.get(
    TARGET_PATHS[level],
    {
      config: FOR_RUNTIME,
      schema: {
        summary: `Read ${TARGET_NOUNS[level]}`,
        headers: IfNoneMatch,
        params: TARGET_PARAMS[level],
        querystring: NoQuery,
        response: { 200: VIEWS[level], 304: Type.Null(), ...ERRORS_VIEW },
      },
    },
    async (request, reply) => {
      const target = await targetOf(parts, request, level);
      const whole = await wholeView(parts, request, target);
      tagReply(reply, target, whole.problems);
      return isKnown(request, target, whole.problems) ? reply.code(304).send(null) : reply.send(whole);
    },
  );
}

/** What else an edit has: external ids, selections, the names of properties that it unsets. */
const EDIT_REST_BYTES = 32 * 1024;
/** Some clients send each letter beyond ASCII escaped, which is up to three times its UTF-8. */
const ESCAPED_TIMES = 3;

/** A configuration that is a little too large still gets an answer that says so. */
const editBytesMax = ({ configurationBytes }: Pick<Limits, 'configurationBytes'>): number =>
  (ESCAPED_TIMES + 1) * configurationBytes + EDIT_REST_BYTES;

function editRoute(app: TypedApp, parts: InstallationsRouteParts, level: Level): void {
  app.patch(
    TARGET_PATHS[level],
    {
      config: FOR_RUNTIME,
      onRequest: countedEdit(parts, level),
      bodyLimit: editBytesMax(parts.limits),
      schema: {
        summary: `Edit ${TARGET_NOUNS[level]}`,
        description:
          'Members that are left out stay as they are. The whole configuration that comes of it decides whether what is ' +
          'pending becomes active; `problems` says what is missing. What is active does not become invalid: 422.',
        headers: IfMatch,
        params: TARGET_PARAMS[level],
        querystring: NoQuery,
        body: EDIT_BODIES[level],
        response: { 200: VIEWS[level], ...ERRORS_VIEW },
      },
    },
    async (request, reply) => {
      requireEditable(request, request.body);
      const target = await targetOf(parts, request, level);
      const on = expected(request, target);
      const body: EditBody = request.body;
      const { space_selection: spaceSelection, site_selection: siteSelection, ...edit } = body;
      const asked = { ...edit, spaceSelection, siteSelection };
      const change = parts.installations.edit(target, asked, on, actorOf(request));
      const { installation, problems } = await countingLimits(parts, change);
      const whole = await wholeView(parts, request, installation, problems);
      return tagReply(reply, installation, whole.problems).send(whole);
    },
  );
}

function statusRoute(
  app: TypedApp,
  parts: InstallationsRouteParts,
  level: Level,
  action: 'pause' | 'resume',
): void {
  app.post(
    `${TARGET_PATHS[level]}/${action}`,
    {
      onRequest: countedEdit(parts, level),
      schema: {
        summary: `${action === 'pause' ? 'Pause' : 'Resume'} ${TARGET_NOUNS[level]}`,
        description:
          action === 'pause'
            ? 'No event reaches it, and its endpoint answers 503, until it is resumed.'
            : 'Makes it active again, or pending, as its configuration is valid.',
        headers: IfMatch,
        params: TARGET_PARAMS[level],
        querystring: NoQuery,
        response: { 200: VIEWS[level], ...ERRORS_VIEW },
      },
    },
    async (request, reply) => {
      const target = await targetOf(parts, request, level);
      const on = expected(request, target);
      const change = parts.installations[action](target, actorOf(request), on);
      const installation = await countingLimits(parts, change);
      const whole = await wholeView(parts, request, installation);
      return tagReply(reply, installation, whole.problems).send(whole);
    },
  );
}

function removeRoute(app: TypedApp, parts: InstallationsRouteParts, level: Level): void {
  app.delete(
    TARGET_PATHS[level],
    {
      onRequest: countedEdit(parts, level),
      schema: {
        summary: `Uninstall: remove ${TARGET_NOUNS[level]}, and all that belongs to it`,
        headers: IfMatch,
        params: TARGET_PARAMS[level],
        querystring: NoQuery,
        response: { 204: Type.Null(), ...ERRORS_VIEW },
      },
    },
    async (request, reply) => {
      const target = await targetOf(parts, request, level);
      const on = expected(request, target);
      await countingLimits(parts, parts.installations.uninstall(target, actorOf(request), on));
      return reply.code(204).send(null);
    },
  );
}

/**
 * What a change may be asked of. The endpoint's key belongs to it: a space that was removed and added again meanwhile counts
 * its revisions anew, and is another target.
 */
function expected(request: FastifyRequest, target: Installation): OnCondition {
  const ifRevision = expectedRevision(request, target);
  return ifRevision === undefined ? {} : { ifRevision, ifEndpointKey: target.endpointKey };
}

/** The target that a path names. @throws `INSTALLATION_UNKNOWN` */
function targetOf(
  { installations }: InstallationsRouteParts,
  request: FastifyRequest,
  level: Level,
): Promise<Installation> {
  const params = request.params as TargetParams;
  return visibleTarget(installations, request, params.name, targetNameOf(level, params));
}

/**
 * One target with what keeps its configuration from being valid, as far as whoever asks may see it.
 *
 * @param known its problems, for whoever has found them already
 */
export async function wholeView(
  parts: InstallationsRouteParts,
  request: FastifyRequest,
  target: Installation,
  known?: readonly ConfigurationProblem[],
): Promise<ReturnType<typeof viewOf> & { problems?: ConfigurationProblem[] }> {
  const view = viewOf(parts, request, target);
  if (!mayReadConfiguration(principalOf(request), target)) return view;
  const problems = known ?? (await parts.installations.problemsOf(target));
  return problems.length > 0 ? { ...view, problems: [...problems] } : view;
}

/** A target as whoever asks may see it, in a list. */
export const viewOf = ({ origins }: InstallationsRouteParts, request: FastifyRequest, target: Installation) =>
  installationView(target, publicEndpoint(origins, target.endpointKey), principalOf(request));

/** Tells of limits that a change meets. */
export async function countingLimits<Result>(
  { limitMet }: Pick<InstallationsRouteParts, 'limitMet'>,
  change: Promise<Result>,
): Promise<Result> {
  try {
    return await change;
  } catch (cause) {
    if (cause instanceof AnnexError && cause.limit) limitMet(cause.limit.name);
    throw cause;
  }
}
