/**
 * The files, folders and links of an archive as one tree, so that each part of a path is looked up once.
 *
 * A flat list would be searched for every link: 7,000 links to a folder of 2,000 files took most of a minute. The number of
 * nodes is bounded, because a path of 512 characters can be 256 folders.
 */

/** One name in a folder. */
export interface ArchiveNode {
  readonly children: Map<string, ArchiveNode>;
  /** Of a file. */
  bytes?: Uint8Array;
  /** Of a link: its path. */
  link?: string;
  /** Whether it is or holds a file or a link: a walk leaves out all others. */
  holds: boolean;
}

/** What a walk comes by, with its path below the folder that the walk began in. */
export interface Met {
  readonly path: string;
  readonly node: ArchiveNode;
}

export class ArchiveTree {
  readonly root: ArchiveNode = { children: new Map(), holds: false };
  readonly #nodesMax: number;
  #nodes = 0;

  constructor(nodesMax: number) {
    this.#nodesMax = nodesMax;
  }

  /**
   * The node of a path, made where it is not there.
   *
   * @param holds whether it is a file or a link
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

  /** The path of the innermost link that a path leads through, itself not included. */
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

/** All files and links below a folder. */
export function* below(folder: ArchiveNode, prefix = ''): Generator<Met> {
  for (const [name, node] of folder.children) {
    if (!node.holds) continue;
    const path = prefix === '' ? name : `${prefix}/${name}`;
    if (node.bytes !== undefined || node.link !== undefined) yield { path, node };
    yield* below(node, path);
  }
}
