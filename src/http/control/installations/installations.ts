/**
 * `/v1/integrations/{name}/installations`: install into organizations, and list; and the lists of
 * spaces and sites of all installations, `…/spaces` and `…/sites`. An organization
 * sees only its own installation, also of integrations that it owns. Code of an integration sees
 * that integration's installations, or only the one that it runs for.
 */
import type { FastifyRequest } from 'fastify';
import Type, { type Static } from 'typebox';
import type { Page, PageRequest } from '../../../database/page.ts';
import { AnnexError } from '../../../errors.ts';
import { LEVELS, type Level } from '../../../model/level.ts';
import { isRuntime, mayInstallFor, maySee, type Principal } from '../../../model/principal.ts';
import { unknownIntegration } from '../../../model/unknown-name-errors.ts';
import { PLACE_KEY } from '../../../store/installations/place-rows.ts';
import type { Installation } from '../../../store/installations/target-rows.ts';
import { actorOf, FOR_RUNTIME, holderOf, principalOf } from '../authenticate.ts';
import { tagReply } from '../entity-tag.ts';
import { meantBy } from '../integrations/built-in-names.ts';
import { ERRORS_VIEW, longPageRequest, Name, NoQuery, PageOf } from '../schemas.ts';
import type { TypedApp } from '../typed-routes.ts';
import { countedInstall } from './counted-edit.ts';
import { placesRoutes } from './installation-places.ts';
import {
  countingLimits,
  type InstallationsRouteParts,
  targetRoutes,
  targetsPage,
  wholeView,
} from './installation-target.ts';
import { InstallationsQuery, InstallBody, VIEWS } from './installation-view.ts';
import { INSTALLATIONS } from './target-paths.ts';

const PARAMS = Type.Object({ name: Name });

export function installationsRoutes(app: TypedApp, parts: InstallationsRouteParts): void {
  installRoute(app, parts);
  listRoute(app, parts);
  for (const level of LEVELS) targetRoutes(app, parts, level);
  for (const level of ['space', 'site'] as const) {
    placesListRoute(app, parts, level);
    placesRoutes(app, parts, level);
  }
}

function installRoute(app: TypedApp, parts: InstallationsRouteParts): void {
  app.post(
    INSTALLATIONS,
    {
      onRequest: countedInstall(parts),
      schema: {
        summary: 'Install into an organization',
        params: PARAMS,
        querystring: NoQuery,
        body: InstallBody,
        response: { 201: VIEWS.organization, ...ERRORS_VIEW },
      },
    },
    async (request, reply) => {
      const principal = holderOf(request);
      const name = await meantBy(parts.registry, request.params.name, request.body.organization);
      const { space_selection: spaceSelection, site_selection: siteSelection, ...body } = request.body;
      const { organization, externalIds = [], installToken } = body;
      if (!mayInstallFor(principal, organization)) {
        throw new AnnexError(
          'TOKEN_FORBIDDEN',
          `This token may not install for organization "${organization}".`,
        );
      }
      const integration = await parts.registry.integration(name);
      const isSeen = integration !== undefined && maySee(principal, integration);
      const asked = {
        integration: name,
        organization,
        externalIds,
        installToken,
        spaceSelection,
        siteSelection,
      };
      const change = parts.installations.install(asked, actorOf(request)).catch((cause: unknown) => {
        // With a wrong link, an integration that the caller may not see is answered as unknown.
        const isRefused = cause instanceof AnnexError && cause.code === 'INSTALLATION_FORBIDDEN';
        throw isRefused && !isSeen ? unknownIntegration(name) : cause;
      });
      const installation = await countingLimits(parts, change);
      const whole = await wholeView(parts, request, installation);
      return tagReply(reply, installation, whole.problems).code(201).send(whole);
    },
  );
}

function listRoute(app: TypedApp, parts: InstallationsRouteParts): void {
  app.get(
    INSTALLATIONS,
    {
      config: FOR_RUNTIME,
      schema: {
        summary: 'List installations',
        params: PARAMS,
        querystring: InstallationsQuery,
        response: { 200: PageOf(VIEWS.organization), ...ERRORS_VIEW },
      },
    },
    async (request) =>
      visibleList(parts, request, ({ externalId, name: integration, principal, ...part }) =>
        parts.installations.list({ ...part, ...visibleTo(principal), integration, externalId }),
      ),
  );
}

/** The spaces, or sites, of all installations that the token may see. */
function placesListRoute(
  app: TypedApp,
  parts: InstallationsRouteParts,
  level: Exclude<Level, 'organization'>,
): void {
  app.get(
    `/integrations/:name/${level}s`,
    {
      config: FOR_RUNTIME,
      schema: {
        summary: `List the ${level}s of all installations`,
        description: 'By installation, then by id.',
        params: PARAMS,
        querystring: InstallationsQuery,
        response: { 200: PageOf(VIEWS[level]), ...ERRORS_VIEW },
      },
    },
    async (request) =>
      visibleList(
        parts,
        request,
        ({ externalId, name: integration, principal, ...part }) =>
          parts.installations.listPlaces({
            ...part,
            ...visibleTo(principal),
            ...ownPlace(principal, level),
            integration,
            level,
            externalId,
          }),
        PLACE_KEY,
      ),
  );
}

/** What a list of targets of an integration is read by. */
interface ListOf extends PageRequest {
  readonly name: string;
  readonly principal: Principal;
  readonly externalId: string | undefined;
}

/** @throws AnnexError INTEGRATION_UNKNOWN */
async function visibleList(
  parts: InstallationsRouteParts,
  request: ListRequest,
  read: (list: ListOf) => Promise<Page<Installation>>,
  shape?: RegExp,
) {
  const principal = principalOf(request);
  const { name } = request.params;
  const { externalId } = request.query;
  const integration = await parts.registry.integration(name);
  const isSeen = integration !== undefined && maySee(principal, integration);
  // Existing installations stay visible to their organization. Code of an integration sees only
  // its own.
  if (integration === undefined || (isRuntime(principal) && !isSeen)) throw unknownIntegration(name);
  const answer = await targetsPage(parts, request, longPageRequest(request.query, shape), (part) =>
    read({ ...part, name, principal, externalId }),
  );
  if (answer.items.length === 0 && !isSeen) throw unknownIntegration(name);
  return answer;
}

type ListRequest = FastifyRequest<{
  Params: Static<typeof PARAMS>;
  Querystring: Static<typeof InstallationsQuery>;
}>;

/** The part of a list that a principal may see. */
function visibleTo(principal: Principal): { organization?: string; installationId?: string } {
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
