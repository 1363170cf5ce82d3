/**
 * The source files of this repository and what they import, for the tests of its rules. It reads
 * text and resolves relative paths only.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** Source files below a folder, as paths from the root of the repository. */
export const filesIn = (folder: string): string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.(tsx?|js)$/.test(path))
    .map((path) => join(folder, path));

export const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
/** All code of the product. */
export const sources = [...filesIn('src'), ...filesIn('sandbox')];

export interface Import {
  readonly path: string;
  readonly typeOnly: boolean;
}

/** Relative imports of a file, as paths from the project's root; type-only imports are marked. */
export function imports(path: string): Import[] {
  const pattern =
    /^(?:import|export)\s+(type\s)?[^;]*?from '(\.[^']+)'|import '(\.[^']+)'|await import\('(\.[^']+)'\)/gm;
  return [...read(path).matchAll(pattern)].map(([, typeOnly, from, bare, lazy]) => ({
    path: relative(ROOT, join(ROOT, dirname(path), from ?? bare ?? lazy ?? '')),
    typeOnly: typeOnly !== undefined,
  }));
}

/**
 * Groups of files that import each other, directly or through others of the group: each as its
 * sorted paths, joined by spaces. (Tarjan's strongly connected components.)
 *
 * @param targetsOf the files that a file imports
 */
export function cycles(
  files: readonly string[],
  targetsOf = (path: string): readonly string[] => imports(path).map((target) => target.path),
): string[] {
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const open: string[] = [];
  const found: string[] = [];
  const known = new Set(files);

  function visit(path: string): number {
    const index = order.size;
    order.set(path, index);
    open.push(path);
    let low = index;
    for (const target of targetsOf(path)) {
      if (!known.has(target)) continue;
      if (!order.has(target)) low = Math.min(low, visit(target));
      else if (open.includes(target)) low = Math.min(low, lowest.get(target) ?? order.get(target) ?? low);
    }
    lowest.set(path, low);
    if (low !== index) return low;
    const group = open.splice(open.indexOf(path));
    if (group.length > 1) found.push(group.sort().join(' '));
    return low;
  }

  for (const path of files) if (!order.has(path)) visit(path);
  return found;
}

/**
 * Groups of sub-folders and files of a folder that import each other. A sub-folder imports what its
 * files import.
 */
export function folderCycles(folder: string): string[] {
  const child = (path: string): string => {
    const [name = '', ...below] = path.slice(folder.length).split('/');
    return below.length === 0 ? path : `${folder}${name}/`;
  };
  const targets = new Map<string, Set<string>>();
  for (const path of sources.filter((source) => source.startsWith(folder))) {
    const own = targets.get(child(path)) ?? new Set();
    targets.set(child(path), own);
    for (const target of imports(path))
      if (target.path.startsWith(folder) && child(target.path) !== child(path)) own.add(child(target.path));
  }
  return cycles([...targets.keys()], (path) => [...(targets.get(path) ?? [])]);
}
