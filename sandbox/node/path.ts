/**
 * `node:path`, `path/posix` and `path/win32`: one implementation, which two flavours tell what a
 * separator and what a root is (https://nodejs.org/api/path.html).
 *
 * The working directory of an isolate is `/`. Matching of globs is left out.
 */
import { unavailable, validateObject, validateString } from './errors.ts';

interface Parts {
  root: string;
  dir: string;
  base: string;
  ext: string;
  name: string;
}

/** The beginning of a path. */
interface Root {
  /** A drive or the root of a network share; undefined without one. */
  readonly device?: string | undefined;
  readonly absolute: boolean;
  /** Where the segments begin. */
  readonly end: number;
}

interface Flavour {
  readonly sep: string;
  readonly delimiter: string;
  isSeparator(char: string | undefined): boolean;
  rootOf(path: string): Root;
  /** Characters that `dirname` and `parse` leave together at the beginning. */
  rootLength(path: string): number;
}

const isLetter = (char = ''): boolean => /^[a-z]$/i.test(char);
const hasDrive = (path: string): boolean => isLetter(path[0]) && path[1] === ':';

const POSIX: Flavour = {
  sep: '/',
  delimiter: ':',
  isSeparator: (char) => char === '/',
  rootOf: (path) => ({ absolute: path[0] === '/', end: path[0] === '/' ? 1 : 0 }),
  rootLength: (path) => (path[0] === '/' ? 1 : 0),
};

const WIN32: Flavour = {
  sep: '\\',
  delimiter: ';',
  isSeparator: (char) => char === '/' || char === '\\',
  rootOf(path) {
    if (!WIN32.isSeparator(path[0])) {
      if (!hasDrive(path)) return { absolute: false, end: 0 };
      const absolute = WIN32.isSeparator(path[2]);
      return { device: path.slice(0, 2), absolute, end: absolute ? 3 : 2 };
    }
    const share = shareOf(path);
    if (share === undefined) return { absolute: true, end: WIN32.isSeparator(path[1]) ? 0 : 1 };
    const { server, name, end } = share;
    if (server === '.' || server === '?') return { device: `\\\\${server}`, absolute: true, end: 4 };
    return { device: `\\\\${server}\\${name}`, absolute: true, end };
  },
  rootLength(path) {
    if (!WIN32.isSeparator(path[0])) return WIN32.rootOf(path).end;
    const share = shareOf(path);
    return share === undefined ? 1 : Math.min(share.end + 1, path.length);
  },
};

/** The share of a network that a path begins with. */
function shareOf(path: string): { server: string; name: string; end: number } | undefined {
  const { isSeparator } = WIN32;
  if (!isSeparator(path[0]) || !isSeparator(path[1])) return undefined;
  let at = 2;
  const upTo = (separator: boolean): string => {
    const from = at;
    while (at < path.length && isSeparator(path[at]) === separator) at++;
    return path.slice(from, at);
  };
  const server = upTo(false);
  const between = upTo(true);
  const name = upTo(false);
  if (server === '' || between === '' || name === '') return undefined;
  return { server, name, end: at };
}

const RESERVED = /^(?:con|prn|aux|nul|(?:com|lpt)[1-9\u00b9\u00b2\u00b3])$/i;
/** Whether a path begins with the name of a device and a colon. */
const isReserved = (path: string, colon: number): boolean => RESERVED.test(path.slice(0, colon));

/** The segments of a path without `.` and, as far as possible, without `..`. */
function segments(path: string, { isSeparator }: Flavour, aboveRoot: boolean): string[] {
  const kept: string[] = [];
  let from = 0;
  for (let at = 0; at <= path.length; at++) {
    if (at < path.length && !isSeparator(path[at])) continue;
    const segment = path.slice(from, at);
    from = at + 1;
    if (segment === '' || segment === '.') continue;
    if (segment !== '..') kept.push(segment);
    else if (kept.length > 0 && kept.at(-1) !== '..') kept.pop();
    else if (aboveRoot) kept.push(segment);
  }
  return kept;
}

/** The last segment of a path, and where it begins and ends. */
function lastSegment(path: string, { isSeparator }: Flavour, from: number) {
  let end = path.length;
  while (end > from && isSeparator(path[end - 1])) end--;
  let start = end;
  while (start > from && !isSeparator(path[start - 1])) start--;
  return { text: path.slice(start, end), start };
}

function extensionOf(base: string): string {
  const dot = base.lastIndexOf('.');
  return dot <= 0 || base === '..' ? '' : base.slice(dot);
}

/** The functions of one flavour; each works without the object, as code takes them out of it. */
class Path {
  readonly #flavour: Flavour;
  readonly #windows: boolean;

  constructor(flavour: Flavour) {
    this.#flavour = flavour;
    this.#windows = flavour === WIN32;
    this.sep = flavour.sep;
    this.delimiter = flavour.delimiter;
  }

  readonly normalize = (path: string): string => {
    validateString(path, 'path');
    if (path === '') return '.';
    if (this.#windows && path.length === 1) return path === '/' ? this.sep : path;
    if (this.#windows) return normalizeWindows(path);
    const { absolute, end } = this.#flavour.rootOf(path);
    const text = segments(path.slice(end), this.#flavour, !absolute).join(this.sep);
    const trailing = this.#flavour.isSeparator(path.at(-1)) && (text !== '' || !absolute) ? this.sep : '';
    return absolute ? this.sep + text + trailing : (text || '.') + trailing;
  };

  readonly join = (...paths: string[]): string => {
    for (const path of paths) validateString(path, 'path');
    const given = paths.filter((path) => path !== '');
    if (given.length === 0) return '.';
    if (!this.#windows) return this.normalize(given.join(this.sep));
    const joined = withoutFalseShare(given.join(this.sep), given[0] as string);
    // The name of a device stays where it is.
    if (joined.split(this.sep).some((part) => part.includes(':') && isReserved(part, part.indexOf(':'))))
      return joined.replaceAll('/', this.sep);
    return this.normalize(joined);
  };

  readonly resolve = (...paths: string[]): string => {
    let device = '';
    let tail = '';
    let absolute = false;
    for (let at = paths.length - 1; at >= -1 && !(absolute && (device !== '' || !this.#windows)); at--) {
      const path = at < 0 ? '/' : (paths[at] as string);
      validateString(path, `paths[${at}]`);
      if (path === '') continue;
      const root = this.#flavour.rootOf(path);
      if (root.device !== undefined) {
        // A path of another drive says nothing of this one.
        if (device !== '' && root.device.toLowerCase() !== device.toLowerCase()) continue;
        device ||= root.device;
      }
      if (absolute) continue;
      tail = `${path.slice(root.end)}${this.sep}${tail}`;
      absolute = root.absolute;
    }
    const text = segments(tail, this.#flavour, !absolute).join(this.sep);
    return absolute ? `${device}${this.sep}${text}` : device + text || '.';
  };

  readonly isAbsolute = (path: string): boolean => {
    validateString(path, 'path');
    return this.#flavour.isSeparator(path[0]) || this.#flavour.rootOf(path).absolute;
  };

  readonly relative = (from: string, to: string): string => {
    validateString(from, 'from');
    validateString(to, 'to');
    const target = this.resolve(to);
    const fold = (text: string): string => (this.#windows ? text.toLowerCase() : text);
    const left = this.resolve(from).split(this.sep).filter(Boolean);
    const right = target.split(this.sep).filter(Boolean);
    let common = 0;
    while (common < left.length && fold(left[common] as string) === fold(right[common] ?? '')) common++;
    if (this.#windows && common === 0 && left.length > 0 && right.length > 0) return target;
    return [...left.slice(common).fill('..'), ...right.slice(common)].join(this.sep);
  };

  readonly dirname = (path: string): string => {
    validateString(path, 'path');
    const root = this.#flavour.rootLength(path);
    const { start } = lastSegment(path, this.#flavour, root);
    // Two slashes at the beginning of a path of POSIX are a root of their own.
    if (!this.#windows && root === 1 && start === 2) return '//';
    if (start > root) return path.slice(0, start - 1);
    return root === 0 ? '.' : path.slice(0, root);
  };

  readonly basename = (path: string, suffix?: string): string => {
    if (suffix !== undefined) validateString(suffix, 'suffix');
    validateString(path, 'path');
    if (suffix === path) return '';
    const from = this.#nameFrom(path);
    const { text } = lastSegment(path, this.#flavour, from);
    if (text === '' && suffix !== undefined && suffix !== '' && suffix.length <= path.length)
      return path.slice(from);
    const ends = suffix !== undefined && suffix !== '' && text !== suffix && text.endsWith(suffix);
    return ends ? text.slice(0, -suffix.length) : text;
  };

  readonly extname = (path: string): string => {
    validateString(path, 'path');
    return extensionOf(lastSegment(path, this.#flavour, this.#nameFrom(path)).text);
  };

  readonly parse = (path: string): Parts => {
    validateString(path, 'path');
    const root = this.#flavour.rootLength(path);
    const { text: base, start } = lastSegment(path, this.#flavour, root);
    const ext = extensionOf(base);
    const name = ext === '' ? base : base.slice(0, -ext.length);
    const dir = base !== '' && start > root ? path.slice(0, start - 1) : path.slice(0, root);
    return { root: path.slice(0, root), dir, base, ext, name };
  };

  readonly format = (parts: Partial<Parts>): string => {
    validateObject(parts, 'pathObject');
    const dir = parts.dir || parts.root;
    const ext = parts.ext ? (parts.ext.startsWith('.') ? parts.ext : `.${parts.ext}`) : '';
    const base = parts.base || `${parts.name || ''}${ext}`;
    if (!dir) return base;
    return dir === parts.root ? `${dir}${base}` : `${dir}${this.sep}${base}`;
  };

  readonly toNamespacedPath = (path: string): string => {
    if (!this.#windows || typeof path !== 'string' || path === '') return path;
    const resolved = this.resolve(path);
    if (resolved.length <= 2) return path;
    if (resolved.startsWith('\\\\')) {
      return resolved[2] === '?' || resolved[2] === '.' ? resolved : `\\\\?\\UNC\\${resolved.slice(2)}`;
    }
    return hasDrive(resolved) && resolved[2] === this.sep ? `\\\\?\\${resolved}` : resolved;
  };

  /** Where a name can begin: behind a drive. */
  readonly #nameFrom = (path: string): number => (this.#windows && hasDrive(path) ? 2 : 0);

  readonly matchesGlob = (): never => {
    throw unavailable('path.matchesGlob');
  };

  readonly sep: string;
  readonly delimiter: string;
  win32: Path = this;
  posix: Path = this;
  readonly _makeLong = this.toNamespacedPath;
}

/** Attack: `a/../C:/b`, a relative path that becomes one of a drive (CVE-2024-36139). */
function normalizeWindows(path: string): string {
  const { isSeparator } = WIN32;
  const share = shareOf(path);
  if (share?.end === path.length && share.server !== '.' && share.server !== '?') {
    return `\\\\${share.server}\\${share.name}\\`;
  }
  const colon = path.indexOf(':');
  const named = colon > 1 && isReserved(path, colon);
  const { device, absolute, end } = named
    ? { device: path.slice(0, colon + 1), absolute: false, end: colon + 1 }
    : WIN32.rootOf(path);
  let tail = segments(path.slice(end), WIN32, !absolute).join('\\');
  if (tail === '' && !absolute) tail = '.';
  if (tail !== '' && isSeparator(path.at(-1))) tail += '\\';
  if (!absolute && device === undefined && colon >= 0) {
    if (hasDrive(tail)) return `.\\${tail}`;
    for (let at = colon; at >= 0; at = path.indexOf(':', at + 1)) {
      if (at === path.length - 1 || isSeparator(path[at + 1])) return `.\\${tail}`;
    }
  }
  if (isReserved(path, colon)) return `.\\${device ?? ''}${tail}`;
  return `${device ?? ''}${absolute ? '\\' : ''}${tail}`;
}

/**
 * Joined paths without separators at the beginning that the first path does not have: these would
 * make a share of a network of two ordinary paths.
 */
function withoutFalseShare(joined: string, first: string): string {
  const { isSeparator } = WIN32;
  if (isSeparator(first[0]) && isSeparator(first[1]) && first.length > 2 && !isSeparator(first[2]))
    return joined;
  let at = 0;
  while (isSeparator(joined[at])) at++;
  return at > 1 ? `\\${joined.slice(at)}` : joined;
}

const posix = /* @__PURE__ */ new Path(POSIX);
const win32 = /* @__PURE__ */ new Path(WIN32);
posix.posix = win32.posix = posix;
posix.win32 = win32.win32 = win32;

export const { resolve, normalize, isAbsolute, join, relative, toNamespacedPath, dirname, basename } = posix;
export const { extname, format, parse, matchesGlob, sep, delimiter, _makeLong } = posix;
export { posix, win32 };
export default posix;
