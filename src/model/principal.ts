/**
 * Principals, and the permissions of each kind of token (`docs/contract/api.md#tokens`).
 *
 * Every permission is one function here, so the whole policy is in one file. Routes turn `false`
 * into 403 where the caller may know that the object exists, and into 404 otherwise. A rule lists
 * the principals that are allowed; all others are denied.
 */
import type { TargetName } from './installation.ts';
import type { EndpointLevel } from './level.ts';
import type { PortalGrant, PortalView } from './portal.ts';

export const TOKEN_KINDS = ['admin', 'platform', 'organization'] as const;

/**
 * `admin`: the operator. `platform`: the host product. `organization`: one organization's members
 * and authors.
 */
export type TokenKind = (typeof TOKEN_KINDS)[number];

/**
 * What a token may be narrowed to: a token with a list of rights does only what these name, of what
 * its kind may. A route declares the right that it needs (`control/route.ts`). Tokens are made and
 * revoked by tokens without a list alone. Attack: a token that may do little makes one that may do
 * all.
 */
export const TOKEN_RIGHTS = {
  read: { kinds: TOKEN_KINDS, does: 'read what its kind may read, except secrets of webhooks' },
  publish: {
    kinds: ['admin', 'organization'],
    does: 'publish, activate and delete integrations, with their secrets and install links',
  },
  install: {
    kinds: TOKEN_KINDS,
    does: 'install, edit, pause and remove, with webhooks and their secrets, and run schedules',
  },
  render: { kinds: TOKEN_KINDS, does: 'draw components and blocks, compute content, sign visitors in' },
  call: { kinds: TOKEN_KINDS, does: 'ask installations what their code answers' },
  'events:post': { kinds: ['admin', 'platform'], does: 'post events' },
  'envelopes:send': { kinds: ['admin', 'platform'], does: 'send envelopes to endpoints' },
  deliveries: { kinds: TOKEN_KINDS, does: 'redeliver, cancel and replay deliveries' },
  introspect: { kinds: ['admin', 'platform'], does: 'introspect runtime tokens' },
  operate: {
    kinds: ['admin', 'platform'],
    does: 'declare organizations and event types, lower limits, review versions, rotate the keys of statements',
  },
} as const satisfies Readonly<Record<string, { kinds: readonly TokenKind[]; does: string }>>;
export type TokenRight = keyof typeof TOKEN_RIGHTS;

export const isTokenRight = (text: string): text is TokenRight => Object.hasOwn(TOKEN_RIGHTS, text);

const OF_VIEW: Readonly<Record<PortalView, readonly TokenRight[]>> = {
  integrations: ['read', 'install', 'render'],
  webhooks: ['read', 'install', 'render', 'deliveries'],
  activity: ['read', 'deliveries'],
};

/** The rights of a session of the portal. @param own those of the token that makes its link */
export const portalRights = (
  { views }: PortalGrant,
  own: readonly TokenRight[] | undefined,
): readonly TokenRight[] =>
  [...new Set(views.flatMap((view) => OF_VIEW[view]))].filter((right) => own?.includes(right) ?? true);

/** Principal of a stored token. */
export interface HolderPrincipal {
  readonly tokenId: string;
  readonly kind: TokenKind;
  /** What it is narrowed to; absent if it has all rights of its kind. */
  readonly rights?: readonly TokenRight[];
  /** Set exactly where `kind` is `organization`. */
  readonly organization?: string;
  /** Of a session or a link of the portal. It reaches the routes of its views alone. */
  readonly portal?: PortalGrant;
}

/**
 * Principal of a runtime token: code of an integration, while it runs. `integration` acts for the
 * integration as a whole, `installation` for one installation and its space and site installations.
 */
export type RuntimePrincipal =
  | { readonly kind: 'integration'; readonly integration: string }
  | {
      readonly kind: 'installation';
      readonly integration: string;
      readonly installationId: string;
      /** Target of the call that the token was issued for. */
      readonly target: TargetName;
    };

/**
 * Principal of a UI token: a person in a page of the host product, who configures one target. It
 * may use the routes that declare it, and nothing else.
 */
export interface UiPrincipal {
  readonly kind: 'ui';
  /** Id of the stored token that asked for it. */
  readonly tokenId: string;
  readonly integration: string;
  /** The organization that installed. */
  readonly organization: string;
  readonly target: TargetName;
  /** Whether it is for the webhook of the target, too. */
  readonly webhook?: true;
}

export type Principal = HolderPrincipal | RuntimePrincipal | UiPrincipal;

/** The members of an integration that the rules need. */
export interface Owned {
  readonly name: string;
  /** The organization that owns it. */
  readonly organization: string;
  readonly visibility: string;
}

/** The members of a target that the rules need. */
export interface InstalledIn extends TargetName {
  readonly integration: string;
  /** The organization that installed it. */
  readonly organization: string;
}

export const isRuntime = (principal: Principal): principal is RuntimePrincipal =>
  principal.kind === 'integration' || principal.kind === 'installation';

/** Whether a token is narrowed to other rights. No list has the right of a route without one. */
export const lacksRight = (principal: Principal, right: TokenRight | undefined): boolean =>
  'rights' in principal && principal.rights !== undefined && !principal.rights.some((one) => one === right);

/** Whether it is the operator or the host product, which act for every organization. */
export const isPlatform = ({ kind }: Principal): boolean => kind === 'admin' || kind === 'platform';

const isOf = (principal: Principal, organization: string): boolean =>
  principal.kind === 'organization' && principal.organization === organization;

/**
 * Publish integrations owned by `organization`, roll them back, and read their versions. The host
 * product publishes nothing.
 */
export const mayPublish = (principal: Principal, organization: string): boolean =>
  principal.kind === 'admin' || isOf(principal, organization);

/**
 * Publish under the name of a built-in integration. Attack: an organization takes the name from the
 * others, which then install its code. So what they find under that name is for the operator to
 * decide; an organization has the name for itself.
 */
export const mayShadow = (principal: Principal, visibility: string): boolean =>
  principal.kind === 'admin' || visibility === 'private';

/**
 * Know that an integration exists: its owner, the integration itself, and every organization where
 * it is public.
 */
export const maySee = (principal: Principal, { name, organization, visibility }: Owned): boolean =>
  isRuntime(principal)
    ? principal.integration === name
    : isPlatform(principal) || isOf(principal, organization) || visibility === 'public';

/** Install into `organization`, and change or remove its installations. */
export const mayInstallFor = (principal: Principal, organization: string): boolean =>
  isPlatform(principal) || isOf(principal, organization);

/**
 * Read an installation and the space and site installations below it: principals that may install
 * it, and its integration's code. Code called for one space or site reads that target and its
 * installation, the same as its environment shows, and no other space or site. A page reads the one
 * target that it configures.
 */
export function mayReadInstallation(principal: Principal, installed: InstalledIn): boolean {
  if (principal.kind === 'ui')
    return principal.integration === installed.integration && isSame(principal.target, installed);
  if (!isRuntime(principal)) return mayInstallFor(principal, installed.organization);
  return (
    principal.integration === installed.integration &&
    (principal.kind === 'integration' || isInReach(principal.target, installed))
  );
}

const isInReach = (own: TargetName, { installationId, level, place }: TargetName): boolean =>
  own.installationId === installationId &&
  (own.level === 'organization' || level === 'organization' || (own.level === level && own.place === place));

/**
 * Have the installation token of a target: code of its integration, for a target in its reach. The
 * integration token is in every environment, so code of one installation can get the token of
 * another of the same integration: they trust the same author
 * (`docs/decisions/integration-token.md`).
 */
export const mayHaveToken = (principal: Principal, installed: InstalledIn): boolean =>
  isRuntime(principal) && mayReadInstallation(principal, installed);

/**
 * Read and renew the credentials of a target: only code whose environment contains them already.
 * These are the target of the call and its installation; never another space or site
 * (`docs/contract/environment.md#runtime-tokens`).
 */
export const maySeeCredentials = (
  principal: Principal,
  { installationId, level, place }: TargetName,
): boolean =>
  principal.kind === 'installation' &&
  principal.installationId === installationId &&
  (level === 'organization' || (principal.target.level === level && principal.target.place === place));

/** Fields that an integration's code may change in the installations that it may read. */
const EDITABLE_BY_CODE: readonly string[] = ['configuration', 'externalIds'];

/** Change a field of an installation that the principal may read. */
export const mayEdit = (principal: Principal, field: string): boolean =>
  !isRuntime(principal) || EDITABLE_BY_CODE.includes(field);

/**
 * Read the log of an installation: the organization that installed it, and the integration's owner.
 */
export const mayReadLog = (principal: Principal, installedIn: string, owner: string): boolean =>
  mayInstallFor(principal, installedIn) || isOf(principal, owner);

/**
 * Read and change the values that code keeps for an installation, or for its whole integration:
 * code of the integration, for an installation in its reach. Its space and site installations share
 * what it keeps.
 */
export const mayUseStorage = (
  principal: Principal,
  { integration, installationId }: { readonly integration: string; readonly installationId?: string },
): boolean =>
  isRuntime(principal) &&
  principal.integration === integration &&
  (installationId === undefined ||
    principal.kind === 'integration' ||
    principal.installationId === installationId);

/**
 * Read the log of an integration's own endpoint: its owner. Denied to organizations that installed
 * it, whose calls it does not contain.
 */
export const mayReadIntegrationLog = (principal: Principal, owner: string): boolean =>
  principal.kind === 'admin' || isOf(principal, owner);

/**
 * Read the deliveries to installations of `organization`, with payloads and receivers' responses,
 * and redeliver them. Denied to the author: the content and the responses belong to the
 * organization. Denied to code, which could read deliveries to another space.
 */
export const mayReadDeliveries = (principal: Principal, organization: string): boolean =>
  mayInstallFor(principal, organization);

/** Read and redeliver one delivery: the same, and a page that sets up the webhook it came by. */
export const mayReadDelivery = (
  principal: Principal,
  { organization, target }: { readonly organization: string; readonly target: Reached },
): boolean =>
  mayReadDeliveries(principal, organization) || (principal.kind === 'ui' && isSame(principal.target, target));

/**
 * Read, replace and test the signing secret of a target's webhooks: principals that may install it,
 * code in a call for exactly this target, which draws its settings, and a page that sets it up. A
 * call for the installation above it does not count.
 */
export const maySeeWebhookSecret = (principal: Principal, installed: InstalledIn): boolean =>
  mayInstallFor(principal, installed.organization) ||
  ((principal.kind === 'installation' || principal.kind === 'ui') && isSame(principal.target, installed));

/** A target, or an integration's own endpoint. */
interface Reached {
  readonly level: EndpointLevel;
  readonly installationId?: string;
  readonly place?: string;
}

const isSame = (own: TargetName, { installationId, level, place }: Reached): boolean =>
  own.installationId === installationId && own.level === level && own.place === place;

/** Post events of the product: the host product and the operator. */
export const mayPostEvents = (principal: Principal): boolean => isPlatform(principal);

/**
 * Read the event types of the product: everybody with a token of their own. Authors write handlers
 * for them, and whoever installs selects them. They are no secret of an organization.
 */
export const mayReadEventTypes = (principal: Principal): boolean => !isRuntime(principal);

/**
 * Read the posted events of an organization and their deliveries: that organization. Events name
 * visitors, so authors of subscribed integrations have no access.
 */
export const mayReadEvents = (principal: Principal, organization: string): boolean =>
  mayInstallFor(principal, organization);

/**
 * Introspect a runtime token: the host product, because integrations send such tokens to its API,
 * too.
 */
export const mayIntrospect = (principal: Principal): boolean => isPlatform(principal);

/** Ask the code of an installation on behalf of the product. */
export const mayAskCode = (principal: Principal): boolean => isPlatform(principal);

/** Send envelopes for any endpoint. */
export const maySendEnvelopes = (principal: Principal): boolean =>
  isPlatform(principal) && !lacksRight(principal, 'envelopes:send');
