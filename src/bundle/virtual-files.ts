/**
 * The file system that esbuild sees: the uploaded files and the SDK, and nothing of the host.
 *
 * An esbuild plugin that answers every resolve and every load, so that no request falls through to the disk. It knows two
 * namespaces, `upload` and `sdk`; a path of one cannot name a file of the other. One thing esbuild resolves by itself:
 * imports by a pattern, which `build-problems.ts` refuses.
 */
import type { Loader, OnLoadResult, OnResolveArgs, OnResolveResult, PartialMessage, Plugin } from 'esbuild';
import { isFreeOfSideEffects, resolveImport } from './resolve-import.ts';

const UPLOAD = 'upload';
const SDK = 'sdk';
/** The one module of our own around an upload: where esbuild enters. */
const FRAME = 'frame';

/** How uploaded files are read, by extension. Anything else is refused by name. */
const LOADERS: Readonly<Record<string, Loader>> = {
  ts: 'ts',
  mts: 'ts',
  cts: 'ts',
  tsx: 'tsx',
  js: 'js',
  mjs: 'js',
  cjs: 'js',
  jsx: 'jsx',
  json: 'json',
  txt: 'text',
  md: 'text',
  html: 'text',
  css: 'text',
  svg: 'text',
};

/** Parameter of the finished script: what it hands the namespace of its entry module to. */
export const RUN = '__run';

/** Says that a pattern has matched a file. Never shown: an author is not to learn what exists. */
export const PATTERN_MATCHED = 'A pattern has matched a file.';

/** What the plugin serves. */
export interface VirtualFiles {
  /** Path of the entry inside the upload; the host has checked that it is there. */
  readonly entry: string;
  /** Uploaded path → bytes. */
  readonly upload: ReadonlyMap<string, Uint8Array>;
  /** File of the SDK → source. */
  readonly sdk: ReadonlyMap<string, string>;
  /** Import specifier of the SDK → file of it. */
  readonly sdkEntries: ReadonlyMap<string, string>;
}

/** Makes the plugin for one build. */
export const virtualFiles = (files: VirtualFiles): Plugin => ({
  name: 'virtual-files',
  setup(build) {
    build.onResolve({ filter: /.*/ }, (args) => resolve(files, args));
    build.onLoad({ filter: /.*/, namespace: SDK }, (args) => ({
      contents: files.sdk.get(args.path) ?? '',
      loader: 'ts',
    }));
    build.onLoad({ filter: /.*/, namespace: UPLOAD }, (args) => load(files, args.path));
    build.onLoad({ filter: /.*/, namespace: FRAME }, () => ({
      contents: `import * as entry from 'entry'; ${RUN}(entry);`,
      loader: 'js',
    }));
    // A namespace that is neither: a file on the disk that esbuild has found for a pattern. It is neither read nor named.
    build.onLoad({ filter: /.*/ }, () => ({ errors: [refusal(PATTERN_MATCHED)] }));
  },
});

/** The name under which an author knows a file: sources of the SDK carry its package name. */
export function displayName(path: string): string {
  if (path.startsWith(`${UPLOAD}:`)) return path.slice(UPLOAD.length + 1);
  return path.startsWith(`${SDK}:`) ? `@annex/sdk/${path.slice(SDK.length + 1)}` : path;
}

function resolve(files: VirtualFiles, args: OnResolveArgs): OnResolveResult {
  if (args.kind === 'entry-point') return { path: FRAME, namespace: FRAME };
  if (args.namespace === FRAME) return { path: files.entry, namespace: UPLOAD };
  if (args.namespace === SDK) {
    const path = args.path.replace(/^\.\//, '');
    return files.sdk.has(path) ? { path, namespace: SDK } : { errors: [refusal(`No "${args.path}".`)] };
  }
  const sdk = files.sdkEntries.get(args.path);
  if (sdk !== undefined) return { path: sdk, namespace: SDK, sideEffects: false };
  const kind = args.kind === 'require-call' || args.kind === 'require-resolve' ? 'require' : 'import';
  const found = resolveImport(files.upload, args.path, args.importer, kind);
  if ('fault' in found) return { errors: [refusal(found.fault, found.hint)] };
  const unused = isFreeOfSideEffects(files.upload, found.path) ? { sideEffects: false } : {};
  return { path: found.path, namespace: UPLOAD, ...unused };
}

function load(files: VirtualFiles, path: string): OnLoadResult {
  const contents = files.upload.get(path);
  const extension = path.slice(path.lastIndexOf('.') + 1).toLowerCase();
  const loader = Object.hasOwn(LOADERS, extension) ? LOADERS[extension] : undefined;
  if (contents === undefined) return { errors: [refusal(`"${path}" is not in the upload.`)] };
  if (loader === undefined) {
    const known = Object.keys(LOADERS).join(', ');
    return {
      errors: [refusal(`"${path}" is of a kind that cannot be imported.`, `Importable are: ${known}.`)],
    };
  }
  return { contents: withoutSourceMap(contents, loader), loader };
}

/**
 * Makes esbuild ignore a source map that the file brings along.
 *
 * A tenant's map chooses the file names and lines that its stack traces show, so it could forge them. esbuild obeys the
 * last `sourceMappingURL` comment of a file; one that names no data URL, put at the end, disarms those before it
 * without touching the code, strings that look like one included.
 */
function withoutSourceMap(contents: Uint8Array, loader: Loader): Uint8Array {
  const source = Buffer.from(contents.buffer, contents.byteOffset, contents.byteLength);
  if (loader === 'json' || loader === 'text' || !source.includes('sourceMappingURL=')) return contents;
  return Buffer.concat([source, Buffer.from('\n//# sourceMappingURL=ignored')]);
}

const refusal = (text: string, hint?: string): PartialMessage => ({
  text,
  notes: hint === undefined ? [] : [{ text: hint }],
});
