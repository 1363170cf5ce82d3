/**
 * `/v1/integrations`: list, read and delete; and the images of an integration. An organization sees
 * its own and public integrations; all others are answered as unknown.
 */

import type { FastifyRequest } from 'fastify';
import Type from 'typebox';
import { AnnexError } from '../../../../errors.ts';
import { imageUrl, integrationUrls, ownerOf } from '../../../../model/endpoint-urls.ts';
import { isVerified } from '../../../../model/environment.ts';
import { imageType } from '../../../../model/manifest/image.ts';
import { IMAGE_PATH_CHARS_MAX, isImagePath } from '../../../../model/manifest/manifest-page.ts';
import { VISIBILITIES } from '../../../../model/manifest/visibility.ts';
import { PORTAL_VIEWS } from '../../../../model/portal.ts';
import { isRuntime, mayPublish, maySee, type Principal } from '../../../../model/principal.ts';
import { unknownIntegration } from '../../../../model/unknown-name-errors.ts';
import type { Integration } from '../../../store/integrations/integration-rows.ts';
import { actorOf, holderOf, principalOf } from '../authenticate.ts';
import type { Control } from '../control.ts';
import { contentTag, IfNoneMatch, isKnownTag } from '../entity-tag.ts';
import { PAGE_QUERY, PageOf, pageAnswer, pageRequest } from '../lists.ts';
import { route } from '../route.ts';
import { isoTime, Name, NoQuery, named, optional, Time } from '../schemas.ts';
import { MANIFEST_MEMBERS, manifestMembers } from './manifest-view.ts';

const IntegrationView = named('Integration', {
  name: Type.String(),
  title: Type.String(),
  description: Type.String(),
  organization: Type.String({ description: 'The owner.' }),
  visibility: Type.Enum([...VISIBILITIES]),
  version: Type.Integer({ description: 'The active version.' }),
  waitingVersion: optional(
    Type.Integer(),
    "The newest version that waits for the operator's approval. Shown to the owner and the operator.",
  ),
  createdAt: Time,
  updatedAt: Time,
});

const IntegrationDetail = named('WholeIntegration', {
  object: Type.Literal('integration'),
  ...IntegrationView.properties,
  ...MANIFEST_MEMBERS,
  urls: Type.Object({
    location: Type.String({ description: 'Its record in the API.' }),
    app: optional(Type.String(), 'Its page in the host product.'),
    icon: Type.Optional(Type.String()),
    assets: Type.String({ description: 'The folder of its images.' }),
    publicEndpoint: Type.String({ description: 'Its own endpoint, one for all installations.' }),
    publicContentEndpoint: Type.String({ description: 'The same on the origin without cookies.' }),
    oauthCallback: optional(Type.String(), 'The redirect URL to register at a provider of OAuth.'),
  }),
  configurations: Type.Unsafe<Record<string, unknown>>(
    Type.Object(
      {},
      {
        additionalProperties: true,
        description: 'The settings of the manifest, by level: account, space and site.',
      },
    ),
  ),
  verified: Type.Boolean({ description: 'Whether it comes with Annex.' }),
  owner: Type.Object(
    {
      object: Type.Literal('organization'),
      id: Type.String(),
      title: Type.String({ description: 'The id: the product alone knows another.' }),
      urls: Type.Object({
        location: Type.String({ description: 'Its record in the API of the product.' }),
        app: optional(Type.String(), 'Its page in the host product.'),
      }),
    },
    { description: 'The organization that owns it.' },
  ),
  permissions: Type.Object({
    admin: Type.Boolean({ description: 'Whether the token may publish and manage it.' }),
  }),
  installLink: optional(Type.Boolean(), 'Whether it has an install link. Shown to the owner only.'),
});

const DeleteQuery = Type.Object(
  {
    cascade: optional(
      Type.Boolean({ default: false }),
      'Deletes its installations too, without lifecycle events.',
    ),
  },
  { additionalProperties: false },
);

const ListQuery = Type.Object(
  {
    ...PAGE_QUERY,
    review: optional(
      Type.Enum(['waiting']),
      "Only those with a version that waits for the operator's approval; of an organization, its own.",
    ),
  },
  { additionalProperties: false },
);

const ownRoutes = [
  route({
    name: 'integrations.list',
    at: 'GET /integrations',
    forPortal: ['integrations'],
    summary: 'List integrations, by name',
    query: ListQuery,
    answer: PageOf(IntegrationView),
    async handle(request, { registry }) {
      const principal = holderOf(request);
      const { review, ...query } = request.query;
      return pageAnswer(
        await registry.integrations({
          ...pageRequest(query),
          ...{ isWaiting: review === 'waiting', visibleTo: principal.organization },
        }),
        (integration) => integrationView(integration, principal),
      );
    },
  }),
  route({
    name: 'integrations.get',
    at: 'GET /integrations/:name',
    forPortal: PORTAL_VIEWS,
    summary: 'Read an integration',
    description: 'With the members of the manifest of its active version. Images are public URLs.',
    forRuntime: true,
    params: { name: Name },
    query: NoQuery,
    answer: IntegrationDetail,
    async handle(request, control) {
      const { registry, origins } = control;
      const integration = await visibleIntegration(control, request);
      const { name, endpointKey, organization, activeVersion, hasInstallLink } = integration;
      const manifest = (await registry.version(name, activeVersion))?.manifest;
      // The integration was deleted meanwhile.
      if (manifest === undefined) throw unknownIntegration(name);
      const { icon } = manifest;
      const isOwner = mayPublish(principalOf(request), organization);
      return {
        object: 'integration' as const,
        ...integrationView(integration, principalOf(request)),
        ...manifestMembers(manifest, (path) => imageUrl(origins, endpointKey, path)),
        urls: integrationUrls(origins, { name, endpointKey, ...(icon !== undefined && { icon }) }),
        configurations: { ...manifest.configurations },
        verified: isVerified(organization),
        owner: ownerOf(origins, organization),
        permissions: { admin: isOwner },
        installLink: isOwner ? hasInstallLink : undefined,
      };
    },
  }),
  route({
    name: 'integrations.delete',
    at: 'DELETE /integrations/:name',
    right: 'publish',
    summary: 'Delete an integration',
    description:
      'With its versions, images and secrets. 409 if it is installed, unless `cascade=true`. The name becomes free.',
    params: { name: Name },
    query: DeleteQuery,
    async handle(request, control) {
      const integration = await ownIntegration(control, request);
      const { cascade = false } = request.query;
      await control.registry.delete(integration, { cascade }, actorOf(request));
    },
  }),
];

/** Clients revalidate a cached image each time: another version may have become active. */
const CACHE = 'private, no-cache';

const BYTES = { schema: { type: 'string', format: 'binary' } };
const Image = Type.Unsafe<Uint8Array>({
  description: 'The image.',
  content: {
    'image/png': BYTES,
    'image/jpeg': BYTES,
    'image/gif': BYTES,
    'image/webp': BYTES,
    'image/svg+xml': BYTES,
  },
});
const NotModified = Type.Unsafe<undefined>({
  type: 'null',
  description: 'The image is the one of `If-None-Match`.',
});

const ImagePath = Type.String({
  description: 'Path from the folder of the manifest, with slashes.',
  maxLength: IMAGE_PATH_CHARS_MAX,
});

/**
 * Icon, previews and assets of the active version, for principals that may see the integration.
 *
 * Images were checked when they were published. They are sent as what they are, and browsers must
 * not sniff another type (`control-routes.ts`). Nothing in an SVG runs, by the policy of every
 * answer.
 */
const imageRoute = route({
  name: 'images.get',
  at: 'GET /integrations/:name/images/*',
  summary: 'Read an image of an integration',
  description: 'An icon, preview or other image of the active version, by its path from the manifest.',
  // TypeBox would treat the name of the wildcard as a pattern, so the handler checks it, and the
  // description names it differently.
  params: { name: Name },
  described: { params: Type.Object({ name: Name, path: ImagePath }) },
  headers: IfNoneMatch,
  answer: Image,
  answers: { 304: NotModified },
  async handle(request, control, reply) {
    const { '*': path = '' } = request.params as { readonly '*'?: string };
    const { name, activeVersion } = await visibleIntegration(control, request);
    const content = isImagePath(path) ? await control.registry.image(name, activeVersion, path) : undefined;
    if (content === undefined)
      throw new AnnexError('IMAGE_UNKNOWN', `The active version of "${name}" has no image at this path.`);
    const tag = contentTag(content);
    reply.headers({ 'cache-control': CACHE, etag: tag });
    if (isKnownTag(request, tag)) return reply.code(304).send(undefined);
    return reply.type(imageType(content)).send(content);
  },
});

export const INTEGRATION_ROUTES = [...ownRoutes, imageRoute];

/**
 * The integration that the path names. An organization that has installed it still sees it, also if
 * it was made private since or was installed with a link.
 *
 * @throws AnnexError INTEGRATION_UNKNOWN if the caller may see none of this name
 */
async function visibleIntegration(
  { registry }: Control,
  request: FastifyRequest<{ Params: { name: string } }>,
): Promise<Integration> {
  const { name } = request.params;
  const integration = await registry.integration(name);
  const principal = principalOf(request);
  if (integration !== undefined && maySee(principal, integration)) return integration;
  const { organization } = isRuntime(principal) ? {} : principal;
  const isInstalled = organization !== undefined && (await registry.isInstalledIn(name, organization));
  if (integration !== undefined && isInstalled) return integration;
  throw unknownIntegration(name);
}

/**
 * The integration that the path names, for actions of its owner.
 *
 * @throws AnnexError INTEGRATION_UNKNOWN if it is another tenant's, TOKEN_FORBIDDEN for a kind of
 * token that never owns one
 */
export async function ownIntegration(
  { registry }: Control,
  request: FastifyRequest<{ Params: { name: string } }>,
): Promise<Integration> {
  const { name } = request.params;
  const principal = principalOf(request);
  if (principal.kind !== 'admin' && principal.kind !== 'organization') {
    const message = `This is for the owner of the integration; the request came with a token of kind ${principal.kind}.`;
    throw new AnnexError('TOKEN_FORBIDDEN', message);
  }
  const integration = await registry.integration(name);
  if (integration !== undefined && mayPublish(principal, integration.organization)) return integration;
  throw unknownIntegration(name);
}

const integrationView = (
  { activeVersion, waitingVersion, createdAt, updatedAt, ...rest }: Integration,
  principal: Principal,
) => ({
  name: rest.name,
  title: rest.title,
  description: rest.description,
  organization: rest.organization,
  visibility: rest.visibility,
  version: activeVersion,
  waitingVersion: mayPublish(principal, rest.organization) ? waitingVersion : undefined,
  createdAt: isoTime(createdAt),
  updatedAt: isoTime(updatedAt),
});
