/**
 * The npm packages that compiled files import, so that a package depends on these alone. Reads text
 * and runs nothing.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** An import, or `require` and `resolve` with a fixed name, at which no relative path begins. */
const IMPORT =
  /(?:\bfrom |\bimport |\bimport\(|\brequire\(|\bresolve\()['"](@?[a-z][\w.-]*(?:\/[\w.-]+)*)['"]/g;

/** @returns the names of the packages, and of modules of Node that have no prefix */
export async function importedPackages(folder: string): Promise<ReadonlySet<string>> {
  const files = (await readdir(folder, { recursive: true })).filter((file) => file.endsWith('.js'));
  const names = new Set<string>();
  for (const file of files) {
    for (const [, specifier = ''] of (await readFile(join(folder, file), 'utf8')).matchAll(IMPORT))
      names.add(specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/'));
  }
  return names;
}
