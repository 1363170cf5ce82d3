/**
 * Gives each package a folder in the upload, so that the service finds for every import the package
 * that the folder of the author has; and writes the `tsconfig.json` of an upload, where that of the
 * folder is about files outside. Pure: looks at nothing but the imports that were found.
 *
 * A package manager may keep packages elsewhere and link to them; an upload has no links. The
 * layout is npm's: a package lies in the `node_modules` of the root where that is free, else in
 * that of its importer.
 *
 * A `tsconfig.json` that extends one of a folder above, or whose paths lead into other members of a
 * workspace, has other places in an upload: there it names each import that was found with the file
 * that it means. Of a file above, nothing else is sent but the options that compile the code.
 */

import { posix } from 'node:path';
import { baseName, type Tsconfig } from '../../imports/tsconfig.ts';
import type { Package } from './disk-tree.ts';
import type { FoundImport, Reached } from './reach-files.ts';

/** Most places of packages. Attack: versions that exclude each other, which lie in many folders. */
const PLACES_MAX = 5_000;

/** Folder in the upload, empty for the root → the package that lies there. */
export type PackageLayout = ReadonlyMap<string, Package>;

/** @returns undefined where there would be too many places */
export function layOut(root: Package): PackageLayout | undefined {
  const places = new Map<string, Package>([['', root]]);
  // A package's imports are placed before those of the packages in it, so no later place comes
  // between an import and its package.
  for (const [folder, { imports }] of places) {
    for (const [name, found] of imports) {
      for (const wanted of found) place(places, folder, name, wanted);
    }
    if (places.size > PLACES_MAX) return undefined;
  }
  return places;
}

function place(places: Map<string, Package>, importer: string, name: string, wanted: Package): void {
  const found = visibleFrom(places, importer, name);
  if (found === wanted) return;
  const folder = inModules(found === undefined ? '' : importer, name);
  // Taken: two folders of the importer see two packages of one name, and an upload can have one.
  if (!places.has(folder)) places.set(folder, wanted);
}

/** The package that an import from a folder leads to. */
function visibleFrom(places: PackageLayout, importer: string, name: string): Package | undefined {
  const parts = importer === '' ? [] : importer.split('/');
  for (; ; parts.pop()) {
    const found = places.get(inModules(parts.join('/'), name));
    if (found !== undefined || parts.length === 0) return found;
  }
}

const inModules = (folder: string, name: string): string =>
  `${folder === '' ? '' : `${folder}/`}node_modules/${name}`;

interface WrittenFile {
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
