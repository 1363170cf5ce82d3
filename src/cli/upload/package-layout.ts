/**
 * Gives each package a folder in the upload, so that the service finds for every import the package
 * that the folder of the author has.
 *
 * A package manager may keep packages elsewhere and link to them; an upload has no links. The
 * layout is npm's: a package lies in the `node_modules` of the root where that is free, else in
 * that of its importer. Pure: looks at nothing but the imports that were found.
 */
import type { Package } from './disk-tree.ts';

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
