/**
 * Who is asking, and what each kind of token may do (REFERENCE D8).
 *
 * Every rule about rights is one function here, so that the whole policy reads on one screen. The doors turn a `false`
 * into 403 where the caller may know that the thing exists, and into 404 where it may not. A rule lists who may; whoever
 * is not listed, may not.
 */

export const TOKEN_KINDS = ['admin', 'platform', 'organization'] as const;

/** `admin`: the operator. `platform`: the host product. `organization`: one organization's members and authors. */
export type TokenKind = (typeof TOKEN_KINDS)[number];

/** Of a token that is stored. */
export interface HolderPrincipal {
  readonly tokenId: string;
  readonly kind: TokenKind;
  /** Set exactly where `kind` is `organization`. */
  readonly organization?: string;
}

/**
 * Of a runtime token: code of an integration, while it runs. `integration` speaks for the integration, `installation` for
 * one installation of it and what lies below.
 */
export type RuntimePrincipal =
  | { readonly kind: 'integration'; readonly integration: string }
  | { readonly kind: 'installation'; readonly integration: string; readonly installationId: string };

export type Principal = HolderPrincipal | RuntimePrincipal;

/** What the rules need to know of an integration. */
export interface Owned {
  readonly name: string;
  /** The organization that owns it. */
  readonly organization: string;
  readonly visibility: string;
}

/** What the rules need to know of an installation. */
export interface InstalledIn {
  readonly installationId: string;
  readonly integration: string;
  /** The organization that installed it. */
  readonly organization: string;
}

export const isRuntime = (principal: Principal): principal is RuntimePrincipal =>
  principal.kind === 'integration' || principal.kind === 'installation';

/** The operator and the host product, which act for every organization. */
const isPlatform = ({ kind }: Principal): boolean => kind === 'admin' || kind === 'platform';

const isOf = (principal: Principal, organization: string): boolean =>
  principal.kind === 'organization' && principal.organization === organization;

/** Publish under, roll back, and read the versions of what `organization` owns. The host product publishes nothing. */
export const mayPublish = (principal: Principal, organization: string): boolean =>
  principal.kind === 'admin' || isOf(principal, organization);

/** Know that an integration exists: its owner does, itself does, and everybody where it is public. */
export const maySee = (principal: Principal, { name, organization, visibility }: Owned): boolean =>
  isRuntime(principal)
    ? principal.integration === name
    : isPlatform(principal) || isOf(principal, organization) || visibility === 'public';

/** Install into `organization`, and change or remove what is installed there. */
export const mayInstallFor = (principal: Principal, organization: string): boolean =>
  isPlatform(principal) || isOf(principal, organization);

/** Read an installation and what lies below it: who may install it, and the code that it is of. */
export function mayReadInstallation(principal: Principal, installed: InstalledIn): boolean {
  if (!isRuntime(principal)) return mayInstallFor(principal, installed.organization);
  return (
    principal.integration === installed.integration &&
    (principal.kind === 'integration' || principal.installationId === installed.installationId)
  );
}

/**
 * See the configuration of an installation. An integration that speaks for itself as a whole does not: a configuration of
 * one organization would be in reach of a call for another (REFERENCE D12).
 */
export const mayReadConfiguration = (principal: Principal, installed: InstalledIn): boolean =>
  principal.kind !== 'integration' && mayReadInstallation(principal, installed);

/** Read the log of an installation: the author needs it as much as the organization that installed. */
export const mayReadLog = (principal: Principal, installedIn: string, owner: string): boolean =>
  mayInstallFor(principal, installedIn) || isOf(principal, owner);

/** Hand over envelopes for any endpoint. */
export const maySendEnvelopes = (principal: Principal): boolean => isPlatform(principal);
