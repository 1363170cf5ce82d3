/**
 * Resolves the links of an archive into plain files of the upload.
 *
 * The bundler has no links, so each is resolved here: a link to a file becomes a copy of that file,
 * a link to a folder becomes copies of its files under the link's name. Links are followed part by
 * part, as a file system does, but only inside the archive. Attack: a link that names a file
 * outside of the archive.
 */
import { quote } from '../../../model/plain-text.ts';
import { problem } from '../../../model/problem.ts';
import { pathProblem, type UploadedFiles } from '../upload.ts';

/** A link as the archive contains it. */
export interface ArchiveLink {
  readonly kind: 'symlink' | 'hardlink';
  readonly target: string;
}

/** Most links followed to reach one file: enough for package managers; ends a circle. */
const HOPS_MAX = 10;
/** Longest target that is followed. */
const TARGET_CHARS_MAX = 512;

type Found = { readonly node: ArchiveNode; readonly path: string } | { readonly fault: string };

/** Limits on the work for one archive. */
export interface LinkBounds {
  /**
   * Most links followed in total. Attack: folders of two links to the next folder, thirty deep,
   * multiply to a billion.
   */
  readonly stepsMax: number;
  /** Most files, folders and links in the tree; a shared part of a path counts once. */
  readonly nodesMax: number;
}

interface Walk {
  readonly upload: UploadedFiles;
  steps: number;
}

/**
 * Follows the links of one archive: a bounded number of steps for each link, one map look-up for
 * each step.
 */
export class ArchiveLinks {
  readonly #links = new Map<string, Link>();
  readonly #files: ReadonlyMap<string, Uint8Array>;
  readonly #folders: ReadonlySet<string>;
  readonly #tree: ArchiveTree;
  readonly #bounds: LinkBounds;
  /** Link → its target, or the fault; cached once it has been followed. */
  readonly #followed = new Map<string, Found>();

  /**
   * @param folders folder entries of the archive, also empty ones; the folders of files need no
   * entry.
   */
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
   * Adds the files behind every link. A link that leaves the archive, has no target or is circular
   * becomes a problem.
   */
  addTo(upload: UploadedFiles): void {
    if (this.#links.size === 0) return;
    if (!this.#plant()) {
      upload.note(problem(`The archive has more than ${this.#bounds.nodesMax} folders and files.`, HINT));
      return;
    }
    for (const path of this.#files.keys()) {
      // Attack: the entries `a -> /etc` and then `a/passwd`: the second one leaves its folder
      // through the link.
      const via = this.#tree.linkAbove(path);
      if (via !== undefined && !upload.note(linkProblem(via, 'has other entries of the archive below it')))
        return;
    }
    const walk = { upload, steps: this.#bounds.stepsMax };
    for (const path of this.#links.keys()) if (!this.#add(walk, path, path, [])) return;
  }

  /** Builds the tree. @returns false where it would have too many nodes */
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

  /**
   * Adds the file or folder behind a link, under the name `as`. @returns false once reading should
   * stop.
   */
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
    // A link to one of its own parent folders would contain itself endlessly.
    if (path === '' || link.startsWith(`${path}/`)) return upload.note(linkProblem(link, 'runs in a circle'));
    // Stops at a path that is too long: every path below it is longer.
    const fault = pathProblem(as);
    if (fault !== undefined) return upload.note(fault);
    return this.#addFolder(walk, node, as, [...via, link]);
  }

  /** Adds the files before the links, because the links may exceed the limits. */
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

  /** Follows a link to its file or folder, through other links. */
  #walkTo(link: string): Found {
    /** Path so far: names, each with its node if the archive has one. */
    const place: { readonly name: string; readonly node: ArchiveNode | undefined }[] = [];
    const here = () => (place.length === 0 ? this.#tree.root : place.at(-1)?.node);
    const enter = (name: string) => place.push({ name, node: here()?.children.get(name) });
    /** Remaining parts of the path, next one last. */
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

/** A link whose target is split into parts. */
interface Link {
  /** Parts of the folder that the target is relative to. */
  readonly from: readonly string[];
  readonly target: readonly string[];
  readonly fault?: string;
}

function readLink(path: string, { kind, target }: ArchiveLink): Link {
  // A symbolic link's target is relative to its folder, a hard link's to the root of the archive.
  const from = kind === 'symlink' ? path.split('/').slice(0, -1) : [];
  if (target.startsWith('/')) return { from, target: [], fault: 'leaves the archive' };
  if (target.length > TARGET_CHARS_MAX) return { from, target: [], fault: 'has a target that is too long' };
  return { from, target: target.split('/') };
}

const HINT = { hint: 'Pack the files themselves: tar --dereference --hard-dereference.' };

const linkProblem = (link: string, fault: string) =>
  problem(`The link ${quote(link)} ${fault}.`, { file: link, ...HINT });

/** One name in a folder. */
interface ArchiveNode {
  readonly children: Map<string, ArchiveNode>;
  /** Content; only of a file. */
  bytes?: Uint8Array;
  /** The link's own path; only of a link. */
  link?: string;
  /** Whether it is a file or a link, or contains one; a walk skips other nodes. */
  holds: boolean;
}

/** A file or link found by a walk; `path` is relative to the folder where the walk began. */
interface Met {
  readonly path: string;
  readonly node: ArchiveNode;
}

class ArchiveTree {
  readonly root: ArchiveNode = { children: new Map(), holds: false };
  readonly #nodesMax: number;
  #nodes = 0;

  constructor(nodesMax: number) {
    this.#nodesMax = nodesMax;
  }

  /**
   * Returns the node of a path; creates missing nodes.
   *
   * @param holds whether the path is a file or a link
   * @returns undefined once the tree is full
   */
  place(path: string, holds: boolean): ArchiveNode | undefined {
    let node = this.root;
    node.holds ||= holds;
    for (const part of path.split('/')) {
      let child = node.children.get(part);
      if (child === undefined) {
        this.#nodes += 1;
        if (this.#nodes > this.#nodesMax) return undefined;
        child = { children: new Map(), holds: false };
        node.children.set(part, child);
      }
      child.holds ||= holds;
      node = child;
    }
    return node;
  }

  /** Path of the innermost link among the parent folders of a path. */
  linkAbove(path: string): string | undefined {
    let node: ArchiveNode | undefined = this.root;
    let found: string | undefined;
    const parts = path.split('/');
    for (const part of parts.slice(0, -1)) {
      node = node.children.get(part);
      if (node === undefined) break;
      found = node.link ?? found;
    }
    return found;
  }
}

/**
 * Tree of the files, folders and links of an archive: one map look-up for each part of a path.
 *
 * Attack: 7,000 links to a folder of 2,000 files take most of a minute if every link searches a
 * flat list. The number of nodes is bounded, because a path of 512 characters can contain 256
 * folders.
 *
 * Yields all files and links below a folder.
 */
function* below(folder: ArchiveNode, prefix = ''): Generator<Met> {
  for (const [name, node] of folder.children) {
    if (!node.holds) continue;
    const path = prefix === '' ? name : `${prefix}/${name}`;
    if (node.bytes !== undefined || node.link !== undefined) yield { path, node };
    yield* below(node, path);
  }
}
