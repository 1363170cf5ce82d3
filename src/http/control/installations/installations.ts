/**
 * `/v1/integrations/{name}/installations`: install into organizations, and list. An organization
 * sees only its own installation, also of integrations that it owns. Code of an integration sees
 * that integration's installations, or only the one that it runs for.
 */
import Type from 'typebox';
import { AnnexError } from '../../../errors.ts';
import { LEVELS } from '../../../model/level.ts';
import { isRuntime, mayInstallFor, maySee, type Principal } from '../../../model/principal.ts';
import { unknownIntegration } from '../../../model/unknown-name-errors.ts';
import { actorOf, FOR_RUNTIME, holderOf, principalOf } from '../authenticate.ts';
import { tagReply } from '../entity-tag.ts';
import { ERRORS_VIEW, Name, NoQuery, PageOf, pageAnswer, pageRequest } from '../schemas.ts';
import type { TypedApp } from '../typed-routes.ts';
import { countedInstall } from './counted-edit.ts';
import { placesRoutes } from './installation-places.ts';
import {
  countingLimits,
  type InstallationsRouteParts,
  targetRoutes,
  viewOf,
  wholeView,
} from './installation-target.ts';
import { InstallationsQuery, InstallBody, VIEWS } from './installation-view.ts';
import { INSTALLATIONS } from './target-paths.ts';

const PARAMS = Type.Object({ name: Name });

export function installationsRoutes(app: TypedApp, parts: InstallationsRouteParts): void {
  installRoute(app, parts);
  listRoute(app, parts);
  for (const level of LEVELS) targetRoutes(app, parts, level);
  for (const level of ['space', 'site'] as const) placesRoutes(app, parts, level);
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
      const { name } = request.params;
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
    async (request) => {
      const principal = principalOf(request);
      const { name } = request.params;
      const integration = await parts.registry.integration(name);
      const isSeen = integration !== undefined && maySee(principal, integration);
      // Existing installations stay visible to their organization. Code of an integration sees only
      // its own.
      if (integration === undefined || (isRuntime(principal) && !isSeen)) throw unknownIntegration(name);
      const page = await parts.installations.list({
        ...pageRequest(request.query),
        ...visibleTo(principal),
        integration: name,
        externalId: request.query.externalId,
      });
      if (page.items.length === 0 && !isSeen) throw unknownIntegration(name);
      return pageAnswer(page, (installation) => viewOf(parts, request, installation));
    },
  );
}

/** The part of a list that a principal may see. */
function visibleTo(principal: Principal): { organization?: string; installationId?: string } {
  if (principal.kind === 'installation') return { installationId: principal.installationId };
  if (principal.kind === 'organization') return { organization: principal.organization ?? '' };
  return {};
}
