/**
 * Turns the links of an archive into plain files of the upload.
 *
 * Bundling knows names and bytes, no links, so each is followed here once and for all: a link to a file becomes that
 * file, a link to a folder all files of it under its own name. Followed as a file system would, part by part, but
 * inside the archive alone: a link is an attacker's way to name what the archive does not contain.
 */
import { problem } from '../../model/problem.ts';
import { pathProblem, quote, type UploadedFiles } from '../upload.ts';
import { type ArchiveNode, ArchiveTree, below } from './archive-tree.ts';

/** A link of an archive, as it was packed. */
export interface ArchiveLink {
  readonly kind: 'symlink' | 'hardlink';
  readonly target: string;
}

/** Links followed on the way to one file. Enough for the layouts of package managers; a circle ends here. */
const HOPS_MAX = 10;
/** Longest target looked at. */
const TARGET_CHARS_MAX = 512;

type Found = { readonly node: ArchiveNode; readonly path: string } | { readonly fault: string };

/** Bounds on the work for one archive. */
export interface LinkBounds {
  /** Links followed in all. A folder of two links to a folder of two links, thirty deep, would be followed a billion times. */
  readonly stepsMax: number;
  /** Names of files, folders and links, each part of a path counted once. */
  readonly nodesMax: number;
}

interface Walk {
  readonly upload: UploadedFiles;
  steps: number;
}

/** Follows the links of one archive: a bounded number of steps for each, and one look-up for each step. */
export class ArchiveLinks {
  readonly #links = new Map<string, Link>();
  readonly #files: ReadonlyMap<string, Uint8Array>;
  readonly #folders: ReadonlySet<string>;
  readonly #tree: ArchiveTree;
  readonly #bounds: LinkBounds;
  /** Where each link leads, once it has been followed. */
  readonly #followed = new Map<string, Found>();

  /** @param folders folders that the archive names, empty ones included; those of files are known without. */
  constructor(
    links: Iterable<readonly [path: string, link: ArchiveLink]>,
    files: ReadonlyMap<string, Uint8Array>,
    folders: ReadonlySet<string>,
    bounds: LinkBounds,
  ) {
    for (const [path, link] of links) this.#links.set(path, readLink(path, link));
    this.#files = files;
    this.#folders = folders;
    this.#tree = new ArchiveTree(bounds.nodesMax);
    this.#bounds = bounds;
  }

  /**
   * Adds what every link stands for. One that leaves the archive, ends nowhere or runs in a circle is a problem that
   * names it.
   */
  addTo(upload: UploadedFiles): void {
    if (this.#links.size === 0) return;
    if (!this.#plant()) {
      upload.note(problem(`The archive has more than ${this.#bounds.nodesMax} folders and files.`, HINT));
      return;
    }
    for (const path of this.#files.keys()) {
      // Packed as `a -> /etc` and then `a/passwd`, an entry leaves the folder that it seems to be in.
      const via = this.#tree.linkAbove(path);
      if (via !== undefined && !upload.note(linkProblem(via, 'has other entries of the archive below it')))
        return;
    }
    const walk = { upload, steps: this.#bounds.stepsMax };
    for (const path of this.#links.keys()) if (!this.#add(walk, path, path, [])) return;
  }

  /** @returns false where there are too many */
  #plant(): boolean {
    for (const path of this.#links.keys()) {
      const node = this.#tree.place(path, true);
      if (node === undefined) return false;
      node.link = path;
    }
    for (const [path, bytes] of this.#files) {
      const node = this.#tree.place(path, true);
      if (node === undefined) return false;
      node.bytes = bytes;
    }
    for (const path of this.#folders) if (this.#tree.place(path, false) === undefined) return false;
    return true;
  }

  /** Adds what a link stands for under the name `as`. @returns false once reading should stop. */
  #add(walk: Walk, link: string, as: string, via: readonly string[]): boolean {
    const { upload } = walk;
    walk.steps -= 1;
    if (walk.steps < 0) {
      upload.note(problem('The links of the archive multiply without end.', HINT));
      return false;
    }
    const found = via.includes(link) ? { fault: 'runs in a circle' } : this.#follow(link);
    if ('fault' in found) return upload.note(linkProblem(link, found.fault));
    const { node, path } = found;
    if (node.bytes !== undefined) return upload.add(as, node.bytes);
    // A folder that holds the link itself would hold itself for ever.
    if (path === '' || link.startsWith(`${path}/`)) return upload.note(linkProblem(link, 'runs in a circle'));
    // What is below it has a longer name still.
    const fault = pathProblem(as);
    if (fault !== undefined) return upload.note(fault);
    return this.#addFolder(walk, node, as, [...via, link]);
  }

  /** Files first: a link inside of the folder may be what is too much. */
  #addFolder(walk: Walk, folder: ArchiveNode, as: string, via: readonly string[]): boolean {
    const links: [link: string, path: string][] = [];
    for (const { node, path } of below(folder)) {
      if (node.link !== undefined) links.push([node.link, path]);
      if (node.bytes !== undefined && !walk.upload.add(`${as}/${path}`, node.bytes)) return false;
    }
    return links.every(([link, path]) => this.#add(walk, link, `${as}/${path}`, via));
  }

  #follow(link: string): Found {
    const known = this.#followed.get(link);
    if (known !== undefined) return known;
    const found = this.#walkTo(link);
    this.#followed.set(link, found);
    return found;
  }

  /** Walks from a link to the file or folder behind it, which is no link itself. */
  #walkTo(link: string): Found {
    /** Where the walk is: names, and the node of each as long as there is one. */
    const place: { readonly name: string; readonly node: ArchiveNode | undefined }[] = [];
    const here = () => (place.length === 0 ? this.#tree.root : place.at(-1)?.node);
    const enter = (name: string) => place.push({ name, node: here()?.children.get(name) });
    /** Names still to be walked, the next one last. */
    const ahead = link.split('/').reverse();
    let hops = 0;
    for (let part = ahead.pop(); part !== undefined; part = ahead.pop()) {
      if (part === '' || part === '.') continue;
      if (part === '..') {
        if (place.pop() === undefined) return { fault: 'leaves the archive' };
        continue;
      }
      enter(part);
      const at = here()?.link;
      const next = at === undefined ? undefined : this.#links.get(at);
      if (next === undefined) continue;
      hops += 1;
      if (hops > HOPS_MAX) return { fault: 'runs in a circle' };
      if (next.fault !== undefined) return { fault: next.fault };
      place.length = 0;
      for (const name of next.from) enter(name);
      for (const name of next.target.toReversed()) ahead.push(name);
    }
    const node = here();
    if (node === undefined) return { fault: 'points to nothing in the archive' };
    return { node, path: place.map(({ name }) => name).join('/') };
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
