/**
 * Principals, and what each kind of token may do (`docs/contract/api.md#tokens`).
 *
 * Every rule about rights is one function here, so that the whole policy reads on one screen. The
 * doors turn a `false` into 403 where the caller may know that the thing exists, and into 404 where
 * it may not. A rule lists who may; whoever is not listed, may not.
 */
import type { TargetName } from './installation.ts';

export const TOKEN_KINDS = ['admin', 'platform', 'organization'] as const;

/**
 * `admin`: the operator. `platform`: the host product. `organization`: one organization's members
 * and authors.
 */
export type TokenKind = (typeof TOKEN_KINDS)[number];

/** Of a token that is stored. */
export interface HolderPrincipal {
  readonly tokenId: string;
  readonly kind: TokenKind;
  /** Set exactly where `kind` is `organization`. */
  readonly organization?: string;
}

/**
 * Of a runtime token: code of an integration, while it runs. `integration` speaks for the
 * integration, `installation` for one installation of it and what lies below.
 */
export type RuntimePrincipal =
  | { readonly kind: 'integration'; readonly integration: string }
  | {
      readonly kind: 'installation';
      readonly integration: string;
      readonly installationId: string;
      /** What the call is for that the token was made for. */
      readonly target: TargetName;
    };

export type Principal = HolderPrincipal | RuntimePrincipal;

/** What the rules need to know of an integration. */
export interface Owned {
  readonly name: string;
  /** The organization that owns it. */
  readonly organization: string;
  readonly visibility: string;
}

/** What the rules need to know of an installation, or of what of it is in a space or a site. */
export interface InstalledIn extends TargetName {
  readonly integration: string;
  /** The organization that installed it. */
  readonly organization: string;
}

export const isRuntime = (principal: Principal): principal is RuntimePrincipal =>
  principal.kind === 'integration' || principal.kind === 'installation';

/** The operator and the host product, which act for every organization. */
export const isPlatform = ({ kind }: Principal): boolean => kind === 'admin' || kind === 'platform';

const isOf = (principal: Principal, organization: string): boolean =>
  principal.kind === 'organization' && principal.organization === organization;

/**
 * Publish under, roll back, and read the versions of what `organization` owns. The host product
 * publishes nothing.
 */
export const mayPublish = (principal: Principal, organization: string): boolean =>
  principal.kind === 'admin' || isOf(principal, organization);

/**
 * Know that an integration exists: its owner does, itself does, and everybody where it is public.
 */
export const maySee = (principal: Principal, { name, organization, visibility }: Owned): boolean =>
  isRuntime(principal)
    ? principal.integration === name
    : isPlatform(principal) || isOf(principal, organization) || visibility === 'public';

/** Install into `organization`, and change or remove what is installed there. */
export const mayInstallFor = (principal: Principal, organization: string): boolean =>
  isPlatform(principal) || isOf(principal, organization);

/**
 * Read an installation and what lies below it: who may install it, and the code that it is of. A
 * call for one space or site reads that and the installation it is part of, as its environment
 * does: what is in another is not its business.
 */
export function mayReadInstallation(principal: Principal, installed: InstalledIn): boolean {
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
 * See the configuration of an installation. An integration that speaks for itself as a whole does
 * not: a configuration of one organization would be in reach of a call for another
 * (`docs/contract/environment.md#runtime-tokens`).
 */
export const mayReadConfiguration = (principal: Principal, installed: InstalledIn): boolean =>
  principal.kind !== 'integration' && mayReadInstallation(principal, installed);

/**
 * Renew the credentials of a target, and so see them: code of a call whose environment shows them
 * in any case. That is the target of the call, and the installation that it is part of; never a
 * space or a site beside it or below it (`docs/contract/environment.md#runtime-tokens`).
 */
export const mayRenewCredentials = (
  principal: Principal,
  { installationId, level, place }: TargetName,
): boolean =>
  principal.kind === 'installation' &&
  principal.installationId === installationId &&
  (level === 'organization' || (principal.target.level === level && principal.target.place === place));

/** What code of an integration may change of the installations that it may read. */
const EDITABLE_BY_CODE: Readonly<Record<RuntimePrincipal['kind'], readonly string[]>> = {
  integration: ['externalIds'],
  installation: ['configuration', 'externalIds'],
};

/** Change this field of an installation that the principal may read. */
export const mayEdit = (principal: Principal, field: string): boolean =>
  !isRuntime(principal) || EDITABLE_BY_CODE[principal.kind].includes(field);

/**
 * Read the log of an installation: the author needs it as much as the organization that installed.
 */
export const mayReadLog = (principal: Principal, installedIn: string, owner: string): boolean =>
  mayInstallFor(principal, installedIn) || isOf(principal, owner);

/**
 * Read what was to be delivered to what `organization` has installed, with what was posted and what
 * receivers said to it, and have it delivered again. Not for the author: it is the organization's
 * content and the answers of its servers. Not for code either, which could read there what was
 * delivered to another space.
 */
export const mayReadDeliveries = (principal: Principal, organization: string): boolean =>
  mayInstallFor(principal, organization);

/**
 * See, replace and try out what webhooks of a target are signed with: whoever may install it, and
 * the code that draws its settings in a call for that very target; never in one for another, be it
 * the installation that the target is part of.
 */
export const maySeeWebhookSecret = (principal: Principal, installed: InstalledIn): boolean =>
  mayInstallFor(principal, installed.organization) ||
  (principal.kind === 'installation' && isSame(principal.target, installed));

const isSame = (own: TargetName, { installationId, level, place }: TargetName): boolean =>
  own.installationId === installationId && own.level === level && own.place === place;

/** Say what has happened in the product: the product itself does. */
export const mayPostEvents = (principal: Principal): boolean => isPlatform(principal);

/**
 * Read what the product has said of an organization, and what came of it: that organization. Events
 * name visitors, so whoever wrote the code that hears of them sees none.
 */
export const mayReadEvents = (principal: Principal, organization: string): boolean =>
  mayInstallFor(principal, organization);

/**
 * Ask what a runtime token stands for: the host product, whose own API may be what it was sent to.
 */
export const mayIntrospect = (principal: Principal): boolean => isPlatform(principal);

/** Hand over envelopes for any endpoint. */
export const maySendEnvelopes = (principal: Principal): boolean => isPlatform(principal);
