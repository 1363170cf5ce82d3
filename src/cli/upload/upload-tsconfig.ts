/**
 * The `tsconfig.json` of an upload, where that of a folder is about files outside: it extends one
 * of a folder above, or its paths lead into other members of a workspace.
 *
 * An upload has its own places for such files, so its `tsconfig.json` names each import that was
 * found with the file that it means there. Of a file above, nothing else is sent but the options
 * that compile the code.
 */
import { posix } from 'node:path';
import { baseName, type Tsconfig } from '../../imports/tsconfig.ts';
import type { Package } from './disk-tree.ts';
import type { PackageLayout } from './package-layout.ts';
import type { FoundImport, Reached } from './reach-files.ts';

export interface WrittenFile {
  /** Path in the upload. */
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly config: Tsconfig;
}

/** @param root the folder of the integration */
export function writtenConfigs(
  root: Package,
  { imports, tsconfig }: Reached,
  layout: PackageLayout,
): WrittenFile[] {
  const users = new Map<Tsconfig, Package>(tsconfig ? [[tsconfig, root]] : []);
  for (const { by, importer } of imports) if (by !== undefined) users.set(by, importer.package);
  return [...users].flatMap(([config, user]) => {
    const mapped = imports.filter(({ by }) => by === config);
    const isOutside =
      config.files.some((file) => !isIn(user.folder, file) && !file.includes('/node_modules/')) ||
      mapped.some(({ target }) => target.package !== user);
    if (!isOutside) return [];
    const own = isIn(user.folder, config.path) ? config.path.slice(user.folder.length + 1) : baseName(config);
    return placesOf(user, layout).map((folder): WrittenFile => {
      const path = posix.join(folder, own);
      const compilerOptions = {
        ...config.options,
        paths: pathsOf(mapped, folder, posix.dirname(path), layout),
      };
      return { path, bytes: Buffer.from(JSON.stringify({ compilerOptions }, undefined, 2)), config };
    });
  });
}

const isIn = (folder: string, path: string): boolean => path.startsWith(`${folder}/`);

const placesOf = (wanted: Package, layout: PackageLayout): string[] =>
  [...layout].filter(([, owner]) => owner === wanted).map(([folder]) => folder);

/** @param user the folder in the upload of the package that imports */
function pathsOf(mapped: readonly FoundImport[], user: string, from: string, layout: PackageLayout) {
  return Object.fromEntries(
    mapped.map(({ specifier, importer, target }) => {
      const places = target.package === importer.package ? [user] : placesOf(target.package, layout);
      // The nearest one: a package may lie in several places.
      const seen = places.filter((place) =>
        `${user}/`.startsWith(place.slice(0, place.lastIndexOf('node_modules/'))),
      );
      const file = posix.join(seen.at(-1) ?? places[0] ?? '', target.path);
      const path = posix.relative(from, file);
      return [specifier, [path.startsWith('.') ? path : `./${path}`]];
    }),
  );
}
