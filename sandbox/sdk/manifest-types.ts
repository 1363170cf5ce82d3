/**
 * Types of an integration's code that follow from its own manifest. Types only.
 *
 * `annex types <folder>` reads the manifest and writes `annex-env.d.ts`, which fills in the
 * open interface `ManifestTypes`; the other types follow from it. Without that file every name is
 * allowed, and every value is `unknown`.
 */

/** Settings of a target without generated types: property → value. */
export type Configuration = Readonly<Record<string, unknown>>;

/**
 * Filled in by the generated file, by declaration merging. Its members:
 *
 * - `account`, `space`, `site`: the configuration of each level, with every required property
 * - `secrets`: name → value
 * - `components`: the component ids that the manifest names
 * - `calls`: the names of its calls
 */
// biome-ignore lint/suspicious/noEmptyInterface: a type alias cannot be merged from another file.
export interface ManifestTypes {}

/** One member of the filled-in interface, or `Loose` if the interface was not filled in. */
type Declared<Member extends string, Loose> = ManifestTypes extends { readonly [Name in Member]: infer Own }
  ? Own
  : Loose;

/** `configurations.account` of the manifest, with every required property set. */
export type AccountConfiguration = Declared<'account', Configuration>;
/** `configurations.space` of the manifest, with every required property set. */
export type SpaceConfiguration = Declared<'space', Configuration>;
/** `configurations.site` of the manifest, with every required property set. */
export type SiteConfiguration = Declared<'site', Configuration>;

/** Values of the manifest's `secrets`, by name (docs/contract/manifest.md#secrets). */
export type Secrets = Declared<'secrets', Readonly<Record<string, string>>>;

/** An id of a component: editors offer those of the manifest, and any other is allowed. */
export type ComponentId = Declared<'components', never> | (string & {});

/** A name of a call: one of the manifest, where there are generated types. */
export type CallName = Declared<'calls', string>;

type NamesOf<Levels> = Levels extends unknown ? keyof Levels : never;
type ValueOf<Levels, Name> = Levels extends unknown
  ? Name extends keyof Levels
    ? Levels[Name]
    : never
  : never;

/**
 * The configuration of the call's target. The target may be of any level, so this has the
 * properties of all levels, each optional, with the type that it has at the levels that have it.
 */
export type TargetConfiguration<
  Account,
  Levels = Account | SpaceConfiguration | SiteConfiguration,
> = Readonly<{ [Name in NamesOf<Levels>]?: ValueOf<Levels, Name> }>;

/**
 * `configuration.oauth_credentials`: what `extractCredentials` made of the provider's answer
 * (docs/contract/oauth.md#extractcredentials).
 */
export interface OAuthCredentials {
  /** Bearer token for the provider's API. `getOAuthToken` renews it when it has expired. */
  readonly access_token?: string;
  /** Token with which `getOAuthToken` renews `access_token`. */
  readonly refresh_token?: string;
  /**
   * Time at which `access_token` expires: milliseconds since 1970 by default. Seconds, as an
   * integration's own `extractCredentials` may give, are understood too.
   */
  readonly expires_at?: number;
  /** Further members that `extractCredentials` returned. */
  readonly [key: string]: unknown;
}
