/**
 * What an integration's own manifest says about the types of its code. Types only.
 *
 * `npm run types -- <folder>` reads the manifest and writes `annex-env.d.ts`, which fills in the one open interface below;
 * the rest follows from it. Without that file every name may be asked for, and a value is `unknown`.
 */

/** Settings of a target, where nothing more is known of them. */
export type Configuration = Readonly<Record<string, unknown>>;

/**
 * Filled in by the generated file, by declaration merging. Its members:
 * `account`, `space`, `site`: the configuration of each level, complete; `secrets`: name to value; `components`: the ids
 * that the manifest names.
 */
// biome-ignore lint/suspicious/noEmptyInterface: a type alias could not be filled in from another file.
export interface ManifestTypes {}

/** One member of the filled-in interface; `Loose` where it was not filled in. */
type Declared<Member extends string, Loose> = ManifestTypes extends { readonly [Name in Member]: infer Own }
  ? Own
  : Loose;

/** `configurations.account` of the manifest, as it is when every required property is set. */
export type AccountConfiguration = Declared<'account', Configuration>;
/** `configurations.space` of the manifest, as it is when every required property is set. */
export type SpaceConfiguration = Declared<'space', Configuration>;
/** `configurations.site` of the manifest, as it is when every required property is set. */
export type SiteConfiguration = Declared<'site', Configuration>;

/** Values of the manifest's `secrets`, by name. */
export type Secrets = Declared<'secrets', Readonly<Record<string, string>>>;

/** Offers the ids of the manifest, and takes any other: not every component is a block. */
export type ComponentId = Declared<'components', never> | (string & {});

type NamesOf<Levels> = Levels extends unknown ? keyof Levels : never;
type ValueOf<Levels, Name> = Levels extends unknown
  ? Name extends keyof Levels
    ? Levels[Name]
    : never
  : never;

/**
 * The configuration of whichever target a call is for. It may be of any level, so it has the properties of all, each
 * optional, and of the type that it has at the levels that have it.
 */
export type TargetConfiguration<
  Account,
  Levels = Account | SpaceConfiguration | SiteConfiguration,
> = Readonly<{ [Name in NamesOf<Levels>]?: ValueOf<Levels, Name> }>;

/** `configuration.oauth_credentials`: what `extractCredentials` made of the provider's answer (SPEC "OAuth handler"). */
export interface OAuthCredentials {
  readonly access_token?: string;
  readonly refresh_token?: string;
  /**
   * When `access_token` is over: milliseconds since 1970, unless the integration's own `extractCredentials` says otherwise;
   * seconds are understood, too.
   */
  readonly expires_at?: number;
  readonly [key: string]: unknown;
}
