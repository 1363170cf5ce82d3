/**
 * `npm run packages`: builds and packs the npm packages of this repository, `annex`,
 * `@annex/sdk`, `@annex/client`, `@annex/components` and `@annex/testing`, as `dist/*.tgz`. All have
 * the version of the repository.
 *
 * Each package is put together in `dist/<name>/` and packed by npm itself. Publishes nothing.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { compile } from './compile.ts';
import { buildComponents } from './components/build.ts';
import { importedPackages } from './imported-packages.ts';
import { type Prebuilt, writePrebuilt } from './prebuilt.ts';
import {
  describeTypedefs,
  GLOBALS_FILE,
  joinedDeclarations,
  joinedGlobals,
  SDK_SETTINGS,
} from './sdk/declarations.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** Integrations that `annex demo` publishes; a service has `webhook` built in. */
const TOUR = ['hello', 'confirmation', 'counter', 'plain-worker', 'greeter', 'webhook'];
/** Folders that the service or its command line reads, beside its code. */
const ANNEX_FOLDERS = [...TOUR.map((name) => `fixtures/${name}`), 'packages/annex/templates'];
const PACK_MS = 120_000;

interface Manifest {
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
}

/** Puts one package together in a folder. */
type Assemble = (folder: string, manifest: Manifest) => Promise<object>;

async function annex(folder: string, { dependencies, optionalDependencies }: Manifest): Promise<object> {
  const into = join(folder, 'dist');
  await compile({ config: 'packages/annex/tsconfig.json', root: '.', into });
  await cp(join(ROOT, 'packages/annex/bin'), join(folder, 'bin'), { recursive: true });
  for (const name of ANNEX_FOLDERS) await cp(join(ROOT, name), join(into, name), { recursive: true });
  const names = await importedPackages(into);
  const needed = Object.entries(dependencies).filter(([name]) => names.has(name));
  return { dependencies: Object.fromEntries(needed), optionalDependencies };
}

async function sdk(folder: string): Promise<object> {
  const into = join(folder, 'dist');
  await compile({ config: 'sandbox/sdk/tsconfig.json', root: 'sandbox/sdk', into });
  await describeTypedefs(into);
  await writeFile(join(into, GLOBALS_FILE), await joinedGlobals());
  await writeFile(join(folder, 'tsconfig.json'), SDK_SETTINGS);
  return {};
}

async function client(folder: string): Promise<object> {
  const into = join(folder, 'dist');
  // Its webhook verification is a file of the SDK.
  await compile({ config: 'packages/client/tsconfig.json', root: '.', into });
  return {};
}

async function components(folder: string): Promise<object> {
  const into = join(folder, 'dist');
  // The bounds of a drawing are those of the service.
  const project = { config: 'packages/components/tsconfig.json', root: '.', into };
  await compile({ ...project, declarationsOnly: true });
  await buildComponents(into);
  return {};
}

async function testing(folder: string): Promise<object> {
  const into = join(folder, 'dist');
  // It has the client in it. Of the service it has types alone: that is another process. It does not
  // name the package of that: npm would look for it in a registry.
  await compile({ config: 'packages/testing/tsconfig.json', root: '.', into });
  return {};
}

/** Folder below `packages/` → what makes it. */
const PACKAGES: Readonly<Record<string, Assemble>> = { annex, sdk, client, components, testing };

/** Builds all packages into a folder, in place of what it has. @returns the paths of the archives */
export async function buildPackages(into: string): Promise<readonly string[]> {
  await rm(into, { recursive: true, force: true });
  const manifest: Manifest = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
  const assembled = Object.entries(PACKAGES).map(async ([name, assemble]) => {
    const folder = join(into, name);
    await mkdir(folder, { recursive: true });
    const added = await assemble(folder, manifest);
    const own = JSON.parse(await readFile(join(ROOT, 'packages', name, 'package.json'), 'utf8')) as object;
    await writeFile(
      join(folder, 'package.json'),
      `${JSON.stringify({ ...own, version: manifest.version, ...added }, undefined, 2)}\n`,
    );
    const readme = join(ROOT, 'packages', name, 'README.md');
    if (existsSync(readme)) await cp(readme, join(folder, 'README.md'));
    await cp(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'));
    return folder;
  });
  const folders = await Promise.all(assembled);
  const prebuilt: Prebuilt = { sdkDeclarations: await joinedDeclarations(join(into, 'sdk/dist')) };
  await writePrebuilt(join(into, 'annex/dist/prebuilt'), prebuilt);
  await Promise.all(folders.map((folder) => pack(folder, into)));
  await carryArchives(into);
  const names = await readdir(into);
  return names.filter((name) => name.endsWith('.tgz')).map((name) => join(into, name));
}

/**
 * Puts all archives into that of `annex`, whose service and `annex new` offer them. The one of
 * `annex` that it carries has none itself.
 */
async function carryArchives(into: string): Promise<void> {
  const archives = (await readdir(into)).filter((name) => name.endsWith('.tgz'));
  const carried = join(into, 'annex/dist/packages');
  await Promise.all(archives.map((name) => cp(join(into, name), join(carried, name))));
  await pack(join(into, 'annex'), into);
}

/** npm itself packs: what is in the archive is what it would publish. */
async function pack(folder: string, into: string): Promise<void> {
  const flags = ['pack', '--ignore-scripts', '--silent', '--pack-destination', into];
  const { stdout } = await promisify(execFile)('npm', flags, { cwd: folder, timeout: PACK_MS });
  if (!stdout.includes('.tgz')) throw new Error(`npm packed nothing of ${folder}: ${stdout}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    for (const path of await buildPackages(join(ROOT, 'dist')))
      process.stdout.write(`dist/${basename(path)}\n`);
  } catch (cause) {
    process.stderr.write(`The packages were not built. ${cause instanceof Error ? cause.message : cause}\n`);
    process.exitCode = 1;
  }
}
