/**
 * Installations, and space and site installations below them: their names, and the initial state
 * of a new one (`docs/contract/configuration.md#states`).
 *
 * Pure: the store keeps the rows, this file computes their initial values. `configuration-check.ts`
 * validates configurations.
 */
import type { Level } from './level.ts';
import { CREDENTIALS_PROPERTY } from './manifest/configuration.ts';
import type { Configuration, Manifest, ManifestTarget } from './manifest/manifest.ts';

/** Names one target: an installation, or its part in one space or one site. */
export interface TargetName {
  readonly installationId: string;
  readonly level: Level;
  /** Id of the space or the site; empty at the level of the organization. */
  readonly place: string;
}

/** The target at the level of the organization. */
export const wholeInstallation = (installationId: string): TargetName => ({
  installationId,
  level: 'organization',
  place: '',
});

/**
 * `paused` is set and cleared by the API alone; `pending` waits for a valid configuration
 * (`docs/contract/configuration.md#states`).
 */
export const INSTALLATION_STATUSES = ['active', 'pending', 'paused'] as const;
export type InstallationStatus = (typeof INSTALLATION_STATUSES)[number];

/**
 * Whether an installation covers all spaces (or sites) of its organization, or only those it is
 * installed in.
 */
export const SELECTIONS = ['all', 'selected'] as const;
export type Selection = (typeof SELECTIONS)[number];

/** External ids of one target (`docs/contract/environment.md#members`), and the length of each. */
export const EXTERNAL_IDS_MAX = 5;
export const EXTERNAL_ID_CHARS = 256;

/**
 * Whether a manifest's `target` allows a level; the organization level is always allowed.
 */
export const admitsLevel = (target: ManifestTarget, level: Level): boolean =>
  level === 'organization' || target === 'all' || target === level;

/** Configuration and status of a new target. */
export interface InitialInstallation {
  readonly configuration: Readonly<Record<string, unknown>>;
  readonly status: InstallationStatus;
}

/** The configuration that a manifest declares for a level; `account` is the organization's. */
export const configurationAt = (
  { configurations }: Pick<Manifest, 'configurations'>,
  level: Level,
): Configuration | undefined => configurations[level === 'organization' ? 'account' : level];

/**
 * Applies the defaults of the level's configuration. The target is `pending` while a required
 * property is unset, otherwise `active`.
 */
export function initialInstallation(
  manifest: Pick<Manifest, 'configurations'>,
  level: Level,
): InitialInstallation {
  const schema = configurationAt(manifest, level);
  const configuration = defaults(schema);
  const complete = (schema?.required ?? []).every((name) => Object.hasOwn(configuration, name));
  return { configuration, status: complete ? 'active' : 'pending' };
}

function defaults(schema: Configuration | undefined): Record<string, unknown> {
  const values: [string, unknown][] = [];
  for (const [name, property] of Object.entries(schema?.properties ?? {})) {
    // Credentials only come from OAuth and are stored encrypted, so a default does not apply.
    if (name === CREDENTIALS_PROPERTY) continue;
    if (property.default !== undefined) values.push([name, property.default]);
  }
  // `fromEntries` defines members; assigning a property named `__proto__` would set the prototype
  // instead.
  return Object.fromEntries(values);
}
