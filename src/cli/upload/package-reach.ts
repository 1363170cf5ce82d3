/**
 * Which folders of the disk an upload may have files from, by their paths without links.
 *
 * Attack: `node_modules/x` of a cloned folder is a link to `~/.config`, and its code imports the
 * tokens there. A link in the folder is the word of the folder's author; only what the publisher
 * has on the disk says what else belongs to it. So a package is uploaded from
 *
 * - the folder itself;
 * - `node_modules` of a folder above, where a package manager has installed it: up to the folder
 *   that has the repository (`.git`), because what lies above a clone is of other projects;
 * - a member of the workspace that declares the folder, too. The workspace may be above the
 *   repository: its declaration is the consent. Its members are in it, whatever their links say.
 *
 * Nothing above is looked at from the home folder on, nor from a hidden folder or one for temporary
 * files: what lies there is of other projects, of other programs, or of other users.
 */
import { statSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join, posix, relative, resolve, sep } from 'node:path';
import { readYaml } from '../../model/manifest/yaml-source.ts';
import { isIn, readAt, realPath } from '../../real-files.ts';

const PACKAGES = 'node_modules';
/** Largest `package.json` and declaration of a workspace that are read. */
const BYTES_MAX = 1024 * 1024;
/** Most patterns of a workspace, and longest one. Attack: patterns that are matched for minutes. */
const PATTERNS_MAX = 1_000;
const PATTERN_CHARS_MAX = 200;
/** Mode of a folder in which every user can make files: `/tmp`. */
const SHARED = 0o1002;

export class PackageReach {
  readonly #folder: string;
  /** Folders whose `node_modules` are in reach, the nearest first. */
  readonly #above: readonly string[];
  readonly #workspace: Workspace | undefined;

  /** @param folder path of the integration's folder, without links */
  constructor(folder: string) {
    this.#folder = folder;
    const above = [...foldersAbove(folder)];
    this.#workspace = above.map((root) => workspaceAt(root)).find((found) => found?.declares(folder));
    const repository = [folder, ...above].findIndex(isRepository);
    const ofWorkspace = above.indexOf(this.#workspace?.root ?? '') + 1;
    this.#above = repository === -1 ? above : above.slice(0, Math.max(repository, ofWorkspace));
  }

  /**
   * The folder by whose word a package belongs to the upload: the integration's, that of a
   * `node_modules`, or that of a workspace.
   *
   * @param real path of the package without links
   * @param name as it is imported
   * @returns undefined where the package is none of the upload
   */
  baseOf(real: string, name: string): string | undefined {
    if (isIn(this.#folder, real)) return this.#folder;
    const owner = this.#above.find((folder) => isIn(join(folder, PACKAGES), real));
    if (owner !== undefined) return isInstalled(real, name) ? owner : undefined;
    const workspace = this.#workspace;
    if (workspace === undefined || !isIn(workspace.root, real)) return undefined;
    const [member = real] = real.split(`${sep}${PACKAGES}${sep}`);
    if (!workspace.has(member)) return undefined;
    const isPackage = member === real ? nameIn(real) === name : isInstalled(real, name);
    return isPackage ? workspace.root : undefined;
  }

  /** Whether a path without links is in a folder above that belongs to the same work. */
  isAbove(real: string): boolean {
    return (
      this.#above.some((folder) => isIn(folder, real)) && !real.split(sep).some((part) => /^\.\w/.test(part))
    );
  }

  /**
   * The member of the workspace that a path leads into, whether or not there is a file.
   *
   * @returns its folder without links, and `at`, the same as the path writes it
   */
  memberAt(path: string): { folder: string; at: string; name: string; base: string } | undefined {
    const workspace = this.#workspace;
    if (workspace === undefined) return undefined;
    for (let at = path; at !== dirname(at) && isIn(workspace.root, at); at = dirname(at)) {
      const folder = realPath(at);
      const name = folder !== undefined && workspace.has(folder) ? nameIn(folder) : undefined;
      if (folder !== undefined && name !== undefined) return { folder, at, name, base: workspace.root };
    }
    return undefined;
  }
}

/** Why no upload is made of a folder; undefined where one is. @param given its absolute path */
export function folderFault(given: string): string | undefined {
  const real = realPath(given);
  if (real === undefined) return undefined;
  if (dirname(real) === homeFolder() && isHidden(real)) return `${real} holds settings of your programs.`;
  // Attack: `annex dev app`, where `app` of a cloned folder is a link to the folder of all clones.
  for (let at = dirname(given); at !== dirname(at); at = dirname(at)) {
    const way = realPath(at);
    if (way !== undefined && way !== real && isIn(real, way))
      return `${given} is a link to a folder above it.`;
  }
  return undefined;
}

/**
 * The same where the manifest was found, and not named. Attack: the folder is one of all clones, by
 * a link that a shell has followed, and the only manifest in it is that of a cloned folder.
 *
 * @param manifest its path in the folder
 */
export function manifestFault(given: string, manifest: string): string | undefined {
  for (let at = posix.dirname(manifest); at !== '.'; at = posix.dirname(at))
    if (hasHome(given) || isRepository(join(given, at)))
      return `The manifest ${manifest} is of another folder: ${join(given, at)}.`;
  return undefined;
}

/**
 * Whether a path without links is of the home folder, where that is in the folder of an upload, as
 * in a container: all of it, or its settings where it is the folder itself.
 *
 * @param folder without links
 */
export function isOfHome(folder: string, path: string): boolean {
  const home = homeFolder();
  const inHome = relative(home, path);
  return isIn(home, path) && (home === folder ? inHome.startsWith('.') : isIn(folder, home));
}

const hasHome = (folder: string): boolean => isIn(realPath(folder) ?? folder, homeFolder());

const isRepository = (folder: string): boolean =>
  statSync(join(folder, '.git'), { throwIfNoEntry: false }) !== undefined;

/** A user who is a number alone, as in some containers, has none: that is the root. */
function homeFolder(): string {
  let home: string;
  try {
    home = homedir();
  } catch {
    return sep;
  }
  return realPath(home) ?? resolve(home);
}

const isHidden = (folder: string): boolean => basename(folder).startsWith('.');

/** Folders above one that may belong to the same work, the nearest first. */
export function* foldersAbove(folder: string): Iterable<string> {
  const home = homeFolder();
  for (let at = dirname(folder); at !== dirname(at); at = dirname(at)) {
    if (isIn(at, home) || isHidden(at)) return;
    // Attack: another user's `/tmp/node_modules`.
    if ((statSync(at).mode & SHARED) === SHARED) return;
    yield at;
  }
}

/** Whether a package manager has put a package there: under its name, or another name for it. */
function isInstalled(real: string, name: string): boolean {
  const own = nameIn(real);
  return own !== undefined && [own, name].some((each) => real.endsWith(join(sep, PACKAGES, each)));
}

/** The name in the `package.json` of a folder. */
function nameIn(folder: string): string | undefined {
  const { name } = packageFile(folder);
  return typeof name === 'string' && name !== '' ? name : undefined;
}

function packageFile(folder: string): { readonly name?: unknown; readonly workspaces?: unknown } {
  try {
    const value: unknown = JSON.parse(
      new TextDecoder().decode(readAt(join(folder, 'package.json'), BYTES_MAX)),
    );
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    // It is not for this to report.
    return {};
  }
}

/** Folders that belong together by the declaration of a folder above them. */
class Workspace {
  readonly root: string;
  readonly #patterns: readonly string[];
  readonly #excluded: readonly string[];

  constructor(root: string, patterns: readonly string[]) {
    this.root = root;
    const plain = (pattern: string) => posix.join('.', pattern).replace(/\/$/, '');
    this.#patterns = patterns.filter((each) => !each.startsWith('!')).map(plain);
    this.#excluded = patterns.filter((each) => each.startsWith('!')).map((each) => plain(each.slice(1)));
  }

  /** Whether a folder is a member. */
  has(folder: string): boolean {
    const path = relative(this.root, folder).split(sep).join('/');
    const matches = (pattern: string) => posix.matchesGlob(path, pattern);
    return isIn(this.root, folder) && this.#patterns.some(matches) && !this.#excluded.some(matches);
  }

  /** Whether a folder is a member, or in one. */
  declares(folder: string): boolean {
    for (let at = folder; at !== this.root; at = dirname(at)) if (this.has(at)) return true;
    return false;
  }
}

function workspaceAt(root: string): Workspace | undefined {
  const { workspaces } = packageFile(root);
  const patterns = [...patternsIn(workspaces), ...patternsIn(pnpmFile(root))];
  return patterns.length === 0 ? undefined : new Workspace(root, patterns);
}

function pnpmFile(root: string): unknown {
  const text = readAt(join(root, 'pnpm-workspace.yaml'), BYTES_MAX);
  return text === undefined ? undefined : readYaml(String(text), '').value;
}

/** npm and pnpm have a list, Yarn also an object with one. */
function patternsIn(declared: unknown): string[] {
  const list = Array.isArray(declared)
    ? declared
    : (declared as { packages?: unknown } | undefined)?.packages;
  return Array.isArray(list)
    ? list
        .slice(0, PATTERNS_MAX)
        .filter((each) => typeof each === 'string' && each.length <= PATTERN_CHARS_MAX)
    : [];
}
