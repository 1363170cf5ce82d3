/**
 * The portal: the page for the customers of the host product, its sessions, and the links that
 * begin them (docs/contract/portal.md).
 *
 * It is below one path of the control listener, with the routes of the API that its views use.
 * Attack: code of an integration, which answers on the public listener, would share the origin of a
 * portal there, and use the session of whoever looks at it.
 */
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { AnnexError } from '../../../errors.ts';
import { BUILT_IN_ORGANIZATION } from '../../../model/identifiers.ts';
import { PORTAL_LOCALES, PORTAL_VIEWS } from '../../../model/portal.ts';
import { type HolderPrincipal, mayInstallFor } from '../../../model/principal.ts';
import type { Tokens } from '../../store/tokens.ts';
import { PORTAL } from '../page-session.ts';
import { actorOf, holderOf, tokenRefused } from './authenticate.ts';
import type { ControlDeps } from './control.ts';
import { route } from './route.ts';
import { closed, isoTime, named, Organization, optional, Time } from './schemas.ts';
import { type SessionPageDeps, sessionPageRoutes } from './session-page.ts';

/** How long a link can be used. */
const LINK_MS = 10 * 60_000;
const SESSION_SECONDS = { min: 60, max: 12 * 3_600, default: 3_600 };
const LOGO_CHARS_MAX = 32_768;

const Colour = Type.String({ maxLength: 7, pattern: '^#[0-9a-fA-F]{6}$' });

const LinkBody = closed('PortalLinkToCreate', {
  organization: Organization,
  views: optional(
    Type.Array(Type.Enum([...PORTAL_VIEWS]), {
      minItems: 1,
      maxItems: PORTAL_VIEWS.length,
      uniqueItems: true,
    }),
    'What the session sees, in this order; by default all.',
  ),
  expiresIn: optional(
    Type.Integer({ minimum: SESSION_SECONDS.min, maximum: SESSION_SECONDS.max }),
    `Seconds that the session lasts; ${SESSION_SECONDS.default} by default.`,
  ),
  theme: optional(
    closed('PortalTheme', {
      name: optional(
        Type.String({ minLength: 1, maxLength: 60, pattern: '^[^\\u0000-\\u001f\\u007f\\ud800-\\udfff]+$' }),
        'Name of the product.',
      ),
      scheme: optional(Type.Enum(['light', 'dark']), "By default that of the customer's system."),
      accent: optional(Colour, 'Colour of actions, `#rrggbb`, where the scheme is light.'),
      darkAccent: optional(Colour, 'The same where it is dark.'),
      logo: optional(
        Type.String({
          maxLength: LOGO_CHARS_MAX,
          pattern: '^data:image/(png|jpeg|webp|svg\\+xml);base64,[A-Za-z0-9+/]+={0,2}$',
        }),
        'A `data:` URL of an image.',
      ),
    }),
    'How it looks.',
  ),
  returnUrl: optional(
    Type.String({ maxLength: 2_048, pattern: '^https?://[!-~]+$' }),
    'Where the product is: the portal links back to it.',
  ),
  locale: optional(Type.Enum([...PORTAL_LOCALES]), "Language; by default that of the customer's browser."),
});

export const PORTAL_ROUTES = [
  route({
    name: 'portal-links.create',
    at: 'POST /portal-links',
    right: 'install',
    summary: 'Make a link that opens the portal of an organization once',
    description:
      'Whoever opens it first, within ten minutes, has a session that sees this organization alone. The session ends with its time, or with the token of this request.',
    body: LinkBody,
    answer: named('PortalLink', {
      url: Type.String({ description: 'Path and fragment, on the control listener.' }),
      expiresAt: Time,
    }),
    status: 201,
    async handle(request, { tokens, portal }) {
      if (portal === undefined)
        throw new AnnexError('ROUTE_UNKNOWN', 'This service does not serve the portal (--portal off).');
      const holder = holderOf(request);
      const {
        organization,
        views = PORTAL_VIEWS,
        expiresIn = SESSION_SECONDS.default,
        ...look
      } = request.body;
      // Attack: a portal of the organization that owns the built-in integrations.
      if (organization === BUILT_IN_ORGANIZATION || !mayInstallFor(holder, organization))
        throw new AnnexError(
          'TOKEN_FORBIDDEN',
          `This token may not install for organization "${organization}".`,
        );
      const { returnUrl } = look;
      if (returnUrl !== undefined && !URL.canParse(returnUrl))
        throw new AnnexError('REQUEST_INVALID', 'body.returnUrl must be a URL with http or https.');
      const grant = { organization, views, expiresIn, ...look };
      const link = await tokens.openPortalLink(holder, grant, LINK_MS, actorOf(request));
      // Revoked since the request began.
      if (link === undefined) throw tokenRefused('unknown');
      return { url: `/portal/#sign-in=${link.token}`, expiresAt: isoTime(link.expiresAt ?? 0) };
    },
  }),
];

export interface PortalDeps extends SessionPageDeps, Pick<ControlDeps, 'origins' | 'levelNames'> {
  readonly tokens: Pick<Tokens, 'openPortalSession' | 'revoke'>;
}

/** @param frames origins whose pages may frame it */
export function portalPageRoutes(
  app: FastifyInstance,
  deps: PortalDeps,
  { frames }: { readonly frames: readonly string[] },
): void {
  const { levelNames, origins, tokens } = deps;
  sessionPageRoutes(
    app,
    {
      ...{ page: PORTAL, title: 'Integrations', frames },
      // Icons of integrations.
      images: () => [new URL(origins.publicUrl).origin],
      viewOf: ({ organization, portal }: Omit<HolderPrincipal, 'tokenId'>) => ({
        ...{ organization, levelNames },
        ...portal,
      }),
      isFor: ({ portal }) => portal !== undefined,
      open: (signedIn, by) => tokens.openPortalSession(signedIn, by),
    },
    deps,
  );
}
