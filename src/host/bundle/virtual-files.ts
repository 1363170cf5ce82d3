/**
 * Virtual file system for esbuild: the uploaded files, the SDK and the modules of Node.js, and
 * nothing of the host.
 *
 * An esbuild plugin that handles every resolve and load, so that no request reaches the disk. The
 * namespaces `upload`, `sdk` and `node` are separate: a path in one cannot name a file of another.
 * esbuild resolves only glob imports without the plugin; `glob-imports.ts` refuses them.
 */
import type {
  Loader,
  OnLoadArgs,
  OnLoadResult,
  OnResolveArgs,
  OnResolveResult,
  PartialMessage,
  Plugin,
} from 'esbuild';
import { withPragma } from '../../imports/jsx.ts';
import { ASYNC_HOOKS, carryingFile, nodeModule, packageNameOf } from '../../imports/node-modules.ts';
import {
  ImportGuards,
  MISSING,
  missingModule,
  withoutRequireResolve,
} from '../../imports/optional-imports.ts';
import { isFreeOfSideEffects, join, packageJson } from '../../imports/resolve-import.ts';
import { isSource, LOADERS, loaderOf, withFileUrls } from '../../imports/source-options.ts';
import { resolveMapped } from '../../imports/tsconfig.ts';
import { ABSENT, ABSENT_IMPORTS, absentModule, absentPath, refusing } from './absent-modules.ts';
import { GLOB_MATCHED } from './glob-imports.ts';
import { frameModule, START, type WorkerFrame } from './worker-frame.ts';

const UPLOAD = 'upload';
const SDK = 'sdk';
/** Namespace of the files that carry modules of Node.js. */
export const NODE = 'node';
/** Namespace of the same files, as `require` returns them: their default export. */
const NODE_REQUIRED = 'node-required';
/** Namespace of the module that stands for what a package leaves out in browsers. */
const EMPTY = 'empty';
/**
 * Namespace and path of the generated module that imports the upload's entrypoint; esbuild's entry
 * point.
 */
const FRAME = 'frame';
/** Folder of the files of `SDK` that surround workers. */
const WORKER = 'worker/';

/** Parameter of the finished script: a function that receives the namespace of the entry module. */
export const RUN = '__run';
/**
 * Its second parameter, where it has `node:async_hooks`: the asynchronous context of the isolate
 * (`sandbox/web/current-call.ts`).
 */
export const CONTEXT = '__context';

/**
 * What esbuild is asked to inject: the names of Node.js that code may use without an import, and
 * its timers for code that takes a timer for an object (`takesTimersForObjects`).
 */
export const NODE_GLOBALS = 'node-globals';
export const NODE_TIMERS = 'node-timers';

/** The files that the plugin serves. */
export interface VirtualFiles {
  /** Path of the entry inside the upload; the host has checked that it is there. */
  readonly entry: string;
  /** Uploaded path → bytes. */
  readonly upload: ReadonlyMap<string, Uint8Array>;
  /** File name in the SDK → source. */
  readonly sdk: ReadonlyMap<string, string>;
  /** Path of `node-source.ts` → source. */
  readonly node: ReadonlyMap<string, string>;
  /** Import specifier of the SDK → file name in `sdk`. */
  readonly sdkEntries: ReadonlyMap<string, string>;
  /** How the code is a worker that gets requests; absent where it takes envelopes. */
  readonly worker?: WorkerFrame;
}

/** Makes the plugin for one build. */
export const virtualFiles = (files: VirtualFiles): Plugin => ({
  name: 'virtual-files',
  setup(build) {
    const guards = new ImportGuards();
    build.onResolve({ filter: /.*/ }, async (args) => {
      const found = resolve(files, args);
      const isRefused = found.errors !== undefined || found.warnings !== undefined;
      return isRefused && args.namespace === UPLOAD ? optional(files, args, guards, found) : found;
    });
    build.onLoad({ filter: /.*/, namespace: SDK }, (args) => ({
      contents: files.sdk.get(args.path) ?? '',
      loader: 'ts',
    }));
    build.onLoad({ filter: /.*/, namespace: NODE }, (args) => ({
      contents: files.node.get(args.path) ?? '',
      loader: loaderOf(args.path, undefined) ?? 'js',
    }));
    build.onLoad({ filter: /.*/, namespace: NODE_REQUIRED }, () => ({
      contents: `module.exports = require('module').default;`,
      loader: 'js',
    }));
    build.onLoad({ filter: /.*/, namespace: ABSENT }, (args) => ({
      contents: absentModule(args.path),
      loader: 'js',
    }));
    build.onLoad({ filter: /.*/, namespace: MISSING }, ({ path, pluginData }) => ({
      contents: missingModule(path, pluginData),
      loader: 'js',
    }));
    build.onLoad({ filter: /.*/, namespace: UPLOAD }, (args) => load(files, args));
    build.onLoad({ filter: /.*/, namespace: EMPTY }, () => ({
      // CommonJS, so that an import by any name finds undefined.
      contents: 'module.exports = {};',
      loader: 'js',
    }));
    build.onLoad({ filter: /.*/, namespace: FRAME }, ({ path }) => ({
      contents: frameModule(path, RUN, files.worker),
      loader: 'js',
    }));
    // Any other namespace is a file on the disk that a pattern matched. It is neither read nor
    // named.
    build.onLoad({ filter: /.*/ }, () => ({ errors: [refusal(GLOB_MATCHED)] }));
  },
});

/** Name of a file in problems and stack traces: the uploaded path, or `@annex/sdk/…`. */
export function displayName(path: string): string {
  if (path.startsWith(`${UPLOAD}:`)) return path.slice(UPLOAD.length + 1);
  if (path.startsWith(`${SDK}:`)) return `@annex/sdk/${path.slice(SDK.length + 1)}`;
  return path.replace(/^(?:absent|node-required):(\S+).*$/s, 'node:$1').replace(/^node:node\//, 'node:');
}

function resolve(files: VirtualFiles, args: OnResolveArgs): OnResolveResult {
  if (args.kind === 'entry-point' && args.path === NODE_GLOBALS) return inNode('node/globals.ts');
  if (args.kind === 'entry-point' && args.path === NODE_TIMERS) return inNode('node/timers.ts');
  if (args.kind === 'entry-point') return { path: FRAME, namespace: FRAME };
  if (args.namespace === FRAME) {
    if (args.path === START) return { path: START, namespace: FRAME };
    if (args.path !== 'entry') return { path: WORKER + args.path, namespace: SDK };
    return { path: files.entry, namespace: UPLOAD };
  }
  if (args.namespace === SDK) {
    if (args.path === `../${ASYNC_HOOKS}`) return inNode(ASYNC_HOOKS);
    const folder = args.importer.startsWith(WORKER) ? WORKER : '';
    const path = args.path.replace(/^\.\//, folder).replace(/^\.\.\/sdk\//, '');
    return files.sdk.has(path) ? { path, namespace: SDK } : { errors: [refusal(`No "${args.path}".`)] };
  }
  if (args.namespace === NODE_REQUIRED) return inNode(args.importer);
  if (args.namespace === ABSENT) return inNode(ABSENT_IMPORTS[args.path] ?? '');
  if (args.namespace === NODE) return resolveInNode(args.path, args.importer);
  const sdk = files.sdkEntries.get(args.path);
  if (sdk !== undefined) return { path: sdk, namespace: SDK, sideEffects: false };
  const kind = args.kind === 'require-call' ? 'require' : 'import';
  const found = resolveMapped(files.upload, args.path, args.importer, kind);
  if ('empty' in found) return { path: EMPTY, namespace: EMPTY };
  if ('node' in found) return resolveNode(files, found.node, args.importer, kind);
  if ('fault' in found) return { errors: [refusal(found.fault, found.hint)] };
  if (loaderOf(found.path, args.with['type']) === undefined) return { errors: [notImportable(found.path)] };
  const unused = isFreeOfSideEffects(files.upload, found.path) ? { sideEffects: false } : {};
  return { path: found.path, namespace: UPLOAD, ...unused };
}

/** The file of a module of Node.js, for an import or a `require` in an uploaded file. */
function resolveNode(
  { upload }: VirtualFiles,
  name: string,
  importer: string,
  kind: 'import' | 'require',
): OnResolveResult {
  const manifest = packageJson(upload.get('package.json'));
  const found = nodeModule(name, packageNameOf(importer), manifest);
  if (!('absent' in found)) {
    // `require('events')` is the class itself.
    if (kind === 'require') return { path: found.file, namespace: NODE_REQUIRED };
    return inNode(found.file);
  }
  const path = absentPath(name, found.refused, importer);
  return {
    path,
    namespace: ABSENT,
    sideEffects: false,
    ...(found.refused && { warnings: [refusing(path)] }),
  };
}

/** What a refused import leads to: an error when it runs, where code expects one. */
async function optional(
  { upload }: VirtualFiles,
  { path, importer, kind }: OnResolveArgs,
  guards: ImportGuards,
  refused: OnResolveResult,
): Promise<OnResolveResult> {
  const file = { path: importer, source: upload.get(importer), loader: loaderOf(importer, undefined) };
  const guard = await guards.guardOf(file, path, kind);
  if (guard === undefined) return refused;
  const isOwn = packageNameOf(importer) === undefined;
  const text = `"${path}" is not in the upload: this import fails if it runs.`;
  const warnings = guard === 'conditional' && isOwn ? [{ text }] : [];
  return { path, namespace: MISSING, pluginData: kind, suffix: `?${kind}`, warnings };
}

/** An import between the files that carry modules of Node.js. */
function resolveInNode(specifier: string, importer: string): OnResolveResult {
  const found = carryingFile(specifier, importer);
  // `readable-stream` asks for it where the platform has no AbortController.
  if (specifier === 'abort-controller') return { path: specifier, namespace: EMPTY };
  return found === undefined ? { errors: [refusal(`No "${specifier}".`)] } : inNode(found);
}

/** Unused modules are dropped: a bundle has only what its code uses. */
const inNode = (path: string): OnResolveResult => ({ path, namespace: NODE, sideEffects: false });

function load(files: VirtualFiles, { path, with: attributes }: OnLoadArgs): OnLoadResult {
  const contents = files.upload.get(path);
  const loader = loaderOf(path, attributes['type']);
  if (contents === undefined) return { errors: [refusal(`"${path}" is not in the upload.`)] };
  if (loader === undefined) return { errors: [notImportable(path)] };
  if (loader === 'binary' && attributes['type'] !== 'bytes')
    return { contents: wasmModule(path), loader: 'js' };
  const text = withoutRequireResolve(withoutSourceMap(contents, loader), loader, (specifier) => {
    const found = resolveMapped(files.upload, specifier, path, 'require');
    return !('fault' in found);
  });
  const isOwn = isSource(loader) && packageNameOf(path) === undefined;
  const named = isOwn && Buffer.from(text).includes('import.meta.url') ? fileUrlsIn(files, path, text) : text;
  return { contents: hasJsx(loader) ? withPragma(named) : named, loader };
}

/** Code whose default export is the `WebAssembly.Module` of a file, as in Workers. */
const wasmModule = (path: string): string => `
  import bytes from ${JSON.stringify(`./${path.slice(path.lastIndexOf('/') + 1)}`)} with { type: 'bytes' };
  if (typeof WebAssembly === 'undefined') throw new Error(${JSON.stringify(NO_COMPILERS)});
  export default new WebAssembly.Module(bytes);`;

const NO_COMPILERS =
  'WebAssembly is not available: the operator has turned off the compilers of V8 (--cell-jitless).';

const fileUrlsIn = ({ upload }: VirtualFiles, path: string, text: Uint8Array): Uint8Array =>
  Buffer.from(
    withFileUrls(Buffer.from(text).toString('utf8'), (relative) => {
      const file = join(path.slice(0, Math.max(0, path.lastIndexOf('/'))), relative);
      return file === undefined ? undefined : upload.get(file);
    }),
  );

const notImportable = (path: string): PartialMessage =>
  refusal(
    `"${path}" is of a kind that cannot be imported.`,
    `Importable are: ${Object.keys(LOADERS).join(', ')}.`,
  );

const hasJsx = (loader: Loader): boolean => loader === 'tsx' || loader === 'jsx';

/**
 * Makes esbuild ignore a source map that an uploaded file includes.
 *
 * Attack: a tenant's map forges the file names and lines in stack traces. esbuild uses only the
 * last `sourceMappingURL` comment of a file, so one without a data URL, appended at the end,
 * disables earlier ones. The code stays unchanged, including strings that look like such a comment.
 */
function withoutSourceMap(contents: Uint8Array, loader: Loader): Uint8Array {
  const source = Buffer.from(contents.buffer, contents.byteOffset, contents.byteLength);
  if (!isSource(loader) || !source.includes('sourceMappingURL=')) return contents;
  return Buffer.concat([source, Buffer.from('\n//# sourceMappingURL=ignored')]);
}

const refusal = (text: string, hint?: string): PartialMessage => ({
  text,
  notes: hint === undefined ? [] : [{ text: hint }],
});
