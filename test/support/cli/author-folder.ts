/** Folders of integrations for tests of the commands of authors. */
import { cp, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

const MODULES = fileURLToPath(new URL('../../../node_modules', import.meta.url));

/** @param more lines of the manifest */
export const manifestOf = (name: string, script = 'src/index.ts', more = ''): string =>
  `name: ${name}\ntitle: Test\ndescription: For a test.\norganization: acme\nvisibility: private\nscopes: []\nscript: ${script}\n${more}`;

/** Writes files below a folder. */
export async function write(folder: string, files: Readonly<Record<string, string>>): Promise<string> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  return folder;
}

/** A folder for one test. */
export async function folderWith(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await suiteFolder(files);
  // A service of the folder's tests may still write its cache of compiled code there.
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 20 }));
  return folder;
}

/** A folder for the tests of a suite, which removes it. */
export async function suiteFolder(files: Readonly<Record<string, string>>): Promise<string> {
  return write(await realpath(await mkdtemp(join(tmpdir(), 'annex-author-'))), files);
}

/** Installs packages of this repository in a folder, with what they depend on. */
export async function installPackages(folder: string, names: readonly string[]): Promise<void> {
  const found = new Set(names);
  for (const name of found) {
    await cp(join(MODULES, name), join(folder, 'node_modules', name), { recursive: true });
    const { dependencies = {} } = JSON.parse(await readFile(join(MODULES, name, 'package.json'), 'utf8'));
    for (const dependency of Object.keys(dependencies)) found.add(dependency);
  }
}

/** Gives the programs of a folder the packages of this repository. No upload takes them. */
export const withInstalledPackages = (folder: string): Promise<void> =>
  symlink(MODULES, join(folder, 'node_modules'));
