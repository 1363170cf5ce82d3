/**
 * `/v1/integrations/{name}/install-link`: create, replace and delete the link by which other
 * organizations install an `unlisted` integration. `/v1/install-links/{token}`: show a link's
 * integration before it is used (docs/contract/manifest.md#install-links).
 *
 * A link is used by installing with its token (`installations.ts`). The page that contains the
 * token is the host product's.
 */
import Type from 'typebox';
import { AnnexError } from '../../../../errors.ts';
import { VISIBILITIES } from '../../../../model/manifest/visibility.ts';
import { actorOf } from '../authenticate.ts';
import { route } from '../route.ts';
import { Name, NoQuery, named } from '../schemas.ts';
import { ownIntegration } from './integrations.ts';

const NewLinkView = named('NewInstallLink', {
  integration: Type.String(),
  token: Type.String({ description: 'Shown only here; send it as `installToken` to install.' }),
});

const LinkView = named('InstallLink', {
  integration: Type.String(),
  title: Type.String(),
  description: Type.String(),
  visibility: Type.Enum([...VISIBILITIES]),
  organization: Type.String({ description: 'The owner of the integration.' }),
});

const PATH = '/integrations/:name/install-link';

export const INSTALL_LINK_ROUTES = [
  route({
    name: 'install-links.create',
    at: `POST ${PATH}`,
    right: 'publish',
    summary: 'Create an install link',
    description: 'Replaces an earlier link, whose token becomes invalid.',
    params: { name: Name },
    query: NoQuery,
    answer: NewLinkView,
    status: 201,
    async handle(request, control) {
      const { name: integration } = await ownIntegration(control, request);
      return { integration, token: await control.installLinks.create(integration, actorOf(request)) };
    },
  }),
  route({
    name: 'install-links.delete',
    at: `DELETE ${PATH}`,
    right: 'publish',
    summary: 'Delete the install link',
    description: 'Installations that were made with it stay.',
    params: { name: Name },
    query: NoQuery,
    async handle(request, control) {
      const { name } = await ownIntegration(control, request);
      await control.installLinks.remove(name, actorOf(request));
    },
  }),
  route({
    name: 'install-links.get',
    at: 'GET /install-links/:token',
    summary: 'Read the integration of an install link',
    params: { token: Name },
    query: NoQuery,
    answer: LinkView,
    async handle(request, { installLinks }) {
      const integration = await installLinks.integration(request.params.token);
      // The token is not repeated: readers of a logged message could use it.
      if (integration === undefined)
        throw new AnnexError(
          'INSTALL_LINK_UNKNOWN',
          'There is no install link with this token; it may have been replaced.',
        );
      const { name, title, description, visibility, organization } = integration;
      return { integration: name, title, description, visibility, organization };
    },
  }),
];
