/**
 * Files of Annex itself that are started or read at run time, in a clone and in the npm package.
 *
 * A clone runs its TypeScript, and builds texts of it when it starts. Node does not strip types
 * below `node_modules`, so the package has the same folders in JavaScript. It has no sources and no
 * compiler: `npm run packages` builds the texts, and the package carries them.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const EXTENSION = import.meta.url.endsWith('.ts') ? '.ts' : '.js';
const ROOT = fileURLToPath(new URL('..', import.meta.url));
const PREBUILT = new URL('../prebuilt/', import.meta.url);

/** Folder of the bundled libraries of the npm package (`libraries.ts`). */
export const PREBUILT_LIBRARIES = fileURLToPath(new URL('libraries', PREBUILT));

/**
 * Archives of the npm packages of Annex: in a clone, those that `npm run packages` makes. No
 * program and no page has npm look for them in a registry. Attack: packages of their names, which
 * anybody may publish there.
 */
export const ARCHIVES = new URL(EXTENSION === '.ts' ? '../dist/' : '../packages/', import.meta.url);

/**
 * Folder of what a clone makes once and starts with from then on; absent in the npm package. Who
 * may write to it may write to the packages beside it, and `npm ci` removes both.
 */
export const KEPT: string | undefined =
  EXTENSION === '.ts' ? fileURLToPath(new URL('../node_modules/.cache/annex/', import.meta.url)) : undefined;

/** The program `annex`. */
export const PROGRAM = fileURLToPath(
  new URL(EXTENSION === '.ts' ? '../packages/annex/bin/annex.js' : '../../bin/annex.js', import.meta.url),
);

/** File of the archive of a package, as `npm pack` names it. */
export const archiveName = (name: string, version: string): string =>
  `${name.replace('@', '').replace('/', '-')}-${version}.tgz`;

/** Texts that the package carries. */
export const PREBUILT_FILES = {
  /** What cells and bundlers run, as JSON. */
  cellSources: 'cell-sources.json',
  /** Sources that bundles contain, as JSON: file → text. */
  sdkSource: 'sdk-source.json',
  nodeSource: 'node-source.json',
  /** Declarations of the SDK and of the globals of an isolate. */
  sdkDeclarations: 'annex-sdk.d.ts',
  /** Script of the page of `annex dev`. */
  devPage: 'dev-page.js',
  /** Script of the console. */
  console: 'console.js',
  /** Script of the portal. */
  portal: 'portal.js',
} as const;

/**
 * Path of a program that another process runs.
 *
 * @param name path without extension, relative to the module that starts it
 * @param from `import.meta.url` of that module
 */
export const programPath = (name: string, from: string): string =>
  fileURLToPath(new URL(`${name}${EXTENSION}`, from));

/** A text that the package carries. @returns undefined in a clone, where it is built */
export const prebuilt = (file: keyof typeof PREBUILT_FILES): string | undefined =>
  EXTENSION === '.ts' ? undefined : readFileSync(new URL(PREBUILT_FILES[file], PREBUILT), 'utf8');

/** The script of a page, of its sources. @param files gets each file that it is made of */
export async function pageScript(entry: string, files = new Set<string>()): Promise<string> {
  const { build } = await import('esbuild');
  const { outputFiles, metafile } = await build({
    ...{ entryPoints: [entry], absWorkingDir: ROOT, bundle: true, write: false, metafile: true },
    ...{ format: 'esm', target: 'es2024', platform: 'browser', minify: true, legalComments: 'none' },
    ...{ jsx: 'automatic', jsxImportSource: 'preact', logLevel: 'silent' },
  });
  for (const path of Object.keys(metafile.inputs)) files.add(join(ROOT, path));
  return outputFiles[0]?.text ?? '';
}

/** What was built of files, with a digest of each of them. */
interface Kept<T> {
  readonly made: Readonly<Record<string, string>>;
  readonly value: T;
}

/**
 * The value that an earlier start has built of the same files, or builds it. A file that changes
 * meanwhile, or a folder that cannot be written to, keeps nothing.
 *
 * @param path of the file that keeps it
 * @param build adds each file that it reads
 */
export async function builtOnce<T>(path: string, build: (files: Set<string>) => Promise<T>): Promise<T> {
  const kept = await readFile(path, 'utf8')
    .then(async (text) => {
      const { made, value } = JSON.parse(text) as Kept<T>;
      return JSON.stringify(await digests(Object.keys(made))) === JSON.stringify(made)
        ? { value }
        : undefined;
    })
    // None, half of one, or of a file that is no more.
    .catch(() => undefined);
  if (kept !== undefined) return kept.value;
  const since = Date.now();
  const files = new Set<string>();
  const value = await build(files);
  await keep(path, value, { files: [...files].sort(), since }).catch(() => undefined);
  return value;
}

async function keep(
  path: string,
  value: unknown,
  { files, since }: { readonly files: readonly string[]; readonly since: number },
): Promise<void> {
  for (const file of files) if ((await stat(file)).mtimeMs >= since) return;
  const kept: Kept<unknown> = { made: await digests(files), value };
  await mkdir(dirname(path), { recursive: true });
  // By rename: another start reads it at any time.
  const written = `${path}.${process.pid}`;
  await writeFile(written, JSON.stringify(kept));
  await rename(written, path);
}

async function digests(paths: readonly string[]): Promise<Record<string, string>> {
  const digest = async (path: string) =>
    [
      path,
      createHash('sha256')
        .update(await readFile(path))
        .digest('hex'),
    ] as const;
  return Object.fromEntries(await Promise.all(paths.map(digest)));
}
