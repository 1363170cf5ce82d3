/**
 * The files of a folder and of the packages that it has in `node_modules`, as a tree for the
 * resolver of imports. Remembers every file that the resolver reads: an upload of exactly these
 * files resolves each import to the same file.
 *
 * A package is the folder that a path `node_modules/<name>` leads to, by links too, where
 * `package-reach.ts` finds it to belong to the upload: as npm, pnpm, yarn and workspaces lay
 * packages out. Nothing else outside of the folder can be read. A link inside the folder or inside
 * a package that leaves it is refused.
 *
 * Paths on the disk are written as the resolver of imports writes paths: with slashes, and without
 * one at the beginning. The root of the disk is the empty path.
 */

import { readdirSync, statSync } from 'node:fs';
import { basename, sep } from 'node:path';
import type { FileTree } from '../../imports/resolve-import.ts';
import { readAt, realPath } from '../../real-files.ts';
import type { Exclusion } from './never-uploaded.ts';
import { PackageReach } from './package-reach.ts';

/** `/a/b` → `a/b`; on Windows `C:\a\b` → `C:/a/b`. */
const fromDisk = (path: string): string => path.split(sep).join('/').replace(/^\//, '');

/** The opposite of `fromDisk`. */
export const toDisk = (path: string): string => (sep === '/' ? `/${path}` : path.split('/').join(sep));

/** Most files, and most bytes of files, that are read. They bound memory; an upload has less. */
const FILES_MAX = 20_000;
const BYTES_MAX = 256 * 1024 * 1024;
/** Largest configuration of a folder above that is read. */
const CONFIGURATION_BYTES_MAX = 1024 * 1024;

const IN_PACKAGE = /^(.*(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/.@][^/]*))(?:\/(.*))?$/s;

/** A folder whose files are looked up together: that of the integration, or that of a package. */
export interface Package {
  /** 0 is the folder of the integration. */
  readonly id: number;
  /** Path without links, as `disk-path.ts` writes paths. */
  readonly folder: string;
  /** The folder by whose word it belongs to the upload, written so too. */
  readonly base: string;
  /** The files that were read, by their path in the folder. */
  readonly files: Map<string, ReadFile>;
  /** Imported packages: name → every package that was found by it. */
  readonly imports: Map<string, Set<Package>>;
}

export interface FileInPackage {
  readonly package: Package;
  /** Path in the package's folder. */
  readonly path: string;
}

interface ReadFile {
  readonly bytes: Uint8Array;
  /** Path without links, as `disk-path.ts` writes paths. */
  readonly real: string;
}

/** Why a file that is there is left out; or a package, by its path without links. */
export type Refusal =
  | { readonly place: FileInPackage; readonly why: Exclusion | 'leaves' }
  | { readonly folder: string; readonly why: 'foreign' };

export class DiskTree implements Exclude<FileTree, ReadonlyMap<string, Uint8Array>> {
  readonly packages: Package[] = [];
  /** What was looked for and is left out, since the last call of `searchFrom`. */
  refused: Refusal[] = [];
  /** Whether reading stopped at a bound. */
  overflowed = false;
  readonly #exclusion: (path: string, owner: Package) => Exclusion | undefined;
  readonly #reach: PackageReach;
  readonly #byFolder = new Map<string, Package>();
  /** Path `…/node_modules/<name>` → the package that was found there, or why it is none. */
  readonly #mounts = new Map<string, Package | Refusal>();
  /** Path → real path, or undefined where there is nothing. */
  readonly #realPaths = new Map<string, string | undefined>();
  readonly #absent = new Set<string>();
  #searching: Package;
  #files = 0;
  #bytes = 0;

  /**
   * @param folder path of the folder of an integration, without links
   * @param exclusion decides by a path in a package's folder, and in that by whose word it is there
   */
  constructor(folder: string, exclusion: (path: string, owner: Package) => Exclusion | undefined) {
    this.#exclusion = exclusion;
    this.#reach = new PackageReach(folder);
    this.#searching = this.#packageIn(fromDisk(folder), fromDisk(folder));
  }

  /** The folder of the integration. */
  get root(): Package {
    return this.packages[0] as Package;
  }

  /** Looks up files for an importer of this package from now on. */
  searchFrom(importer: Package): void {
    this.#searching = importer;
    this.refused = [];
  }

  get(path: string): Uint8Array | undefined {
    const place = this.locate(path);
    return place && this.read(place);
  }

  has(path: string): boolean {
    return this.get(path) !== undefined;
  }

  /**
   * Whether there is a package, or one that is refused: it is in the place of those above. Asked
   * for paths `…/node_modules/<name>` only.
   */
  hasFolder(path: string): boolean {
    const [, , name, inside] = IN_PACKAGE.exec(path) ?? [];
    if (name === undefined || inside !== undefined) return false;
    const found = this.#mounts.get(path) ?? this.#mounted(path, name);
    if (found === undefined) return false;
    if ('why' in found) return this.refused.push(found) > 0;
    const known = this.#searching.imports.get(name) ?? new Set();
    this.#searching.imports.set(name, known.add(found));
    return true;
  }

  /**
   * A `tsconfig.json`, or a file that one extends. One of a folder above is not uploaded: the
   * members of it that are known go into the one of the upload (`upload-tsconfig.ts`).
   */
  configuration(path: string): Uint8Array | undefined {
    const place = this.locate(path);
    if (place !== undefined) return this.read(place);
    const real = this.#realPath(path);
    const isConfiguration = real?.endsWith('.json') && this.#reach.isAbove(toDisk(real));
    return real !== undefined && isConfiguration ? readAt(toDisk(real), CONFIGURATION_BYTES_MAX) : undefined;
  }

  /**
   * Where the upload has a file: in the folder as it is, in another member of the workspace as in a
   * package of that name.
   */
  member(path: string): string | undefined {
    const own = this.#searching;
    if (inFolder(own.folder, path) !== undefined) return path;
    const found = this.#reach.memberAt(toDisk(path));
    if (found === undefined) return undefined;
    const mount = `${own.folder}/node_modules/${found.name}`;
    const folder = fromDisk(found.folder);
    const mounted = this.#mounts.get(mount) ?? this.#packageIn(folder, fromDisk(found.base));
    if ('why' in mounted || mounted.folder !== folder) return undefined;
    this.#mounts.set(mount, mounted);
    own.imports.set(found.name, (own.imports.get(found.name) ?? new Set<Package>()).add(mounted));
    return `${mount}/${path.slice(fromDisk(found.at).length + 1)}`;
  }

  /** The package that a path belongs to, for the present importer; undefined outside of all. */
  locate(path: string): FileInPackage | undefined {
    let folder = path;
    for (let found = IN_PACKAGE.exec(folder); found !== null; found = IN_PACKAGE.exec(folder)) {
      const [, prefix = ''] = found;
      const mounted = this.#mounts.get(prefix);
      if (mounted !== undefined) return placeIn(mounted, path.slice(prefix.length + 1));
      folder = prefix.slice(0, prefix.lastIndexOf('node_modules/'));
    }
    const own = this.#searching;
    const below = inFolder(own.folder, path);
    if (below === undefined) return undefined;
    // A file of a package by its path: `./node_modules/a/style.css`.
    const [prefix] = /^node_modules\/(?:@[^/]+\/)?[^/.@][^/]*(?=\/)/.exec(below) ?? [];
    const beside = `${own.folder}/${prefix}`;
    if (prefix === undefined || !this.hasFolder(beside)) return { package: own, path: below };
    return placeIn(this.#mounts.get(beside), below.slice(prefix.length + 1));
  }

  /** Reads a file and remembers it; undefined where there is none, or where it is left out. */
  read(place: FileInPackage): Uint8Array | undefined {
    const { package: owner, path } = place;
    const known = owner.files.get(path);
    if (known !== undefined) return known.bytes;
    const whole = pathOf(place);
    if (this.#absent.has(whole)) return undefined;
    const found = statSync(toDisk(whole), { throwIfNoEntry: false });
    const read = found?.isFile() ? this.#allowed(place, whole, found.size) : 'absent';
    if (read === 'absent') this.#absent.add(whole);
    else if (read !== undefined) owner.files.set(path, read);
    return typeof read === 'object' ? read.bytes : undefined;
  }

  #allowed(place: FileInPackage, whole: string, size: number): ReadFile | 'absent' | undefined {
    const { package: owner, path } = place;
    const real = this.#realPath(whole);
    const inside = real === undefined || path.startsWith('../') ? undefined : inFolder(owner.folder, real);
    const why = inside === undefined ? 'leaves' : this.#excluded(owner, path, inside);
    if (real === undefined || why !== undefined) {
      this.refused.push({ place, why: why ?? 'leaves' });
      return undefined;
    }
    this.#files += 1;
    this.#bytes += size;
    if (this.#files > FILES_MAX || this.#bytes > BYTES_MAX) {
      this.overflowed = true;
      return undefined;
    }
    const bytes = readAt(toDisk(real), BYTES_MAX);
    return bytes === undefined ? 'absent' : { bytes, real };
  }

  /**
   * By the path as it is written, by that of what it leads to, and by the place of its package.
   * Attack: `node_modules/a` is a link to the folder's own `.git`, where no file has a telling
   * name.
   */
  #excluded(owner: Package, path: string, inside: string): Exclusion | undefined {
    const { folder, base } = owner;
    const inBase = folder === base ? inside : `${inFolder(base, folder)}/${inside}`;
    const judge = base === this.root.folder && !inBase.includes('node_modules/') ? this.root : owner;
    return this.#exclusion(path, owner) ?? this.#exclusion(inside, owner) ?? this.#exclusion(inBase, judge);
  }

  #packageIn(folder: string, base: string): Package {
    const known = this.#byFolder.get(folder);
    if (known !== undefined) return known;
    const made: Package = { id: this.packages.length, folder, base, files: new Map(), imports: new Map() };
    this.#byFolder.set(folder, made);
    this.packages.push(made);
    return made;
  }

  #mounted(path: string, name: string): Package | Refusal | undefined {
    const folder = this.#realPath(path);
    if (folder === undefined) return undefined;
    const base = this.#reach.baseOf(toDisk(folder), name);
    // Package managers leave empty folders behind.
    if (base !== undefined && isEmpty(folder)) return undefined;
    const found =
      base === undefined
        ? { folder: toDisk(folder), why: 'foreign' as const }
        : this.#packageIn(folder, fromDisk(base));
    this.#mounts.set(path, found);
    return found;
  }

  #realPath(path: string): string | undefined {
    if (!this.#realPaths.has(path)) {
      const real = realPath(toDisk(path));
      this.#realPaths.set(path, real === undefined ? undefined : fromDisk(real));
    }
    return this.#realPaths.get(path);
  }
}

/** Path of a place as the resolver writes it. */
export const pathOf = ({ package: { folder }, path }: FileInPackage): string => `${folder}/${path}`;

/** A name for messages: that of the package's folder. */
export const nameOf = ({ folder }: Package): string => IN_PACKAGE.exec(folder)?.[2] ?? basename(folder);

function inFolder(folder: string, path: string): string | undefined {
  return path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : undefined;
}

const placeIn = (found: Package | Refusal | undefined, path: string): FileInPackage | undefined =>
  found === undefined || 'why' in found ? undefined : { package: found, path };

function isEmpty(folder: string): boolean {
  try {
    return readdirSync(toDisk(folder)).length === 0;
  } catch {
    return true;
  }
}
