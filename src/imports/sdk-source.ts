/**
 * The sources of the SDK, as the bundler serves them to integrations under the name `@annex/sdk`.
 *
 * Read once, when the host starts: all versions published by one host process get the same SDK,
 * even while a deployment replaces the files. Bundling an upload reads nothing from the host's
 * disk.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { prebuilt } from '../own-files.ts';

const FOLDER = new URL('../../sandbox/sdk/', import.meta.url);
/** What surrounds workers that get requests. */
const WORKER = new URL('../../sandbox/worker/', import.meta.url);

/**
 * File name in the SDK's folder → its source; JavaScript for files that are also used without the
 * SDK, else TypeScript. Files of `sandbox/worker/` have `worker/` before their name.
 */
export const SDK_SOURCE: ReadonlyMap<string, string> = new Map(carried() ?? readSources());

/** What the npm package carries in the place of the folder. */
function carried(): Iterable<[string, string]> | undefined {
  const text = prebuilt('sdkSource');
  return text === undefined ? undefined : Object.entries(JSON.parse(text) as Record<string, string>);
}

function readSources(): Iterable<[string, string]> {
  return [
    ...filesIn(FOLDER),
    ...filesIn(WORKER).map(([name, text]): [string, string] => [`worker/${name}`, text]),
  ];
}

function filesIn(folder: URL): [string, string][] {
  return readdirSync(folder)
    .filter((name) => /(?<!\.d)\.[jt]s$/.test(name))
    .map((name) => [name, readFileSync(new URL(name, folder), 'utf8')]);
}

/** Import specifier → file name in `SDK_SOURCE`. */
export const SDK_ENTRIES: ReadonlyMap<string, string> = new Map([
  ['@annex/sdk', 'index.ts'],
  ['@annex/sdk/jsx-runtime', 'jsx-runtime.ts'],
  ['@annex/sdk/jsx-dev-runtime', 'jsx-runtime.ts'],
  ['cloudflare:workers', 'worker/module.ts'],
]);
