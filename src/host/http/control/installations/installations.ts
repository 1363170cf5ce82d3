/**
 * `/v1/integrations/{name}/installations`: install into organizations, spaces and sites, list,
 * read, edit, pause, resume and remove; and the lists of spaces and sites of all installations,
 * `…/spaces` and `…/sites`. `/v1/installations`: those of all integrations.
 *
 * An organization sees only its own installation, also of integrations that it owns. Code of an
 * integration sees that integration's installations, or only the one that it runs for. The routes
 * of one target are the same at each level (docs/contract/api.md#conditions): every answer with one
 * has its entity tag, and every change obeys `If-Match`.
 */

import type { FastifyReply, FastifyRequest } from 'fastify';
import Type, { type Static } from 'typebox';
import { AnnexError } from '../../../../errors.ts';
import type { ConfigurationProblem } from '../../../../model/configuration-check.ts';
import { targetUrls } from '../../../../model/endpoint-urls.ts';
import { LEVELS, type Level } from '../../../../model/level.ts';
import { PORTAL_VIEWS } from '../../../../model/portal.ts';
import {
  isRuntime,
  mayInstallFor,
  mayReadInstallation,
  maySee,
  maySeeCredentials,
  type Principal,
} from '../../../../model/principal.ts';
import { unknownIntegration } from '../../../../model/unknown-name-errors.ts';
import type { Page, PageRequest } from '../../../database/page.ts';
import type { OnCondition, OtherProperties } from '../../../store/installations/installation-edit.ts';
import { PLACE_KEY } from '../../../store/installations/place-rows.ts';
import type { Installation } from '../../../store/installations/target-rows.ts';
import { actorOf, holderOf, principalOf } from '../authenticate.ts';
import type { Control } from '../control.ts';
import { expectedRevision, IfMatch, IfNoneMatch, isKnown, tagReply } from '../entity-tag.ts';
import { meantBy } from '../integrations/built-in-names.ts';
import { longPage, longPageRequest, organizationRead, PageOf, pageAnswer } from '../lists.ts';
import { route } from '../route.ts';
import { Name, NoQuery } from '../schemas.ts';
import {
  EDIT_BODIES,
  type EditBody,
  EditQuery,
  editBytesMax,
  InstallationsQuery,
  InstallBody,
  installationView,
  PLACE_BODIES,
  type TargetView,
  VIEWS,
  type ViewDeps,
  WhereQuery,
} from './installation-view.ts';
import {
  countedEdit,
  countedInstall,
  INSTALLATION,
  INSTALLATION_PARAMS,
  INSTALLATIONS,
  requireEditable,
  TARGET_NOUNS,
  TARGET_PARAMS,
  TARGET_PATHS,
  TARGET_TAGS,
  visibleTarget,
} from './targets.ts';

const PLACES = ['space', 'site'] as const;
type PlaceLevel = (typeof PLACES)[number];

const ofAll = [
  route({
    name: 'installations.create',
    at: `POST ${INSTALLATIONS}`,
    right: 'install',
    forPortal: ['integrations'],
    summary: 'Install into an organization',
    rate: countedInstall,
    params: { name: Name },
    query: NoQuery,
    body: InstallBody,
    answer: VIEWS.organization,
    status: 201,
    async handle(request, control, reply) {
      const principal = holderOf(request);
      const { registry, installations } = control;
      const { space_selection: spaceSelection, site_selection: siteSelection, ...body } = request.body;
      const { organization, externalIds = [], installToken } = body;
      const name = await meantBy(registry, request.params.name, organization);
      if (!mayInstallFor(principal, organization))
        throw new AnnexError(
          'TOKEN_FORBIDDEN',
          `This token may not install for organization "${organization}".`,
        );
      const integration = await registry.integration(name);
      const isSeen = integration !== undefined && maySee(principal, integration);
      const selections = { spaceSelection, siteSelection };
      const asked = { integration: name, organization, externalIds, installToken, ...selections };
      const installed = await installations.install(asked, actorOf(request)).catch((cause: unknown) => {
        // With a wrong link, an integration that the caller may not see is answered as unknown.
        const isRefused = cause instanceof AnnexError && cause.code === 'INSTALLATION_FORBIDDEN';
        throw isRefused && !isSeen ? unknownIntegration(name) : cause;
      });
      return wholeView(control, reply, installed);
    },
  }),
  route({
    name: 'installations.list',
    at: `GET ${INSTALLATIONS}`,
    summary: 'List installations',
    forRuntime: true,
    params: { name: Name },
    query: InstallationsQuery,
    answer: PageOf(VIEWS.organization),
    handle: async (request, control) =>
      visibleList(control, request, (list) => control.installations.list(list)),
  }),
  route({
    name: 'installations.listWhere',
    at: 'GET /installations',
    forPortal: PORTAL_VIEWS,
    summary: 'List the installations of all integrations',
    description: 'By id. An organization sees its own.',
    query: WhereQuery,
    answer: PageOf(VIEWS.organization),
    async handle(request, control) {
      const { organization: asked, integration: named, status, externalId, ...query } = request.query;
      const holder = holderOf(request);
      const organization = organizationRead(holder, asked, 'installations');
      const integration = named && (await meantBy(control.registry, named, holder.organization));
      return targetsPage(control, request, longPageRequest(query), (part) =>
        control.installations.list({ ...part, integration, organization, status, externalId }),
      );
    },
  }),
];

const ofTarget = (level: Level) => [
  readRoute(level),
  editRoute(level),
  ...statusRoutes(level),
  removeRoute(level),
];

const readRoute = (level: Level) =>
  route({
    name: `${TARGET_TAGS[level]}.get`,
    at: `GET ${TARGET_PATHS[level]}`,
    forPortal: ['integrations', 'webhooks'],
    summary: `Read ${TARGET_NOUNS[level]}`,
    forRuntime: true,
    headers: IfNoneMatch,
    params: TARGET_PARAMS[level],
    query: NoQuery,
    answer: VIEWS[level],
    answers: { 304: Type.Null() },
    async handle(request, control, reply) {
      const target = await visibleTarget(control, request, level);
      const whole = await wholeView(control, reply, target);
      return isKnown(request, target, whole.problems) ? reply.code(304).send(null) : whole;
    },
  });

const editRoute = (level: Level) =>
  route({
    name: `${TARGET_TAGS[level]}.update`,
    at: `PATCH ${TARGET_PATHS[level]}`,
    right: 'install',
    summary: `Edit ${TARGET_NOUNS[level]}`,
    description:
      'Members that are left out stay as they are. If the resulting configuration is valid, a pending installation ' +
      'becomes active; otherwise `problems` lists what is missing. An edit that makes an active one invalid gets 422, ' +
      'unless a runtime token replaces the configuration: the installation becomes pending.',
    forRuntime: true,
    rate: countedEdit(level),
    headers: IfMatch,
    params: TARGET_PARAMS[level],
    query: EditQuery,
    body: EDIT_BODIES[level],
    bodyBytesMax: editBytesMax,
    answer: VIEWS[level],
    async handle(request, control, reply) {
      requireEditable(request, request.body);
      const target = await visibleTarget(control, request, level);
      const on = expected(request, target);
      const body: EditBody = request.body;
      const { space_selection: spaceSelection, site_selection: siteSelection, ...edit } = body;
      const others = otherProperties(request, target);
      const ifInvalid = isRuntime(principalOf(request)) && others !== 'stay' ? 'become pending' : 'refuse';
      const asked = { ...edit, others, ifInvalid, spaceSelection, siteSelection } as const;
      const edited = await control.installations.edit(target, asked, on, actorOf(request));
      return wholeView(control, reply, edited.installation, edited.problems);
    },
  });

const ACTIONS = {
  pause: ['Pause', 'Until it is resumed, it gets no events and its endpoint answers 503.'],
  resume: ['Resume', 'Makes it active, or pending if its configuration is not valid.'],
} as const;

const statusRoutes = (level: Level) =>
  (['pause', 'resume'] as const).map((action) =>
    route({
      name: `${TARGET_TAGS[level]}.${action}`,
      at: `POST ${TARGET_PATHS[level]}/${action}`,
      right: 'install',
      forPortal: ['integrations'],
      summary: `${ACTIONS[action][0]} ${TARGET_NOUNS[level]}`,
      description: ACTIONS[action][1],
      rate: countedEdit(level),
      headers: IfMatch,
      params: TARGET_PARAMS[level],
      query: NoQuery,
      answer: VIEWS[level],
      async handle(request, control, reply) {
        const target = await visibleTarget(control, request, level);
        const on = expected(request, target);
        const changed = await control.installations[action](target, actorOf(request), on);
        return wholeView(control, reply, changed);
      },
    }),
  );

const removeRoute = (level: Level) =>
  route({
    name: `${TARGET_TAGS[level]}.delete`,
    at: `DELETE ${TARGET_PATHS[level]}`,
    right: 'install',
    forPortal: ['integrations'],
    summary: `Uninstall: remove ${TARGET_NOUNS[level]} with all its data`,
    rate: countedEdit(level),
    headers: IfMatch,
    params: TARGET_PARAMS[level],
    query: NoQuery,
    async handle(request, control) {
      const target = await visibleTarget(control, request, level, 'toRemove');
      await control.installations.uninstall(target, actorOf(request), expected(request, target));
    },
  });

/** Spaces, or sites: of all installations that the token may see, and of one. */
const ofPlaces = (level: PlaceLevel) => [
  route({
    name: `integrations.list${level === 'space' ? 'Spaces' : 'Sites'}`,
    at: `GET /integrations/:name/${level}s`,
    summary: `List the ${level}s of all installations`,
    description: 'By installation, then by id.',
    forRuntime: true,
    params: { name: Name },
    query: InstallationsQuery,
    answer: PageOf(VIEWS[level]),
    async handle(request, control) {
      const place = ownPlace(principalOf(request), level);
      const read = (list: ListOf) => control.installations.listPlaces({ ...list, ...place, level });
      return visibleList(control, request, read, PLACE_KEY);
    },
  }),
  route({
    name: `${level}s.create`,
    at: `POST ${INSTALLATION}/${level}s`,
    right: 'install',
    forPortal: ['integrations'],
    summary: `Install into a ${level}`,
    rate: countedEdit('organization'),
    params: INSTALLATION_PARAMS,
    query: NoQuery,
    body: PLACE_BODIES[level],
    answer: VIEWS[level],
    status: 201,
    async handle(request, control, reply) {
      const { externalIds = [], ...where } = request.body;
      const place = 'space' in where ? where.space : where.site;
      const { installationId } = await visibleTarget(control, request, 'organization');
      const asked = { installationId, level, place, externalIds };
      const added = await control.installations.installBelow(asked, actorOf(request));
      return wholeView(control, reply, added);
    },
  }),
  route({
    name: `${level}s.list`,
    at: `GET ${INSTALLATION}/${level}s`,
    forPortal: ['integrations', 'webhooks'],
    summary: `List the ${level}s of an installation, by id`,
    forRuntime: true,
    params: INSTALLATION_PARAMS,
    query: InstallationsQuery,
    answer: PageOf(VIEWS[level]),
    async handle(request, control) {
      const { installationId } = await visibleTarget(control, request, 'organization');
      const { externalId } = request.query;
      return targetsPage(control, request, longPageRequest(request.query), (part) =>
        control.installations.listBelow({ ...part, installationId, level, externalId }),
      );
    },
  }),
];

export const INSTALLATION_ROUTES = [...ofAll, ...LEVELS.flatMap(ofTarget), ...PLACES.flatMap(ofPlaces)];

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

/** A target as it is read alone. */
type WholeView = Omit<TargetView, 'problems'> & { readonly problems?: readonly ConfigurationProblem[] };

/**
 * A target with the problems of its configuration, as far as the caller may see it. Adds its tag to
 * the reply.
 *
 * @param known the problems, if they were found before
 */
async function wholeView(
  control: Control,
  reply: FastifyReply,
  target: Installation,
  known?: readonly ConfigurationProblem[],
): Promise<WholeView> {
  const { request } = reply;
  const [view] = (await viewsOf(control, request, [target])).map((made) => made());
  if (view === undefined) throw new Error('a target has a view');
  const isRead = mayReadInstallation(principalOf(request), target);
  const problems = isRead ? (known ?? (await control.installations.problemsOf(target))) : [];
  const whole = problems.length > 0 ? { ...view, problems } : view;
  tagReply(reply, target, whole.problems);
  return whole;
}

/**
 * The views of targets in a list, as far as the caller may see them. Each is made when it is called
 * for, and throws if the credentials of its target cannot be opened.
 */
async function viewsOf(
  { origins, installations }: Control,
  request: FastifyRequest,
  targets: readonly Installation[],
  unwell: ReadonlyMap<string, ViewDeps['unwell']> = new Map(),
): Promise<(() => TargetView)[]> {
  const principal = principalOf(request);
  const whole = targets.filter(({ level }) => level === 'organization');
  const spaces = await installations.spaceCounts(whole.map(({ installationId }) => installationId));
  return Promise.all(
    targets.map(async (target) => {
      const isSeen = mayReadInstallation(principal, target) && maySeeCredentials(principal, target);
      const credentials =
        target.hasCredentials && isSeen ? await installations.credentialsOf(target) : () => undefined;
      return () =>
        installationView(target, {
          urls: targetUrls(origins, target),
          principal,
          spaces: spaces.get(target.installationId),
          credentials: credentials(),
          unwell: unwell.get(target.installationId),
        });
    }),
  );
}

/** A page of targets as it is answered. @param read reads a part of it */
async function targetsPage(
  control: Control,
  request: FastifyRequest,
  asked: PageRequest,
  read: (part: PageRequest) => Promise<Page<Installation>>,
): Promise<ReturnType<typeof pageAnswer<TargetView, TargetView>>> {
  const page = await longPage(asked, read);
  const ids = page.items.map(({ installationId }) => installationId);
  const unwell = Map.groupBy(
    await control.webhookHealths.unwellOf(ids),
    ({ installationId }) => installationId,
  );
  const views = await viewsOf(control, request, page.items, unwell);
  return pageAnswer({ ...page, items: views }, (view) => view());
}

/** What a list of targets of an integration is read by. */
interface ListOf extends PageRequest {
  readonly integration: string;
  readonly externalId: string | undefined;
  readonly organization?: string;
  readonly installationId?: string;
}

/** @throws AnnexError INTEGRATION_UNKNOWN */
async function visibleList(
  control: Control,
  request: FastifyRequest<{
    Params: { name: string };
    Querystring: Static<typeof InstallationsQuery>;
  }>,
  read: (list: ListOf) => Promise<Page<Installation>>,
  shape?: RegExp,
) {
  const principal = principalOf(request);
  const { name } = request.params;
  const { externalId } = request.query;
  const integration = await control.registry.integration(name);
  const isSeen = integration !== undefined && maySee(principal, integration);
  // Existing installations stay visible to their organization. Code of an integration sees only
  // its own.
  if (integration === undefined || (isRuntime(principal) && !isSeen)) throw unknownIntegration(name);
  const answer = await targetsPage(control, request, longPageRequest(request.query, shape), (part) =>
    read({ ...part, ...visibleTo(principal), integration: name, externalId }),
  );
  if (answer.items.length === 0 && !isSeen) throw unknownIntegration(name);
  return answer;
}

/** The part of a list that a principal may see. */
function visibleTo(principal: Principal): Pick<ListOf, 'organization' | 'installationId'> {
  if (principal.kind === 'installation') return { installationId: principal.installationId };
  if (principal.kind === 'organization') return { organization: principal.organization ?? '' };
  return {};
}

/** Code called for one space or site sees no other (`mayReadInstallation`). */
function ownPlace(principal: Principal, level: Level): { place?: string } {
  if (principal.kind !== 'installation' || principal.target.level === 'organization') return {};
  const { target } = principal;
  // No place has the empty id.
  return { place: target.level === level ? target.place : '' };
}
