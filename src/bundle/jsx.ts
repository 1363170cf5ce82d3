/**
 * How the JSX of an upload is compiled: by `jsx…` of the `tsconfig.json` nearest to the entrypoint,
 * else by the package that the entrypoint imports and that has a JSX runtime, else by the SDK.
 *
 * Only four members of `tsconfig.json` are read, each a plain name. Attack: `paths`, `baseUrl` and
 * plugins, which name files of the host. A file of the upload may say otherwise for itself, by the
 * comments `@jsxImportSource` and `@jsx`.
 */
import { parseJsonWithComments } from './json-with-comments.ts';
import { type FileTree, resolveImport } from './resolve-import.ts';

/** Options of esbuild. */
export type JsxOptions =
  | { readonly jsx: 'automatic'; readonly jsxImportSource: string }
  | { readonly jsx: 'transform'; readonly jsxFactory: string; readonly jsxFragment: string };

const SDK = '@annex/sdk';
const PACKAGE_NAME = /^(?:@[\w.-]{1,100}\/)?[\w.-]{1,100}(?:\/[\w.-]{1,100}){0,4}$/;
const FACTORY = /^[A-Za-z_$][\w$]{0,63}(?:\.[A-Za-z_$][\w$]{0,63}){0,4}$/;
/** Largest `tsconfig.json` that is read. */
const TSCONFIG_BYTES_MAX = 16 * 1024;
/** Most files that extend each other. Attack: a circle. */
const EXTENDED_MAX = 8;
/** Most dependencies of the upload that are looked at. */
const DEPENDENCIES_MAX = 200;
/** A pragma stands at the beginning of a file. */
const PRAGMA_BYTES = 8 * 1024;

export function jsxOf(files: FileTree, entry: string): JsxOptions {
  const options = new Map<string, string>();
  const config = nearestFile(files, entry, 'tsconfig.json');
  if (config !== undefined) readOptions(files, config, options, 0);
  const source = options.get('jsxImportSource');
  const factory = options.get('jsxFactory');
  if (source !== undefined && hasRuntime(files, source, entry))
    return { jsx: 'automatic', jsxImportSource: source };
  if (options.get('jsx') === 'react' && factory !== undefined && FACTORY.test(factory)) {
    const fragment = options.get('jsxFragmentFactory') ?? '';
    const jsxFragment = FACTORY.test(fragment) ? fragment : 'Fragment';
    return { jsx: 'transform', jsxFactory: factory, jsxFragment };
  }
  return { jsx: 'automatic', jsxImportSource: importedRuntime(files, entry) ?? SDK };
}

/**
 * Makes esbuild obey `@jsx` of a file, which it ignores in its automatic mode. The comment is
 * appended, so that no line of the author moves.
 */
export function withPragma(contents: Uint8Array): Uint8Array {
  const source = Buffer.from(contents.buffer, contents.byteOffset, contents.byteLength);
  const head = source.toString('latin1', 0, PRAGMA_BYTES);
  if (!/^[ \t]*(?:\/\/|\/?\*).*@jsx[ \t]+[\w.$]+/m.test(head) || /@jsx(?:Runtime|ImportSource)\s/.test(head))
    return contents;
  return Buffer.concat([source, Buffer.from('\n/** @jsxRuntime classic */')]);
}

function nearestFile(files: FileTree, from: string, name: string): string | undefined {
  const folders = from.split('/').slice(0, -1);
  for (; ; folders.pop()) {
    const path = [...folders, name].join('/');
    if (files.has(path)) return path;
    if (folders.length === 0) return undefined;
  }
}

/** Reads the options of a `tsconfig.json`; options that are there already stay. */
function readOptions(files: FileTree, path: string, options: Map<string, string>, depth: number): void {
  const config = readConfig(files.get(path));
  const own = isRecord(config['compilerOptions']) ? config['compilerOptions'] : {};
  for (const name of ['jsx', 'jsxImportSource', 'jsxFactory', 'jsxFragmentFactory']) {
    const value = Object.hasOwn(own, name) ? own[name] : undefined;
    if (typeof value === 'string' && !options.has(name)) options.set(name, value);
  }
  if (depth === EXTENDED_MAX) return;
  const bases = Array.isArray(config['extends'])
    ? config['extends'].slice(0, EXTENDED_MAX)
    : [config['extends']];
  // Of several, the last one wins.
  for (const base of bases.reverse()) {
    const found = typeof base === 'string' ? extended(files, base, path) : undefined;
    if (found !== undefined) return readOptions(files, found, options, depth + 1);
  }
}

function extended(files: FileTree, base: string, importer: string): string | undefined {
  for (const specifier of [base, `${base}.json`, `${base}/tsconfig.json`]) {
    const found = resolveImport(files, specifier, importer, 'require');
    if ('path' in found && found.path.endsWith('.json')) return found.path;
  }
  return undefined;
}

/**
 * The package with a JSX runtime that the entrypoint imports, for code that its own tools compile
 * so without being asked.
 */
function importedRuntime(files: FileTree, entry: string): string | undefined {
  const code = Buffer.from(files.get(entry) ?? []).toString('latin1');
  if (code.includes(SDK)) return undefined;
  const manifest = readConfig(files.get(nearestFile(files, entry, 'package.json') ?? ''));
  const names = ['dependencies', 'devDependencies', 'peerDependencies'].flatMap((member) =>
    isRecord(manifest[member]) ? Object.keys(manifest[member]) : [],
  );
  return names
    .slice(0, DEPENDENCIES_MAX)
    .filter((name) => code.includes(`'${name}'`) || code.includes(`"${name}"`))
    .find((name) => hasRuntime(files, name, entry));
}

/** Whether JSX can be compiled to a package: an uploaded one with a runtime, or the SDK. */
const hasRuntime = (files: FileTree, name: string, entry: string): boolean =>
  name === SDK ||
  (PACKAGE_NAME.test(name) && 'path' in resolveImport(files, `${name}/jsx-runtime`, entry, 'import'));

/** Parses JSON with comments and trailing commas; an empty object where it is none. */
function readConfig(bytes: Uint8Array | undefined): Readonly<Record<string, unknown>> {
  if (bytes === undefined || bytes.byteLength > TSCONFIG_BYTES_MAX) return {};
  const value = parseJsonWithComments(new TextDecoder().decode(bytes));
  return isRecord(value) ? value : {};
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
