/**
 * `/v1/integrations/{name}/installations/{id}/spaces` and `…/sites`: add an installation to a space
 * or site of its organization, and list its places. `installation-target.ts` has the routes of one
 * place.
 */
import Type from 'typebox';
import { wholeInstallation } from '../../../model/installation.ts';
import type { Level } from '../../../model/level.ts';
import { actorOf, FOR_RUNTIME } from '../authenticate.ts';
import { tagReply } from '../entity-tag.ts';
import { ERRORS_VIEW, longPageRequest, Name, NoQuery, PageOf } from '../schemas.ts';
import type { TypedApp } from '../typed-routes.ts';
import { countedEdit } from './counted-edit.ts';
import { visibleTarget } from './installation-rights.ts';
import {
  countingLimits,
  type InstallationsRouteParts,
  targetsPage,
  wholeView,
} from './installation-target.ts';
import { InstallationsQuery, PLACE_BODIES, VIEWS } from './installation-view.ts';
import { INSTALLATIONS } from './target-paths.ts';

const PARAMS = Type.Object({ name: Name, id: Name });

/** Registers the routes of a level below the organization. */
export function placesRoutes(
  app: TypedApp,
  parts: InstallationsRouteParts,
  level: Exclude<Level, 'organization'>,
): void {
  const { installations } = parts;
  const path = `${INSTALLATIONS}/:id/${level}s`;
  app.post(
    path,
    {
      onRequest: countedEdit(parts, 'organization'),
      schema: {
        summary: `Install into a ${level}`,
        params: PARAMS,
        querystring: NoQuery,
        body: PLACE_BODIES[level],
        response: { 201: VIEWS[level], ...ERRORS_VIEW },
      },
    },
    async (request, reply) => {
      const { name, id } = request.params;
      const { externalIds = [], ...where } = request.body;
      const place = 'space' in where ? where.space : where.site;
      const installation = await visibleTarget(installations, request, name, wholeInstallation(id));
      const { installationId } = installation;
      const change = installations.installBelow(
        { installationId, level, place, externalIds },
        actorOf(request),
      );
      const added = await countingLimits(parts, change);
      const whole = await wholeView(parts, request, added);
      return tagReply(reply, added, whole.problems).code(201).send(whole);
    },
  );
  app.get(
    path,
    {
      config: FOR_RUNTIME,
      schema: {
        summary: `List the ${level}s of an installation, by id`,
        params: PARAMS,
        querystring: InstallationsQuery,
        response: { 200: PageOf(VIEWS[level]), ...ERRORS_VIEW },
      },
    },
    async (request) => {
      const { name, id } = request.params;
      const { installationId } = await visibleTarget(installations, request, name, wholeInstallation(id));
      const { externalId } = request.query;
      return targetsPage(parts, request, longPageRequest(request.query), (part) =>
        installations.listBelow({ ...part, installationId, level, externalId }),
      );
    },
  );
}
