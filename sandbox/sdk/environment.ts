/**
 * What an integration may see of the world during one call (SPEC "Environment context", REFERENCE 2). Types only.
 *
 * The host builds it for the target of the call; nothing that a caller sends can add to it.
 */

/** Settings of a target, as its manifest's `configurations` declares them. */
export type Configuration = Readonly<Record<string, unknown>>;

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
  readonly version: number;
  readonly visibility: 'private' | 'unlisted' | 'public';
  readonly scopes: readonly string[];
  readonly categories: readonly string[];
  readonly owner: { readonly id: string };
  /** The endpoint of the target of this call. */
  readonly urls: Urls;
}

/** The installation in an organization. */
export interface Installation<C extends Configuration = Configuration> {
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

/**
 * `context.environment`.
 *
 * @typeParam C the configuration. Its properties are optional, because a handler also runs while an installation is
 *   still `pending` and nothing has been filled in.
 */
export interface Environment<C extends Configuration = Configuration> {
  /** Base URL of the platform's API. */
  readonly apiEndpoint: string;
  /** Short-lived tokens for the API. */
  readonly apiTokens: { readonly integration?: string; readonly installation?: string };
  /** Values of the manifest's `secrets`. */
  readonly secrets: Readonly<Record<string, string>>;
  /** Keys with which senders sign requests to the endpoint. */
  readonly signingSecrets: { readonly integration: string; readonly installation?: string };
  readonly integration: IntegrationDetails;
  /** Absent only where the call concerns no installation. */
  readonly installation?: Installation<C>;

  // The flat keys of the specification's table, for the most specific target of the call.

  /** Installation id. */
  readonly id?: string;
  readonly status?: InstallationStatus;
  readonly target?: { readonly organization: string };
  readonly configuration?: Partial<C>;
  readonly externalIds?: readonly string[];
  readonly urls?: Urls;
  readonly space_selection?: 'all' | 'selected';
}
