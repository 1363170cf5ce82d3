/**
 * `/v1/integrations/{name}/install-link`: create, replace and delete the link by which other
 * organizations install an `unlisted` integration. `/v1/install-links/{token}`: show a link's
 * integration before it is used (docs/contract/manifest.md#install-links).
 *
 * A link is used by installing with its token (`installations.ts`). The page that contains the
 * token is the host product's.
 */
import Type from 'typebox';
import { AnnexError } from '../../../errors.ts';
import { VISIBILITIES } from '../../../model/manifest/visibility.ts';
import type { InstallLinks } from '../../../store/installations/install-links.ts';
import type { Registry } from '../../../store/integrations/registry.ts';
import { actorOf } from '../authenticate.ts';
import { ERRORS_VIEW, Name, NoQuery } from '../schemas.ts';
import type { TypedApp } from '../typed-routes.ts';
import { ownIntegration } from './integrations.ts';

const LINK = '/integrations/:name/install-link';
const PARAMS = Type.Object({ name: Name });

const NewLinkView = Type.Object(
  {
    integration: Type.String(),
    token: Type.String({ description: 'Shown only here; send it as `installToken` to install.' }),
  },
  { title: 'NewInstallLink' },
);

const LinkView = Type.Object(
  {
    integration: Type.String(),
    title: Type.String(),
    description: Type.String(),
    visibility: Type.Enum([...VISIBILITIES]),
    organization: Type.String({ description: 'The owner of the integration.' }),
  },
  { title: 'InstallLink' },
);

export interface InstallLinksRouteParts {
  readonly registry: Pick<Registry, 'integration'>;
  readonly installLinks: Pick<InstallLinks, 'create' | 'remove' | 'integration'>;
}

export function installLinksRoutes(app: TypedApp, { registry, installLinks }: InstallLinksRouteParts): void {
  app.post(
    LINK,
    {
      schema: {
        summary: 'Create an install link',
        description: 'Replaces an earlier link, whose token becomes invalid.',
        params: PARAMS,
        querystring: NoQuery,
        response: { 201: NewLinkView, ...ERRORS_VIEW },
      },
    },
    async (request, reply) => {
      const { name } = await ownIntegration(registry, request, request.params.name);
      const token = await installLinks.create(name, actorOf(request));
      return reply.code(201).send({ integration: name, token });
    },
  );
  app.delete(
    LINK,
    {
      schema: {
        summary: 'Delete the install link',
        description: 'Installations that were made with it stay.',
        params: PARAMS,
        querystring: NoQuery,
        response: { 204: Type.Null(), ...ERRORS_VIEW },
      },
    },
    async (request, reply) => {
      const { name } = await ownIntegration(registry, request, request.params.name);
      await installLinks.remove(name, actorOf(request));
      return reply.code(204).send(null);
    },
  );
  app.get(
    '/install-links/:token',
    {
      schema: {
        summary: 'Read the integration of an install link',
        params: Type.Object({ token: Name }),
        querystring: NoQuery,
        response: { 200: LinkView, ...ERRORS_VIEW },
      },
    },
    async (request) => {
      const integration = await installLinks.integration(request.params.token);
      // The token is not repeated: readers of a logged message could use it.
      if (integration === undefined) {
        throw new AnnexError(
          'INSTALL_LINK_UNKNOWN',
          'There is no install link with this token; it may have been replaced.',
        );
      }
      const { name, title, description, visibility, organization } = integration;
      return { integration: name, title, description, visibility, organization };
    },
  );
}
