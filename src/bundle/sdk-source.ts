/**
 * The sources of the SDK, as the bundler serves them to integrations under the name `@annex/sdk`.
 *
 * Read once, when the host starts, and kept: every version published by one host gets the same SDK even while a
 * deployment replaces the files, and bundling an upload reads nothing from the host's disk.
 */
import { readdirSync, readFileSync } from 'node:fs';

const FOLDER = new URL('../../sandbox/sdk/', import.meta.url);

/** File name in the SDK's folder → its source: TypeScript, and JavaScript where a file can be used without the SDK, too. */
export const SDK_SOURCE: ReadonlyMap<string, string> = new Map(
  readdirSync(FOLDER)
    .filter((name) => /(?<!\.d)\.[jt]s$/.test(name))
    .map((name) => [name, readFileSync(new URL(name, FOLDER), 'utf8')]),
);

/** Import specifier → file of the SDK. */
export const SDK_ENTRIES: ReadonlyMap<string, string> = new Map([
  ['@annex/sdk', 'index.ts'],
  ['@annex/sdk/jsx-runtime', 'jsx-runtime.ts'],
  ['@annex/sdk/jsx-dev-runtime', 'jsx-runtime.ts'],
]);
