/**
 * What a new installation starts as (SPEC "States and transitions", REFERENCE D11).
 *
 * Pure: the store keeps the rows, this file says what goes into them. Later edits of a configuration are validated
 * against the whole schema; at install there is nothing to validate but what the defaults leave open.
 */
import type { Configuration, Manifest } from './manifest.ts';

/** `paused` is set and cleared by the API alone; `pending` waits for a valid configuration (REFERENCE D11). */
export type InstallationStatus = 'active' | 'pending' | 'paused';

/** External ids of one installation (REFERENCE 2), and the length of each. */
export const EXTERNAL_IDS_MAX = 5;
export const EXTERNAL_ID_CHARS = 256;

/** A new installation's configuration and status. */
export interface InitialInstallation {
  readonly configuration: Readonly<Record<string, unknown>>;
  readonly status: InstallationStatus;
}

/**
 * Applies the defaults of the account configuration; what is required and still unset makes the installation
 * `pending`, otherwise it is `active` at once.
 */
export function initialInstallation(manifest: Pick<Manifest, 'configurations'>): InitialInstallation {
  const account = manifest.configurations.account;
  const configuration = defaults(account);
  const complete = (account?.required ?? []).every((name) => Object.hasOwn(configuration, name));
  return { configuration, status: complete ? 'active' : 'pending' };
}

function defaults(schema: Configuration | undefined): Record<string, unknown> {
  const values: [string, unknown][] = [];
  for (const [name, property] of Object.entries(schema?.properties ?? {})) {
    if (property.default !== undefined) values.push([name, property.default]);
  }
  // `fromEntries` defines members; assigning a property named `__proto__` would set the prototype instead.
  return Object.fromEntries(values);
}
