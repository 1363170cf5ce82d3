/**
 * Who is asking, and what each kind of token may do (REFERENCE D8).
 *
 * Every rule about rights is one function here, so that the whole policy reads on one screen. The doors turn a `false`
 * into 403 where the caller may know that the thing exists, and into 404 where it may not.
 */

export const TOKEN_KINDS = ['admin', 'platform', 'organization'] as const;

/** `admin`: the operator. `platform`: the host product. `organization`: one organization's members and authors. */
export type TokenKind = (typeof TOKEN_KINDS)[number];

export interface Principal {
  readonly tokenId: string;
  readonly kind: TokenKind;
  /** Set exactly where `kind` is `organization`. */
  readonly organization?: string;
}

/** What the rules need to know of an integration. */
export interface Owned {
  /** The organization that owns it. */
  readonly organization: string;
  readonly visibility: string;
}

const is = (principal: Principal, organization: string): boolean =>
  principal.kind === 'organization' && principal.organization === organization;

/** Publish under, roll back, and read the versions of what `organization` owns. The host product publishes nothing. */
export const mayPublish = (principal: Principal, organization: string): boolean =>
  principal.kind === 'admin' || is(principal, organization);

/** Know that an integration exists: its owner does, and everybody where it is public. */
export const maySee = (principal: Principal, integration: Owned): boolean =>
  principal.kind !== 'organization' ||
  is(principal, integration.organization) ||
  integration.visibility === 'public';

/** Install into `organization`, and read what is installed there. */
export const mayInstallFor = (principal: Principal, organization: string): boolean =>
  principal.kind !== 'organization' || is(principal, organization);

/** Read the log of an installation: the author needs it as much as the organization that installed. */
export const mayReadLog = (principal: Principal, installedIn: string, owner: string): boolean =>
  mayInstallFor(principal, installedIn) || is(principal, owner);
