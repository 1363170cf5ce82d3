/**
 * Resolves an import to an uploaded file. Reads nothing but the files that it is handed: those of
 * an upload, or those of a folder that a command line is about to upload.
 *
 * An upload resolves like a small project: relative paths, the extensions of TypeScript and
 * JavaScript, `index` files, and packages in an uploaded `node_modules`; `tsconfig.ts` adds the
 * paths of a `tsconfig.json`. It cannot name the host's packages, nor absolute paths.
 */
import { nodeModuleNamed } from './node-modules.ts';
import { browserReplacement, packageEntry, packageImport } from './package-entry.ts';

/** The files among which imports are resolved: an upload, or files looked up one by one. */
export type FileTree =
  | ReadonlyMap<string, Uint8Array>
  | (Pick<ReadonlyMap<string, Uint8Array>, 'get' | 'has'> & {
      /** Whether a folder has files. */
      hasFolder(folder: string): boolean;
      /** A `tsconfig.json`, or a file that one extends, which may lie above the other files. */
      configuration(path: string): Uint8Array | undefined;
      /** Where a file is that may lie in another member of the workspace. */
      member(path: string): string | undefined;
    });

/**
 * The resolved file, an empty module, the name of a module of Node.js, or a sentence with the
 * reason for failure and a hint.
 */
export type Resolution =
  | { readonly path: string }
  | { readonly empty: true }
  | { readonly node: string }
  | { readonly fault: string; readonly hint: string };

const EXTENSIONS = ['.ts', '.tsx', '.mts', '.js', '.jsx', '.mjs', '.cjs', '.json'];
/** TypeScript lets authors import `./a.js` where only `./a.ts` exists. */
const REWRITES: Readonly<Record<string, readonly string[]>> = {
  '.js': ['.ts', '.tsx'],
  '.jsx': ['.tsx'],
  '.mjs': ['.mts'],
  '.cjs': ['.cts'],
};
/** Longest specifier that is resolved; a longer one cannot name an uploaded file. */
const SPECIFIER_CHARS_MAX = 1_024;

/**
 * Resolves one import.
 *
 * @param importer path of the importing file inside the upload.
 */
export function resolveImport(
  files: FileTree,
  asked: string,
  importer: string,
  kind: 'import' | 'require',
): Resolution {
  // As in Workers, where it asks for a module of WebAssembly and not for an instance.
  const specifier = asked.replace(/\.wasm\?module$/, '.wasm');
  const home = packageOf(files, importer);
  if (specifier.startsWith('#')) return resolveOwnName(files, specifier, importer, kind);
  const own = ownReplacement(home, specifier, importer);
  if (own === false) return { empty: true };
  const found = resolveSpecifier(files, own ?? specifier, own === undefined ? importer : home.file, kind);
  if (!('path' in found)) return found;
  // A package may replace its files for browsers, also the ones that it imports by their path.
  const target = packageOf(files, found.path);
  const replaced = browserReplacement(target.manifest, `./${found.path.slice(target.base.length)}`);
  if (replaced === false) return { empty: true };
  return replaced === undefined ? found : resolveSpecifier(files, replaced, target.file, kind);
}

/**
 * What a package replaces an import in one of its files by: also one of its own files, which then
 * need not be in the upload.
 */
function ownReplacement({ base, manifest }: Package, specifier: string, importer: string) {
  if (!isRelative(specifier)) return browserReplacement(manifest, specifier);
  const path = join(parent(importer), specifier);
  if (path === undefined || !path.startsWith(base)) return undefined;
  return browserReplacement(manifest, `./${path.slice(base.length)}`);
}

const isRelative = (specifier: string): boolean => /^\.\.?(\/|$)/.test(specifier);

/** The package that a file belongs to: the nearest folder above it with a `package.json`. */
export interface Package {
  /** Its folder, with a slash at the end; empty for the root of the upload. */
  readonly base: string;
  /** A path in the folder, as the importer of what its `package.json` names. */
  readonly file: string;
  readonly manifest: unknown;
}

export function packageOf(files: FileTree, path: string): Package {
  for (let folder: string | undefined = parent(path); folder !== undefined; folder = above(folder)) {
    const base = folder === '' ? '' : `${folder}/`;
    const file = `${base}package.json`;
    const bytes = files.get(file);
    if (bytes !== undefined) return { base, file, manifest: packageJson(bytes) };
  }
  return { base: '', file: 'package.json', manifest: undefined };
}

/** Resolves `#name` by `imports` of the package that the importer belongs to. */
function resolveOwnName(
  files: FileTree,
  specifier: string,
  importer: string,
  kind: 'import' | 'require',
): Resolution {
  const { manifest, file } = packageOf(files, importer);
  const target = packageImport(manifest, specifier, kind);
  // Attack: `"#a": "#a"`, which would be resolved without end.
  if (target !== undefined && !target.startsWith('#')) return resolveSpecifier(files, target, file, kind);
  return {
    fault: `"${specifier}" is not among the "imports" of a package.json.`,
    hint: `Add it to "imports" of ${file}.`,
  };
}

function resolveSpecifier(
  files: FileTree,
  specifier: string,
  importer: string,
  kind: 'import' | 'require',
): Resolution {
  if (specifier.length > SPECIFIER_CHARS_MAX) {
    return { fault: 'The import path is too long.', hint: 'Import a file of the upload.' };
  }
  if (isRelative(specifier)) return resolveRelative(files, specifier, importer);
  if (specifier.startsWith('/')) {
    return {
      fault: `Absolute path "${specifier}" cannot be imported.`,
      hint: 'Import by a path relative to this file: nothing outside the upload exists for an integration.',
    };
  }
  if (/^[a-z][a-z0-9+.-]*:/i.test(specifier)) return resolveUrl(specifier);
  return resolvePackage(files, specifier, importer, kind);
}

function resolveRelative(files: FileTree, specifier: string, importer: string): Resolution {
  const path = join(parent(importer), specifier);
  if (path === undefined) {
    return {
      fault: `"${specifier}" leaves the upload.`,
      hint: 'Only uploaded files can be imported; move the file into the folder of the integration.',
    };
  }
  const found = findFile(files, path);
  if (found !== undefined) return { path: found };
  return {
    fault: `"${specifier}" is not in the upload.`,
    hint: `Looked for ${path === '' ? 'index.ts' : path} with the extensions ${EXTENSIONS.join(' ')}.`,
  };
}

/** What to do instead of a module of Workers. */
const WORKERS_MODULES: Readonly<Record<string, string>> = {
  email: 'Send mail with fetch, by the API of a mail service.',
  node: 'Export an object with fetch(request, env, ctx) in place of a server of Node.',
  sockets: 'Reach other services with fetch.',
};

function resolveUrl(specifier: string): Resolution {
  const node = nodeModuleNamed(specifier);
  if (node !== undefined) return { node };
  if (specifier.startsWith('cloudflare:'))
    return {
      fault: `"${specifier}" does not exist here: of the modules of Workers there is "cloudflare:workers" alone.`,
      hint: WORKERS_MODULES[specifier.slice('cloudflare:'.length)] ?? 'Do without it in code that runs here.',
    };
  return {
    fault: `"${specifier}" cannot be imported: code is not loaded from URLs.`,
    hint: 'Download the module and upload it with the other files.',
  };
}

function resolvePackage(
  files: FileTree,
  specifier: string,
  importer: string,
  kind: 'import' | 'require',
): Resolution {
  // Some packages write `buffer/` for the package and not the module of that name.
  const [, name, rest] = /^((?:@[^/]+\/)?[^/]+)(\/.+)?\/?$/.exec(specifier) ?? [];
  if (name !== undefined) {
    // Searches upwards from the importer, as Node does: the nearest node_modules wins.
    for (let folder: string | undefined = parent(importer); folder !== undefined; folder = above(folder)) {
      const base = join(folder, `node_modules/${name}`);
      if (base === undefined || !hasFolder(files, base)) continue;
      const found = fileOfPackage(files, base, rest === undefined ? '.' : `.${rest}`, kind);
      if (found !== undefined) return { path: found };
      return {
        fault: `Package "${name}" is uploaded but offers no "${specifier}".`,
        hint: 'Look at "exports" in its package.json, and upload all of its files.',
      };
    }
  }
  const node = nodeModuleNamed(specifier);
  if (node !== undefined) return { node };
  if (specifier === '__STATIC_CONTENT_MANIFEST')
    return {
      fault: '"__STATIC_CONTENT_MANIFEST" does not exist here: it belongs to Workers Sites.',
      hint: 'Write "assets: ./folder" to the manifest, which serves the files without code.',
    };
  if (/^(?:~|@\/)/.test(specifier))
    return {
      fault: `"${specifier}" is no name of a package, and no tsconfig.json maps it.`,
      hint: 'Map it by "paths" of a tsconfig.json in the folder, or import the file by its relative path.',
    };
  return {
    fault: `Package "${specifier}" is not in the upload.`,
    hint: 'Bundle your dependencies: upload their node_modules files, or publish one ready script.',
  };
}

function fileOfPackage(
  files: FileTree,
  base: string,
  subpath: string,
  kind: 'import' | 'require',
): string | undefined {
  const entry = packageEntry(packageJson(files.get(`${base}/package.json`)), subpath, kind);
  const path = entry && join(base, entry.path);
  // Attack: `"main": "../../secret"`. `join` keeps it inside the upload, this check inside the
  // package.
  if (entry === undefined || path === undefined || !(path === base || path.startsWith(`${base}/`))) {
    return undefined;
  }
  if (entry.exact) return files.has(path) ? path : rewritten(files, path);
  return findFile(files, path);
}

/** Finds what a path means that is not written as one of a package: a file, or a folder. */
export function fileAt(files: FileTree, path: string, kind: 'import' | 'require'): string | undefined {
  const isPackage = files.has(`${path}/package.json`);
  return (isPackage ? fileOfPackage(files, path, '.', kind) : undefined) ?? findFile(files, path);
}

/** Finds a file by its path with or without extension, or the `index` file of a folder. */
function findFile(files: FileTree, path: string): string | undefined {
  if (files.has(path)) return path;
  const source = rewritten(files, path);
  if (source !== undefined) return source;
  const index = path === '' ? 'index' : `${path}/index`;
  return [
    ...EXTENSIONS.map((extension) => path + extension),
    ...EXTENSIONS.map((extension) => index + extension),
  ].find((candidate) => files.has(candidate));
}

/** The TypeScript file that is meant by the path of the JavaScript that it is compiled to. */
function rewritten(files: FileTree, path: string): string | undefined {
  const dot = path.lastIndexOf('.');
  return (REWRITES[path.slice(dot)] ?? [])
    .map((extension) => path.slice(0, dot) + extension)
    .find((candidate) => files.has(candidate));
}

/**
 * Whether the file's package declares `"sideEffects": false`, so that its unused modules may be
 * dropped.
 */
export function isFreeOfSideEffects(files: FileTree, path: string): boolean {
  const [base] = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? [];
  const manifest = base === undefined ? undefined : packageJson(files.get(`${base}/package.json`));
  return (
    typeof manifest === 'object' &&
    manifest !== null &&
    'sideEffects' in manifest &&
    manifest.sideEffects === false
  );
}

/**
 * Parsed files. Attack: a `package.json` of megabytes that is parsed again for each of thousands of
 * imports.
 */
const parsed = new WeakMap<Uint8Array, unknown>();

export function packageJson(bytes: Uint8Array | undefined): unknown {
  if (bytes === undefined) return undefined;
  if (!parsed.has(bytes)) parsed.set(bytes, readJson(bytes));
  return parsed.get(bytes);
}

function readJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}

/** Upload → its folders: each of thousands of imports asks for several. */
const foldersOf = new WeakMap<ReadonlyMap<string, Uint8Array>, ReadonlySet<string>>();

function hasFolder(files: FileTree, folder: string): boolean {
  if ('hasFolder' in files) return files.hasFolder(folder);
  const known = foldersOf.get(files) ?? foldersIn(files.keys());
  foldersOf.set(files, known);
  return known.has(folder);
}

function foldersIn(paths: Iterable<string>): ReadonlySet<string> {
  const folders = new Set<string>();
  for (const path of paths) {
    // A known folder's own folders are known too.
    for (let folder = parent(path); !folders.has(folder); folder = parent(folder)) folders.add(folder);
  }
  return folders;
}

const parent = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')));
const above = (folder: string): string | undefined => (folder === '' ? undefined : parent(folder));

/** Joins and normalises; undefined where `..` leaves the upload. */
export function join(folder: string, relative: string): string | undefined {
  const parts = folder === '' ? [] : folder.split('/');
  for (const part of relative.split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..') parts.push(part);
    else if (parts.pop() === undefined) return undefined;
  }
  return parts.join('/');
}
