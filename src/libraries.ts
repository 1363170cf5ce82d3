/**
 * Libraries of hundreds of small files, each as one file: Node spends a third of a millisecond on
 * every file that it links, which was a third of a start and most of a short command.
 *
 * The first start of a clone bundles them; the npm package carries them. Where that is not
 * possible, Node loads the files of the packages.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { findPackageJSON, registerHooks } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { KEPT, PREBUILT_LIBRARIES } from './own-files.ts';

/** Library → paths of it that are imported. What is missing here would be a second copy. */
const LIBRARIES = { kysely: ['/migration'], typebox: ['/schema', '/value'] } as const;
/** What is imported of the libraries. */
export const BUNDLED: readonly string[] = Object.entries(LIBRARIES).flatMap(([library, paths]) => [
  library,
  ...paths.map((path) => `${library}${path}`),
]);
const nameOf = (specifier: string): string => specifier.replace('/', '-');

/** Bundles the libraries into a folder that does not exist yet. */
export async function bundleLibraries(folder: string): Promise<void> {
  const { build } = await import('esbuild');
  const made = `${folder}.${process.pid}`;
  try {
    await build({
      entryPoints: BUNDLED.map((specifier) => ({ in: specifier, out: nameOf(specifier) })),
      ...{ absWorkingDir: fileURLToPath(new URL('..', import.meta.url)), outdir: made, logLevel: 'silent' },
      // What two of them share is one file, and one module.
      ...{ bundle: true, splitting: true, format: 'esm', platform: 'node', target: 'node26' },
    });
    // By rename: another start may make it at the same time.
    renameSync(made, folder);
  } catch (cause) {
    rmSync(made, { recursive: true, force: true });
    if (!existsSync(folder)) throw cause;
  }
}

/** The folder of the bundles; undefined where there are none, and none can be written. */
async function bundles(): Promise<string | undefined> {
  if (KEPT === undefined) return existsSync(PREBUILT_LIBRARIES) ? PREBUILT_LIBRARIES : undefined;
  try {
    const folder = join(KEPT, ['libraries', ...Object.keys(LIBRARIES).map(versionOf)].join('-'));
    mkdirSync(KEPT, { recursive: true });
    if (!existsSync(folder)) await bundleLibraries(folder);
    return folder;
  } catch {
    return undefined;
  }
}

function versionOf(library: string): string {
  const manifest = readFileSync(findPackageJSON(library, import.meta.url) ?? '', 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}

/** Call it before the first import of what uses a library. */
export async function useBundledLibraries(): Promise<void> {
  const folder = await bundles();
  if (folder === undefined) return;
  registerHooks({
    resolve(specifier, context, next) {
      if (!BUNDLED.includes(specifier)) return next(specifier, context);
      const url = pathToFileURL(join(folder, `${nameOf(specifier)}.js`)).href;
      return { url, format: 'module', shortCircuit: true };
    },
  });
}
