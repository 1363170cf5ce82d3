/**
 * What an integration may see of the world during one call (SPEC "Environment context", REFERENCE 2). Types only.
 *
 * The host builds it for the target of the call; nothing that a caller sends can add to it. The types of configurations and
 * secrets are those of the integration's own manifest, where `annex-env.d.ts` gives them (`manifest-types.ts`).
 *
 * Every property of a configuration is optional here, required ones too: a handler also runs while its target is `pending`
 * and nothing has been filled in.
 */
import type {
  AccountConfiguration,
  Configuration,
  Secrets,
  SiteConfiguration,
  SpaceConfiguration,
  TargetConfiguration,
} from './manifest-types.ts';

export type InstallationStatus = 'active' | 'pending' | 'paused';

/** Where something answers. */
export interface Urls {
  /** Public HTTPS endpoint, no trailing slash. */
  readonly publicEndpoint: string;
}

/** The integration itself, at the version that is running. */
export interface IntegrationDetails {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly version: number;
  readonly visibility: 'private' | 'unlisted' | 'public';
  readonly scopes: readonly string[];
  readonly categories: readonly string[];
  readonly owner: { readonly id: string };
  /** The endpoint of the target of this call. */
  readonly urls: Urls;
}

/** The installation in an organization. */
export interface Installation<C extends Configuration = AccountConfiguration> {
  readonly id: string;
  readonly status: InstallationStatus;
  readonly target: { readonly organization: string };
  readonly space_selection: 'all' | 'selected';
  readonly site_selection: 'all' | 'selected';
  readonly configuration: Partial<C>;
  /** Ids in other systems, assigned by the integration; at most 5. */
  readonly externalIds: readonly string[];
  readonly urls: Urls;
  /** ISO 8601. */
  readonly createdAt: string;
  /** ISO 8601. */
  readonly updatedAt: string;
}

/** What of an installation is in one space or one site. */
interface PlacedInstallation<C extends Configuration> {
  /** Name of the integration. */
  readonly integration: string;
  /** Id of the installation in the organization. */
  readonly installation: string;
  readonly status: InstallationStatus;
  readonly configuration: Partial<C>;
  /** Ids in other systems, assigned by the integration; at most 5. */
  readonly externalIds: readonly string[];
  readonly urls: Urls;
}

/** The installation in a space. */
export interface SpaceInstallation extends PlacedInstallation<SpaceConfiguration> {
  /** Id of the space. */
  readonly space: string;
}

/** The installation in a site. */
export interface SiteInstallation extends PlacedInstallation<SiteConfiguration> {
  /** Id of the site. */
  readonly site: string;
}

/**
 * `context.environment`.
 *
 * @typeParam C the configuration at the level of the account, for code that has no generated types.
 */
export interface Environment<C extends Configuration = AccountConfiguration> {
  /** Base URL of the platform's API. */
  readonly apiEndpoint: string;
  /** Short-lived tokens for the API: one for the integration's own record, one for this installation alone. */
  readonly apiTokens: { readonly integration: string; readonly installation?: string };
  readonly secrets: Secrets;
  /** Keys with which senders sign requests to the endpoint; `installation` is the target's own. */
  readonly signingSecrets: { readonly integration: string; readonly installation?: string };
  readonly integration: IntegrationDetails;
  /** Absent only where the call concerns no installation. */
  readonly installation?: Installation<C>;
  /** Only where the target of the call is a space. */
  readonly spaceInstallation?: SpaceInstallation;
  /** Only where the target of the call is a site. */
  readonly siteInstallation?: SiteInstallation;

  // The flat keys of the specification's table, for the most specific target of the call.

  /** Installation id. */
  readonly id?: string;
  /** Id of the space, where the target is one. */
  readonly space?: string;
  /** Id of the site, where the target is one. */
  readonly site?: string;
  readonly status?: InstallationStatus;
  readonly target?: { readonly organization: string };
  readonly configuration?: TargetConfiguration<C>;
  readonly externalIds?: readonly string[];
  readonly urls?: Urls;
  readonly space_selection?: 'all' | 'selected';
}
