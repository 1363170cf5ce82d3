/**
 * Turns the links of an archive into plain files of the upload.
 *
 * Bundling knows names and bytes, no links, so each is followed here once and for all: a link to a file becomes that
 * file, a link to a folder all files of it under its own name. Followed as a file system would, part by part, but
 * inside the archive alone: a link is an attacker's way to name what the archive does not contain.
 */

import { problem } from '../../model/problem.ts';
import { quote, type Upload } from '../upload.ts';

/** A link of an archive, as it was packed. */
export interface ArchiveLink {
  readonly kind: 'symlink' | 'hardlink';
  readonly target: string;
}

/** Links followed on the way to one file. Enough for the layouts of package managers; a circle ends here. */
const HOPS_MAX = 10;
/** Longest target looked at. */
const TARGET_CHARS_MAX = 512;

type Found = { readonly path: string } | { readonly fault: string };

/** Follows the links of one archive. */
export class ArchiveLinks {
  readonly #links = new Map<string, Link>();
  readonly #files: ReadonlyMap<string, Uint8Array>;
  readonly #folders: ReadonlySet<string>;

  /** @param folders folders that the archive names, empty ones included; those of files are known without. */
  constructor(
    links: Iterable<readonly [path: string, link: ArchiveLink]>,
    files: ReadonlyMap<string, Uint8Array>,
    folders: ReadonlySet<string>,
  ) {
    for (const [path, link] of links) this.#links.set(path, readLink(path, link));
    this.#files = files;
    this.#folders = folders;
  }

  /**
   * Adds what every link stands for. One that leaves the archive, ends nowhere or runs in a circle is a problem that
   * names it.
   *
   * @param stepsMax links followed in all. A folder of two links to a folder of two links, thirty deep, would be
   *   followed a billion times without a single file to count.
   */
  addTo(upload: Upload, stepsMax: number): void {
    for (const path of this.#files.keys()) {
      // Packed as `a -> /etc` and then `a/passwd`, an entry leaves the folder that it seems to be in.
      const via = this.#linkAbove(path);
      if (via !== undefined && !upload.note(linkProblem(via, 'has other entries of the archive below it')))
        return;
    }
    const walk = { upload, steps: stepsMax };
    for (const path of this.#links.keys()) if (!this.#add(walk, path, path, [])) return;
  }

  /** Adds what a link stands for under the name `as`. @returns false once reading should stop. */
  #add(
    walk: { readonly upload: Upload; steps: number },
    link: string,
    as: string,
    via: readonly string[],
  ): boolean {
    const { upload } = walk;
    walk.steps -= 1;
    if (walk.steps < 0) {
      upload.note(problem('The links of the archive multiply without end.', HINT));
      return false;
    }
    const found = via.includes(link) ? { fault: 'runs in a circle' } : this.#follow(link);
    if ('fault' in found) return upload.note(linkProblem(link, found.fault));
    const bytes = this.#files.get(found.path);
    if (bytes !== undefined) return upload.add(as, bytes);
    const folder = found.path === '' ? '' : `${found.path}/`;
    // A folder that holds the link itself would hold itself for ever.
    if (link.startsWith(folder)) return upload.note(linkProblem(link, 'runs in a circle'));
    for (const [path, content] of this.#files) {
      if (path.startsWith(folder) && !upload.add(`${as}/${path.slice(folder.length)}`, content)) return false;
    }
    for (const inner of this.#links.keys()) {
      if (!inner.startsWith(folder)) continue;
      if (!this.#add(walk, inner, `${as}/${inner.slice(folder.length)}`, [...via, link])) return false;
    }
    return true;
  }

  /** Walks from a link to the file or folder behind it, which is no link itself. */
  #follow(link: string): Found {
    const place: string[] = [];
    let ahead = link.split('/');
    let hops = 0;
    for (let part = ahead.shift(); part !== undefined; part = ahead.shift()) {
      if (part === '' || part === '.') continue;
      if (part === '..') {
        if (place.pop() === undefined) return { fault: 'leaves the archive' };
        continue;
      }
      place.push(part);
      const next = this.#links.get(place.join('/'));
      if (next === undefined) continue;
      hops += 1;
      if (hops > HOPS_MAX) return { fault: 'runs in a circle' };
      if (next.fault !== undefined) return { fault: next.fault };
      place.splice(0, place.length, ...next.from);
      ahead = [...next.target, ...ahead];
    }
    const path = place.join('/');
    return this.#exists(path) ? { path } : { fault: 'points to nothing in the archive' };
  }

  #exists(path: string): boolean {
    if (path === '' || this.#files.has(path) || this.#folders.has(path)) return true;
    for (const file of this.#files.keys()) if (file.startsWith(`${path}/`)) return true;
    for (const link of this.#links.keys()) if (link.startsWith(`${path}/`)) return true;
    return false;
  }

  #linkAbove(path: string): string | undefined {
    for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
      const folder = path.slice(0, end);
      if (this.#links.has(folder)) return folder;
    }
    return undefined;
  }
}

/** A link, ready to be followed. */
interface Link {
  /** Parts of the folder where the target starts. */
  readonly from: readonly string[];
  readonly target: readonly string[];
  readonly fault?: string;
}

function readLink(path: string, { kind, target }: ArchiveLink): Link {
  // The target of a symbolic link starts at its folder, that of a hard link at the root of the archive.
  const from = kind === 'symlink' ? path.split('/').slice(0, -1) : [];
  if (target.startsWith('/')) return { from, target: [], fault: 'leaves the archive' };
  if (target.length > TARGET_CHARS_MAX) return { from, target: [], fault: 'has a target that is too long' };
  return { from, target: target.split('/') };
}

const HINT = { hint: 'Pack the files themselves: tar --dereference --hard-dereference.' };

const linkProblem = (link: string, fault: string) =>
  problem(`The link ${quote(link)} ${fault}.`, { file: link, ...HINT });
