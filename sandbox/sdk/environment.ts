/**
 * `context.environment`: everything that code may see of its target and its integration during one
 * call (docs/contract/environment.md#members). Types only.
 *
 * The host builds it for the target of the call; a caller cannot grant anything with it. The types
 * of configurations and secrets come from the integration's own manifest where `annex-env.d.ts`
 * declares them (`manifest-types.ts`).
 *
 * Every property of a configuration is optional here, required ones too: a handler also runs while
 * its target is `pending`.
 */
import type {
  AccountConfiguration,
  Configuration,
  Secrets,
  SiteConfiguration,
  SpaceConfiguration,
  TargetConfiguration,
} from './manifest-types.ts';

/**
 * State of a target: `pending` until its configuration is valid, `paused` while the host product
 * has stopped it (docs/contract/configuration.md#states).
 */
export type InstallationStatus = 'active' | 'pending' | 'paused';

/** URLs of a target. */
export interface Urls {
  /** Absolute URL of the public endpoint, without a slash at the end. */
  readonly publicEndpoint: string;
  /** The same on an origin without cookies, for pages that components show. */
  readonly publicContentEndpoint: string;
  /** The record in the API. */
  readonly location: string;
  /** The page in the product, where it is known. */
  readonly app?: string;
}

/** URLs of the integration, and the endpoint of this call's target. */
export interface IntegrationUrls extends Urls {
  /** Endpoint of the most specific target of this call. */
  readonly publicEndpoint: string;
  /** The integration's own endpoint, one URL for all installations. */
  readonly integrationEndpoint: string;
  /** Its icon, where the manifest has one. */
  readonly icon?: string;
  /** The folder of the manifest's images. */
  readonly assets: string;
  /**
   * The redirect URL to register at a provider of OAuth, one for all installations; absent where
   * the operator offers none (docs/contract/oauth.md#one-redirect-url).
   */
  readonly oauthCallback?: string;
}

/** The integration, at the version that runs. */
export interface IntegrationDetails {
  /** What it is. */
  readonly object: 'integration';
  /** Unique name, from the manifest. */
  readonly name: string;
  /** Name that people see. */
  readonly title: string;
  /** One sentence from the manifest. */
  readonly description: string;
  /** Number of the version that runs: 1, 2, 3 … */
  readonly version: number;
  /** Which organizations can install it (docs/contract/manifest.md#visibility). */
  readonly visibility: 'private' | 'unlisted' | 'public';
  /** Levels at which it can be installed (docs/contract/manifest.md#members). */
  readonly target: 'all' | 'organization' | 'space' | 'site';
  /** Whether it comes with Annex. */
  readonly verified: boolean;
  /** Permissions of the manifest, such as `space:content:read`. */
  readonly scopes: readonly string[];
  /** Categories of the manifest. */
  readonly categories: readonly string[];
  /** Links of the manifest. */
  readonly externalLinks: readonly { readonly label: string; readonly url: string }[];
  /** URLs of the manifest's preview images. */
  readonly previewImages: readonly string[];
  /**
   * The organization that owns the integration. In an envelope it may have further members, which
   * the product has sent.
   */
  readonly owner: {
    readonly object: 'organization';
    readonly id: string;
    /** The id, where the product says no other. */
    readonly title: string;
    readonly urls: Pick<Urls, 'location' | 'app'>;
  };
  /** Whether the code may publish and manage the integration: never. */
  readonly permissions: { readonly admin: false };
  /** Its endpoint is that of the most specific target of this call. */
  readonly urls: IntegrationUrls;
}

/**
 * The installation in an organization.
 *
 * @typeParam C configuration at the level of the account
 */
export interface Installation<C extends Configuration = AccountConfiguration> {
  /** Id of the installation. */
  readonly id: string;
  /** State of the installation itself, whatever that of a space or a site below it. */
  readonly status: InstallationStatus;
  /** `organization`: id of the organization in which the integration is installed. */
  readonly target: { readonly organization: string };
  /** Whether the installation covers every space, or only those with a space installation. */
  readonly space_selection: 'all' | 'selected';
  /** Whether the installation covers every site, or only those with a site installation. */
  readonly site_selection: 'all' | 'selected';
  /** Number of spaces that it was added to. */
  readonly spaces: number;
  /** Settings of the organization, `oauth_credentials` included. Unset properties are absent. */
  readonly configuration: Partial<C>;
  /** Ids in other systems, assigned by the integration: at most 5, of at most 256 characters. */
  readonly externalIds: readonly string[];
  /** Endpoint of the installation. */
  readonly urls: Urls;
  /** Time in ISO 8601, UTC. */
  readonly createdAt: string;
  /** Time of the last change in ISO 8601, UTC. */
  readonly updatedAt: string;
}

/** The part of an installation that belongs to one space or one site. */
interface PlacedInstallation<C extends Configuration> {
  /** Name of the integration. */
  readonly integration: string;
  /** Id of the installation in the organization. */
  readonly installation: string;
  /** State of this target itself, whatever that of the installation above it. */
  readonly status: InstallationStatus;
  /** Settings of this target, `oauth_credentials` included. Unset properties are absent. */
  readonly configuration: Partial<C>;
  /** Ids in other systems, assigned by the integration: at most 5, of at most 256 characters. */
  readonly externalIds: readonly string[];
  /** Endpoint of this target. */
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
 * `context.environment`. Read when the call begins and constant from then on
 * (docs/contract/environment.md#freshness).
 *
 * @typeParam C configuration at the level of the account, for code without generated types
 */
export interface Environment<C extends Configuration = AccountConfiguration> {
  /** Base URL of the platform's API, without a slash at the end. */
  readonly apiEndpoint: string;
  /**
   * Bearer tokens for the API that end with this call: `integration` for the integration's own
   * record, `installation` for this target alone. `context.api` sends the right one
   * (docs/contract/environment.md#runtime-tokens).
   */
  readonly apiTokens: { readonly integration: string; readonly installation?: string };
  /** Values of the manifest's `secrets`, by name. Logs show `[redacted]` in their place. */
  readonly secrets: Secrets;
  /**
   * Keys of envelope signatures (docs/contract/endpoints.md#envelope-signatures): one of the whole
   * integration, and `installation` of the most specific target. They do not sign webhooks.
   */
  readonly signingSecrets: {
    readonly integration: string;
    readonly installation?: string;
    readonly spaceInstallation?: string;
    readonly siteInstallation?: string;
  };
  /** The integration, at the version that runs. */
  readonly integration: IntegrationDetails;
  /** The installation of the call's target. Absent where the call concerns no installation. */
  readonly installation?: Installation<C>;
  /** The target, if it is that of a space. */
  readonly spaceInstallation?: SpaceInstallation;
  /** The target, if it is that of a site. */
  readonly siteInstallation?: SiteInstallation;

  // Flat members (docs/contract/environment.md#flat-members).

  /** Id of the installation. */
  readonly id?: string;
  /** Id of the space, if the target is that of a space. */
  readonly space?: string;
  /** Id of the site, if the target is that of a site. */
  readonly site?: string;
  /** State of the most specific target. */
  readonly status?: InstallationStatus;
  /** `organization`: id of the organization in which the integration is installed. */
  readonly target?: { readonly organization: string };
  /** Settings of the most specific target. */
  readonly configuration?: TargetConfiguration<C>;
  /** External ids of the most specific target. */
  readonly externalIds?: readonly string[];
  /** Endpoint of the most specific target. */
  readonly urls?: Urls;
  /** `space_selection` of the installation. */
  readonly space_selection?: 'all' | 'selected';
}
