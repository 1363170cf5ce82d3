/**
 * Static files of a worker (docs/contract/plain-workers.md#static-files): which files of an upload
 * they are, which one a path means, and the rules of `_headers` and `_redirects`. Pure.
 *
 * The rules are an author's text, matched with paths of strangers: bounded in number, and each is
 * matched in time linear to the path. No rule becomes a regular expression.
 */
import type { Manifest } from './manifest.ts';
import { isImagePath } from './manifest-page.ts';
import type { Assets } from './worker.ts';

const HIDDEN = /(?:^|\/)(?:\.(?!well-known\/)|node_modules\/)/;

/** Path in the URL of a file of an upload, with a slash first; undefined for other files. */
export function staticPathIn({ assets }: Pick<Manifest, 'assets'>): (file: string) => string | undefined {
  if (assets === undefined) return () => undefined;
  const folder = `${assets.folder}/`;
  return (file) => {
    if (!file.startsWith(folder)) return undefined;
    const path = file.slice(folder.length);
    return isImagePath(path) && !HIDDEN.test(path) ? `/${path}` : undefined;
  };
}

/** Whether a stored file may have this path. */
export const isStaticPath = ({ assets }: Pick<Manifest, 'assets'>, path: string): boolean =>
  assets !== undefined && path.startsWith('/') && isImagePath(path.slice(1));

const REDIRECTS = '/_redirects';
const HEADERS = '/_headers';
/** Not served: they say how the others are. */
export const RULE_FILES = { redirects: REDIRECTS, headers: HEADERS } as const;

/** The file that a path means, or the path that leads to it. */
export type Found = { readonly file: string } | { readonly redirect: string } | undefined;

export function findFile(paths: ReadonlySet<string>, path: string, html: Assets['html']): Found {
  const has = (one: string) => paths.has(one) && one !== REDIRECTS && one !== HEADERS;
  const own = has(path) ? { file: path } : undefined;
  if (html === 'none') return own;
  if (own !== undefined) {
    const shorter = path.endsWith('/index.html') ? path.slice(0, -10) : path.replace(/\.html$/, '');
    return shorter === path || has(shorter) ? own : { redirect: shorter };
  }
  if (path.endsWith('/')) {
    if (has(`${path}index.html`)) return { file: `${path}index.html` };
    const page = path.slice(0, -1);
    return has(`${page}.html`) ? { redirect: page } : undefined;
  }
  if (has(`${path}.html`)) return { file: `${path}.html` };
  return has(`${path}/index.html`) ? { redirect: `${path}/` } : undefined;
}

/** The page for a path without a file: the nearest `404.html`. */
export function notFoundPage(paths: ReadonlySet<string>, path: string): string | undefined {
  for (let folder = path; folder !== ''; ) {
    folder = folder.slice(0, folder.lastIndexOf('/'));
    if (paths.has(`${folder}/404.html`)) return `${folder}/404.html`;
  }
  return undefined;
}

/** A path with one `*` at most, and `:name` for a whole segment. */
interface Pattern {
  readonly before: readonly string[];
  /** What follows the star; undefined without one. */
  readonly after: string | undefined;
}

function patternOf(text: string): Pattern | undefined {
  const parts = text.split('*');
  if (!text.startsWith('/') || parts.length > 2 || !text.isWellFormed()) return undefined;
  const [before = '', after] = parts.map(asSent);
  return { before: before.split('/'), after };
}

/** A path, as browsers send it. */
const asSent = (path: string): string => encodeURI(path).replaceAll('%25', '%');

/** @returns what `:name` and `*`, as `splat`, stand for */
function matched({ before, after }: Pattern, path: string): ReadonlyMap<string, string> | undefined {
  const found = new Map<string, string>();
  const segments = path.split('/');
  const whole = after === undefined ? before.length : before.length - 1;
  if (after === undefined ? segments.length !== whole : segments.length <= whole) return undefined;
  for (let at = 0; at < whole; at += 1) {
    const [wanted = '', given = ''] = [before[at], segments[at]];
    if (wanted.startsWith(':') && given !== '') found.set(wanted.slice(1), given);
    else if (wanted !== given) return undefined;
  }
  if (after === undefined) return found;
  const beginning = before[whole] ?? '';
  const rest = segments.slice(whole).join('/');
  if (rest.length < beginning.length + after.length) return undefined;
  if (!rest.startsWith(beginning) || !rest.endsWith(after)) return undefined;
  return found.set('splat', rest.slice(beginning.length, rest.length - after.length));
}

/**
 * Whether the worker answers before a file does. Attack: `/%61dmin/keys.txt`, which means the file
 * `/admin/keys.txt`, but begins with no `/admin/`.
 *
 * @param rules `workerFirst` of a manifest
 * @param decoded the path of the file that is meant
 */
export function isWorkerFirst(rules: readonly string[], decoded: string): boolean {
  const path = asSent(decoded);
  const fits = (rule: string) => {
    const pattern = patternOf(rule);
    return pattern !== undefined && matched(pattern, path) !== undefined;
  };
  return (
    rules.some((rule) => !rule.startsWith('!') && fits(rule)) &&
    !rules.some((rule) => rule.startsWith('!') && fits(rule.slice(1)))
  );
}

interface Ignored {
  readonly line: number;
  /** A clause. */
  readonly why: string;
}

export interface Redirect {
  readonly pattern: Pattern;
  readonly to: string;
  readonly status: number;
}

const LINE_CHARS_MAX = 2_000;
const REDIRECTS_MAX = 2_000;
const PATTERNS_MAX = 100;
const STATUSES = [200, 301, 302, 303, 307, 308];

/** Reads `_redirects`: lines of a path, where it leads, and a status. */
export function parseRedirects(text: string): {
  readonly exact: ReadonlyMap<string, Redirect>;
  readonly patterns: readonly Redirect[];
  readonly ignored: readonly Ignored[];
} {
  const exact = new Map<string, Redirect>();
  const patterns: Redirect[] = [];
  const ignored: Ignored[] = [];
  for (const [line, words] of wordsOf(text, ignored)) {
    const [from = '', to = '', code = '302'] = words;
    const pattern = patternOf(from);
    const status = Number(code);
    const isDynamic = /[*:]/.test(from);
    let why: string | undefined;
    if (pattern === undefined) why = 'it does not begin with a path that has one "*" at most';
    else if (!STATUSES.includes(status)) why = `its status is none of ${STATUSES.join(', ')}`;
    else if (!to.startsWith('/') && (status === 200 || targetUrl(to) === undefined))
      why = 'it leads neither to a path nor to an http or https URL';
    else if (isDynamic ? patterns.length >= PATTERNS_MAX : exact.size >= REDIRECTS_MAX)
      why = `there are more than ${isDynamic ? PATTERNS_MAX : REDIRECTS_MAX} of its kind`;
    if (why !== undefined || pattern === undefined) ignored.push({ line, why: why ?? '' });
    else if (isDynamic) patterns.push({ pattern, to, status });
    else if (!exact.has(encodeURI(from))) exact.set(encodeURI(from), { pattern, to, status });
  }
  return { exact, patterns, ignored };
}

/** An absolute URL of another server; nothing that stands for a part of the request is its host. */
function targetUrl(to: string): URL | undefined {
  if (!/^https?:\/\//i.test(to) || !URL.canParse(to)) return undefined;
  return new URL(to);
}

/**
 * Where a path leads.
 *
 * Attack: `/* /:splat` and a request for `//evil.example`, which would lead to another server. A
 * destination that is a path stays one: slashes at its beginning are one.
 */
export function redirectOf(
  { exact, patterns }: Pick<ReturnType<typeof parseRedirects>, 'exact' | 'patterns'>,
  path: string,
): { readonly to: string; readonly status: number; readonly isPath: boolean } | undefined {
  const fixed = exact.get(path);
  for (const { pattern, to, status } of fixed === undefined ? patterns : [fixed]) {
    const values = matched(pattern, path);
    if (values === undefined) continue;
    const filled = to.replaceAll(/:([A-Za-z]\w{0,63})/g, (name, key: string) => values.get(key) ?? name);
    if (to.startsWith('/')) {
      const url = new URL(`/${filled.replace(/^[/\\]+/, '')}`, 'http://files.invalid');
      // `/.//evil.example` has two slashes once it is read.
      const pathname = url.pathname.replace(/^\/+/, '/');
      return { to: `${pathname}${url.search}${url.hash}`, status, isPath: true };
    }
    const [url, written] = [targetUrl(filled), targetUrl(to)];
    if (url === undefined || url.origin !== written?.origin) return undefined;
    return { to: url.href, status, isPath: false };
  }
  return undefined;
}

export interface HeaderRule {
  readonly pattern: Pattern;
  readonly set: readonly (readonly [name: string, value: string])[];
  /** Names, in lower case. */
  readonly removed: readonly string[];
}

const HEADER_RULES_MAX = 100;
const HEADERS_MAX = 20;
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Headers of the host: of the connection, of the bytes that are sent, and cookies. */
const OWN_HEADERS = /^(?:set-cookie2?|content-(?:length|range|encoding)|transfer-encoding|etag|date|vary)$/;

/** Reads `_headers`: a path, and below it indented lines `Name: value`, or `! Name`. */
export function parseHeaderRules(text: string): {
  readonly rules: readonly HeaderRule[];
  readonly ignored: readonly Ignored[];
} {
  const rules: { pattern: Pattern; set: [string, string][]; removed: string[] }[] = [];
  const ignored: Ignored[] = [];
  let rule: (typeof rules)[number] | undefined;
  for (const [line, words, isIndented] of wordsOf(text, ignored)) {
    if (!isIndented) {
      const pattern = words.length === 1 ? patternOf(words[0] ?? '') : undefined;
      rule = pattern && rules.length < HEADER_RULES_MAX ? { pattern, set: [], removed: [] } : undefined;
      if (rule !== undefined) rules.push(rule);
      else ignored.push({ line, why: `it is no path, or there are more than ${HEADER_RULES_MAX}` });
      continue;
    }
    const written = words.join(' ');
    const colon = written.indexOf(':');
    const isRemoved = written.startsWith('!');
    const name = (isRemoved ? written.slice(1) : written.slice(0, Math.max(0, colon))).trim().toLowerCase();
    const value = written.slice(colon + 1).trim();
    if (rule === undefined) ignored.push({ line, why: 'no path is before it' });
    else if (!TOKEN.test(name) || !/^[\x20-\x7e]*$/.test(value))
      ignored.push({ line, why: 'it is no header' });
    else if (OWN_HEADERS.test(name)) ignored.push({ line, why: `"${name}" is set by the service alone` });
    else if (rule.set.length + rule.removed.length >= HEADERS_MAX)
      ignored.push({ line, why: `its path has more than ${HEADERS_MAX}` });
    else if (isRemoved) rule.removed.push(name);
    else rule.set.push([name, value]);
  }
  return { rules, ignored };
}

/** The headers of a file: those of the service, as the rules change them, in their order. */
export function withRules(
  rules: readonly HeaderRule[],
  path: string,
  headers: readonly (readonly [string, string])[],
): [string, string][] {
  const all = new Map(headers);
  for (const { pattern, set, removed } of rules) {
    if (matched(pattern, path) === undefined) continue;
    for (const name of removed) all.delete(name);
    for (const [name, value] of set) all.set(name, value);
  }
  return [...all];
}

function* wordsOf(
  text: string,
  ignored: Ignored[],
): Iterable<[line: number, words: string[], isIndented: boolean]> {
  for (const [index, line] of text.split('\n').entries()) {
    const written = line.trim();
    if (written === '' || written.startsWith('#')) continue;
    if (written.length > LINE_CHARS_MAX) ignored.push({ line: index + 1, why: 'it is too long' });
    else yield [index + 1, written.split(/\s+/), /^\s/.test(line)];
  }
}

const TYPES: Readonly<Record<string, string>> = {
  avif: 'image/avif',
  bin: 'application/octet-stream',
  css: 'text/css; charset=utf-8',
  csv: 'text/csv; charset=utf-8',
  gif: 'image/gif',
  htm: 'text/html; charset=utf-8',
  html: 'text/html; charset=utf-8',
  ico: 'image/vnd.microsoft.icon',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  js: 'text/javascript; charset=utf-8',
  json: 'application/json',
  map: 'application/json',
  md: 'text/markdown; charset=utf-8',
  mjs: 'text/javascript; charset=utf-8',
  mp3: 'audio/mpeg',
  mp4: 'video/mp4',
  otf: 'font/otf',
  pdf: 'application/pdf',
  png: 'image/png',
  svg: 'image/svg+xml',
  ttf: 'font/ttf',
  txt: 'text/plain; charset=utf-8',
  wasm: 'application/wasm',
  webm: 'video/webm',
  webmanifest: 'application/manifest+json',
  webp: 'image/webp',
  woff: 'font/woff',
  woff2: 'font/woff2',
  xml: 'application/xml',
  yaml: 'application/yaml',
  yml: 'application/yaml',
  zip: 'application/zip',
};

export function contentType(path: string): string {
  const extension = path.slice(path.lastIndexOf('.') + 1).toLowerCase();
  return Object.hasOwn(TYPES, extension) ? (TYPES[extension] ?? '') : 'application/octet-stream';
}

/**
 * Whether a name has a hash of the content, as bundlers write it: `app.3f2a1b9c.js`,
 * `index-DiwrgTd4.css`. A part of it with a digit and a letter, and hexadecimal or in both cases.
 */
export const isHashed = (path: string): boolean =>
  path
    .slice(path.lastIndexOf('/') + 1)
    .split(/[.-]/)
    .slice(1, -1)
    .some(
      (part) =>
        /^\w{8,64}$/.test(part) &&
        /\d/.test(part) &&
        ((/^[0-9a-f]+$/.test(part) && /[a-f]/.test(part)) || (/[a-z]/.test(part) && /[A-Z]/.test(part))),
    );
