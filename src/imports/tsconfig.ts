/**
 * What the `tsconfig.json` of an upload says: how its TypeScript is compiled, and which files its
 * import paths mean (`paths` and `baseUrl`).
 *
 * The file nearest to an importer counts, with those that it extends; `jsconfig.json` where there
 * is none. In a package it counts for TypeScript alone: packages of npm publish such files by
 * accident. Attack: `paths` or `extends` that name files of the host. All of them are looked for
 * among the files of the upload, and a path that leaves the upload is nothing.
 */
import { type Problem, warning } from '../model/problem.ts';
import { packageNameOf } from './node-modules.ts';
import { isRecord, matchPattern } from './package-entry.ts';
import { type FileTree, fileAt, join, type Resolution, resolveImport } from './resolve-import.ts';

/** Members of `compilerOptions` that are honoured as they are. */
const OPTIONS = [
  ...['experimentalDecorators', 'useDefineForClassFields', 'target', 'verbatimModuleSyntax'],
  ...['jsx', 'jsxImportSource', 'jsxFactory', 'jsxFragmentFactory', 'emitDecoratorMetadata'],
] as const;
type OptionName = (typeof OPTIONS)[number];

const NAMES = ['tsconfig.json', 'jsconfig.json'];
/** Largest file that is read. */
const BYTES_MAX = 64 * 1024;
/** Most files that one file extends, one beside the other and one after the other. */
const EXTENDED_MAX = 16;
/**
 * Most patterns of `paths`, and most targets of one. Attack: an import that is compared for
 * minutes.
 */
const PATTERNS_MAX = 1_000;
const TARGETS_MAX = 16;
/** Longest name of an extended file that is shown. */
const NAME_CHARS_MAX = 100;
/** In a path: the folder of the file that counts, also where it extends the one with the path. */
const CONFIG_FOLDER = '$' + '{configDir}';

/** A path, and the folder in which it counts. */
interface Located {
  readonly path: string;
  readonly folder: string;
}

interface Mapping {
  readonly pattern: string;
  readonly targets: readonly Located[];
}

/** A file with all that it extends. */
export interface Tsconfig {
  readonly path: string;
  readonly options: Readonly<Partial<Record<OptionName, unknown>>>;
  readonly paths: readonly Mapping[];
  readonly baseUrl: Located | undefined;
  /** The file and those that it extends. */
  readonly files: readonly string[];
  /** What it extends and is not there. */
  readonly absent: readonly string[];
}

/** Tree → folder or file → what counts there. */
const known = new WeakMap<FileTree, Map<string, Tsconfig | undefined>>();

/** The `tsconfig.json` that counts for a file. */
export function tsconfigOf(files: FileTree, importer: string): Tsconfig | undefined {
  if (packageNameOf(importer) !== undefined && !/\.[mc]?tsx?$/.test(importer)) return undefined;
  return inFolder(files, importer.slice(0, Math.max(0, importer.lastIndexOf('/'))));
}

function inFolder(files: FileTree, folder: string): Tsconfig | undefined {
  const memo = known.get(files) ?? new Map<string, Tsconfig | undefined>();
  known.set(files, memo);
  // A file and a folder may have one path.
  const key = `${folder}/`;
  if (memo.has(key)) return memo.get(key);
  const paths = NAMES.map((name) => (folder === '' ? name : `${folder}/${name}`));
  const path = paths.find((each) => bytesOf(files, each) !== undefined);
  const isEnd = folder === '' || /(?:^|\/)node_modules(?:\/@[^/]+)?\/[^/]+$/.test(folder);
  const above = () =>
    isEnd ? undefined : inFolder(files, folder.slice(0, Math.max(0, folder.lastIndexOf('/'))));
  const found = path === undefined ? above() : readTsconfig(files, path, memo);
  memo.set(key, found);
  return found;
}

const bytesOf = (files: FileTree, path: string): Uint8Array | undefined =>
  'configuration' in files ? files.configuration(path) : files.get(path);

/** Each file is read once. Attack: files that extend each other in a circle. */
function readTsconfig(files: FileTree, path: string, memo: Map<string, Tsconfig | undefined>): Tsconfig {
  const before = memo.get(path);
  if (before !== undefined) return before;
  const empty = { path, options: {}, paths: [], baseUrl: undefined, files: [path], absent: [] };
  memo.set(path, empty);
  const config = recordIn(readJson(bytesOf(files, path)));
  const extended = [config['extends']]
    .flat()
    .slice(0, EXTENDED_MAX)
    .filter((base) => typeof base === 'string');
  const found = extended.map((base) => extendedFile(files, base, path));
  const bases = found.flatMap((file) => (file === undefined ? [] : [readTsconfig(files, file, memo)]));
  const own = recordIn(config['compilerOptions']);
  const folder = path.slice(0, Math.max(0, path.lastIndexOf('/')));
  // Of several files, the last one wins, and the one that extends them wins over all.
  const result: Tsconfig = {
    path,
    options: Object.assign({}, ...bases.map(({ options }) => options), optionsIn(own)),
    paths: mappingsIn(own['paths'], folder) ?? bases.findLast(({ paths }) => paths.length > 0)?.paths ?? [],
    baseUrl:
      typeof own['baseUrl'] === 'string'
        ? { path: own['baseUrl'], folder }
        : bases.findLast(({ baseUrl }) => baseUrl !== undefined)?.baseUrl,
    files: [path, ...bases.flatMap((base) => base.files)].slice(0, EXTENDED_MAX),
    absent: [
      ...extended.filter((_base, at) => found[at] === undefined),
      ...bases.flatMap((base) => base.absent),
    ].slice(0, EXTENDED_MAX),
  };
  memo.set(path, result);
  return result;
}

function extendedFile(files: FileTree, base: string, importer: string): string | undefined {
  for (const specifier of [base, `${base}.json`, `${base}/tsconfig.json`]) {
    if (/^\.\.?\//.test(specifier)) {
      const path = join(importer.slice(0, Math.max(0, importer.lastIndexOf('/'))), specifier);
      if (path?.endsWith('.json') && bytesOf(files, path) !== undefined) return path;
      continue;
    }
    const found = resolveImport(files, specifier, importer, 'require');
    if ('path' in found && found.path.endsWith('.json')) return found.path;
  }
  return undefined;
}

const optionsIn = (own: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(OPTIONS.filter((name) => Object.hasOwn(own, name)).map((name) => [name, own[name]]));

function mappingsIn(paths: unknown, folder: string): readonly Mapping[] | undefined {
  if (!isRecord(paths)) return undefined;
  return Object.entries(paths)
    .slice(0, PATTERNS_MAX)
    .map(([pattern, targets]) => ({
      pattern,
      targets: [targets]
        .flat()
        .slice(0, TARGETS_MAX)
        .flatMap((path) => (typeof path === 'string' ? [{ path, folder }] : [])),
    }));
}

/**
 * Resolves an import by the `tsconfig.json` of its importer, else as `resolveImport` does.
 *
 * @returns with `by`, the file that said where the import leads
 */
export function resolveMapped(
  files: FileTree,
  specifier: string,
  importer: string,
  kind: 'import' | 'require',
): Resolution & { readonly by?: Tsconfig } {
  const config = /^\.\.?(?:\/|$)/.test(specifier) ? undefined : tsconfigOf(files, importer);
  const candidates = config === undefined ? [] : candidatesFor(config, specifier);
  for (const candidate of candidates) {
    const path = 'member' in files ? files.member(candidate) : candidate;
    const found = path === undefined ? undefined : fileAt(files, path, kind);
    if (found !== undefined) return { path: found, ...(config && { by: config }) };
  }
  const found = resolveImport(files, specifier, importer, kind);
  const isMapped = config?.paths.some(({ pattern }) => isMatch(pattern, specifier));
  if (!('fault' in found) || config === undefined || !isMapped) return found;
  const reached = candidates.filter((path) => !('member' in files) || files.member(path) !== undefined);
  const places = reached.slice(0, 2).map((path) => `"${shown(path, config)}"`);
  return {
    fault: `"${specifier}" is mapped by "paths" of ${baseName(config)}, and leads to no file of the upload.`,
    hint:
      places.length > 0
        ? `Looked for ${places.join(' and ')}.`
        : 'Its targets leave the folder: one has to be in a member of the same workspace, with a name in its package.json.',
  };
}

/** What authors should know of the file that counts for the entrypoint. */
export function tsconfigWarnings(files: FileTree, entry: string): Problem[] {
  const config = tsconfigOf(files, entry);
  // The SDK is part of the service, and has nothing to say there.
  const wanted = (config?.absent ?? []).filter((base) => !base.startsWith('@annex/sdk/'));
  const absent = wanted.map((base) =>
    warning(
      `${config && baseName(config)} extends "${base.slice(0, NAME_CHARS_MAX)}", which is not in the upload.`,
      {
        hint: 'Install the package, or upload the file.',
      },
    ),
  );
  if (config?.options.emitDecoratorMetadata !== true) return absent;
  return [
    ...absent,
    warning(
      `"emitDecoratorMetadata" of ${baseName(config)} has no effect: types are removed without being read.`,
      {
        hint: 'Give decorators the types that they need as values: `@Inject(Database)`.',
      },
    ),
  ];
}

export const baseName = ({ path }: Tsconfig): string => path.slice(path.lastIndexOf('/') + 1);

/** A path as it is from the folder of the file. */
function shown(path: string, config: Tsconfig): string {
  const folder = config.path.slice(0, config.path.lastIndexOf('/') + 1);
  return path.startsWith(folder) ? path.slice(folder.length) : path;
}

const isMatch = (pattern: string, specifier: string): boolean =>
  pattern === specifier || (pattern.includes('*') && matchPattern(pattern, specifier) !== undefined);

/** The paths that an import may mean, the first ones first. */
function candidatesFor(config: Tsconfig, specifier: string): string[] {
  const { paths, baseUrl } = config;
  const folder = config.path.slice(0, Math.max(0, config.path.lastIndexOf('/')));
  const place = (located: Located): string | undefined =>
    located.path.startsWith(CONFIG_FOLDER)
      ? join(folder, `./${located.path.slice(CONFIG_FOLDER.length)}`)
      : located.path.startsWith('/')
        ? undefined
        : join(located.folder, located.path);
  const base = baseUrl && place(baseUrl);
  const [best] = paths
    .filter(({ pattern }) => isMatch(pattern, specifier))
    .sort((a, b) => rank(b.pattern, specifier) - rank(a.pattern, specifier));
  const star = best && matchPattern(best.pattern, specifier);
  const mapped = (best?.targets ?? []).map(({ path, folder: own }) => {
    const target = star === undefined ? path : path.replace('*', () => star);
    return place({ path: target, folder: base ?? own });
  });
  const plain = base === undefined || specifier.startsWith('/') ? undefined : join(base, specifier);
  return [...mapped, plain].filter((path) => path !== undefined);
}

/** The exact name wins, then the longest prefix. */
const rank = (pattern: string, specifier: string): number =>
  pattern === specifier ? Number.POSITIVE_INFINITY : pattern.indexOf('*');

function readJson(bytes: Uint8Array | undefined): unknown {
  return bytes === undefined || bytes.byteLength > BYTES_MAX
    ? undefined
    : parseJsonWithComments(new TextDecoder().decode(bytes));
}

const recordIn = (value: unknown): Readonly<Record<string, unknown>> => (isRecord(value) ? value : {});

/**
 * Parses JSON with comments and trailing commas, as `tsconfig.json` is written.
 *
 * One pass over the characters, so the work is linear also for a text of unclosed quotes or
 * comments. It does not check the rest of the grammar; `JSON.parse` does.
 *
 * @returns undefined where the text is not JSON
 */
function parseJsonWithComments(text: string): unknown {
  try {
    return JSON.parse(plainJson(text));
  } catch {
    return undefined;
  }
}

function plainJson(text: string): string {
  const pieces: string[] = [];
  /** Index of the last piece that is not white space. */
  let last = -1;
  for (let at = 0; at < text.length; ) {
    const end = endOfPiece(text, at);
    const piece = text.slice(at, end);
    at = end;
    if (piece.startsWith('//') || piece.startsWith('/*')) continue;
    if ((piece === '}' || piece === ']') && pieces[last] === ',') pieces[last] = '';
    pieces.push(piece);
    if (piece.trim() !== '') last = pieces.length - 1;
  }
  return pieces.join('');
}

/** End of a text, of a comment, or of one character. */
function endOfPiece(text: string, at: number): number {
  if (text.startsWith('//', at)) return orEnd(text, text.indexOf('\n', at));
  if (text.startsWith('/*', at)) return orEnd(text, text.indexOf('*/', at + 2), 2);
  if (text[at] !== '"') return at + 1;
  let end = at + 1;
  while (end < text.length && text[end] !== '"') end += text[end] === '\\' ? 2 : 1;
  return end + 1;
}

const orEnd = (text: string, found: number, length = 0): number => (found < 0 ? text.length : found + length);
