/**
 * One target: read, edit, pause, resume and remove it. The same five routes at each level
 * (docs/contract/api.md#conditions).
 *
 * Every answer with one target has its entity tag, and every change obeys `If-Match`.
 */
import type { FastifyRequest } from 'fastify';
import Type, { type Static } from 'typebox';
import type { Page, PageRequest } from '../../../database/page.ts';
import { AnnexError } from '../../../errors.ts';
import type { LimitName, Limits } from '../../../limits.ts';
import type { ConfigurationProblem } from '../../../model/configuration-check.ts';
import { targetUrls } from '../../../model/endpoint-urls.ts';
import type { Level } from '../../../model/level.ts';
import { isRuntime, mayReadInstallation, maySeeCredentials } from '../../../model/principal.ts';
import type { OnCondition, OtherProperties } from '../../../store/installations/installation-edit.ts';
import type { Installations } from '../../../store/installations/installations.ts';
import type { Installation } from '../../../store/installations/target-rows.ts';
import type { Registry } from '../../../store/integrations/registry.ts';
import type { Origins } from '../../../targets/target-resolver.ts';
import { actorOf, FOR_RUNTIME, principalOf } from '../authenticate.ts';
import { expectedRevision, IfMatch, IfNoneMatch, isKnown, tagReply } from '../entity-tag.ts';
import { longPage } from '../list-forms.ts';
import { ERRORS_VIEW, NoQuery, pageAnswer } from '../schemas.ts';
import type { TypedApp } from '../typed-routes.ts';
import { countedEdit } from './counted-edit.ts';
import type { EditRate } from './edit-rate.ts';
import { requireEditable, visibleTarget } from './installation-rights.ts';
import {
  EDIT_BODIES,
  type EditBody,
  EditQuery,
  installationView,
  showsCredentials,
  type TargetView,
  VIEWS,
} from './installation-view.ts';
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
    | 'listPlaces'
    | 'spaceCounts'
    | 'credentialsOf'
    | 'edit'
    | 'pause'
    | 'resume'
    | 'uninstall'
  >;
  /** Rate of changes for each installation. */
  readonly edits: EditRate;
  readonly limits: Pick<Limits, 'configurationBytes'>;
  /** Called with each limit that a change met. */
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

/** Room for the rest of an edit: external ids, selections, names of properties to unset. */
const EDIT_REST_BYTES = 32 * 1024;
/** Some clients escape all characters beyond ASCII, which takes up to three times their UTF-8. */
const ESCAPED_TIMES = 3;

/** A configuration slightly over its limit still gets an answer that says so. */
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
          'Members that are left out stay as they are. If the resulting configuration is valid, a pending installation ' +
          'becomes active; otherwise `problems` lists what is missing. An edit that makes an active one invalid gets 422, ' +
          'unless a runtime token replaces the configuration: the installation becomes pending.',
        headers: IfMatch,
        params: TARGET_PARAMS[level],
        querystring: EditQuery,
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
      const others = otherProperties(request, target);
      const ifInvalid = isRuntime(principalOf(request)) && others !== 'stay' ? 'become pending' : 'refuse';
      const asked = { ...edit, others, ifInvalid, spaceSelection, siteSelection } as const;
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
            ? 'Until it is resumed, it gets no events and its endpoint answers 503.'
            : 'Makes it active, or pending if its configuration is not valid.',
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
        summary: `Uninstall: remove ${TARGET_NOUNS[level]} with all its data`,
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
 * What an edit does to properties that it does not name (docs/contract/configuration.md#edits).
 * Clients built for runtime tokens send the whole configuration, as the caller sees it.
 */
function otherProperties(
  request: FastifyRequest<{ Querystring: Static<typeof EditQuery> }>,
  target: Installation,
): OtherProperties {
  const principal = principalOf(request);
  const { configuration = isRuntime(principal) ? 'replace' : 'merge' } = request.query;
  if (configuration === 'merge') return 'stay';
  return maySeeCredentials(principal, target) ? 'remove' : 'remove but credentials';
}

/**
 * The condition of a change. It includes the endpoint's key: a space that was removed and added
 * again is another target, whose revisions start anew.
 */
function expected(request: FastifyRequest, target: Installation): OnCondition {
  const ifRevision = expectedRevision(request, target);
  return ifRevision === undefined ? {} : { ifRevision, ifEndpointKey: target.endpointKey };
}

/** The target that a path names. @throws AnnexError INSTALLATION_UNKNOWN */
function targetOf(
  { installations }: InstallationsRouteParts,
  request: FastifyRequest,
  level: Level,
): Promise<Installation> {
  const params = request.params as TargetParams;
  return visibleTarget(installations, request, params.name, targetNameOf(level, params));
}

/** A target as it is read alone. */
type WholeView = TargetView & { problems?: ConfigurationProblem[] };

/**
 * A target with the problems of its configuration, as far as the caller may see it.
 *
 * @param known the problems, if they were found before
 */
export async function wholeView(
  parts: InstallationsRouteParts,
  request: FastifyRequest,
  target: Installation,
  known?: readonly ConfigurationProblem[],
): Promise<WholeView> {
  const [view] = (await viewsOf(parts, request, [target])).map((made) => made());
  if (view === undefined) throw new Error('a target has a view');
  if (!mayReadInstallation(principalOf(request), target)) return view;
  const problems = known ?? (await parts.installations.problemsOf(target));
  return problems.length > 0 ? { ...view, problems: [...problems] } : view;
}

/**
 * The views of targets in a list, as far as the caller may see them. Each is made when it is called
 * for, and throws if the credentials of its target cannot be opened.
 */
async function viewsOf(
  { origins, installations }: InstallationsRouteParts,
  request: FastifyRequest,
  targets: readonly Installation[],
): Promise<(() => TargetView)[]> {
  const principal = principalOf(request);
  const whole = targets.filter(({ level }) => level === 'organization');
  const spaces = await installations.spaceCounts(whole.map(({ installationId }) => installationId));
  return Promise.all(
    targets.map(async (target) => {
      const credentials = showsCredentials(principal, target)
        ? await installations.credentialsOf(target)
        : () => undefined;
      return () =>
        installationView(target, {
          urls: targetUrls(origins, target),
          principal,
          spaces: spaces.get(target.installationId),
          credentials: credentials(),
        });
    }),
  );
}

/** A page of targets as it is answered. @param read reads a part of it */
export async function targetsPage(
  parts: InstallationsRouteParts,
  request: FastifyRequest,
  asked: PageRequest,
  read: (part: PageRequest) => Promise<Page<Installation>>,
): Promise<ReturnType<typeof pageAnswer<TargetView, TargetView>>> {
  const page = await longPage(asked, read);
  const views = await viewsOf(parts, request, page.items);
  return pageAnswer({ ...page, items: views }, (view) => view());
}

/** Reports the limits that a change meets. */
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
