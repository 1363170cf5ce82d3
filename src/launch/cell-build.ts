/**
 * Builds what a cell needs to start: its one JavaScript file, the prelude for its isolates and the
 * isolated-vm addon. Also the one JavaScript file of the process that bundles an upload, so that
 * not every publish builds it.
 *
 * esbuild does this when the host starts, because type stripping in the cell would need
 * WebAssembly, and because a cell may read two files alone. Also checks that Node and isolated-vm
 * are new enough for the sandbox.
 */
import { chmodSync, copyFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BuildOptions, build, stop, transform } from 'esbuild';
import { DEFINITIONS, PARTS, SUBSTITUTES } from '../../sandbox/parts/names.ts';
import { type BundlerFiles, esbuildWithoutFiles } from '../bundle/bundler-program.ts';
import { sharedLibraries } from '../confinement/bubblewrap.ts';
import { PRELUDE_URL } from '../protocol/wire.ts';
import { makeCellFolder } from './cell-folder.ts';

/** Oldest Node whose V8 the sandbox is built on. */
const NODE_MAJOR_MIN = 26;
/** Older ones can be escaped from through `ExternalCopy` (GHSA-864f-rcv7-6rh4). */
const ISOLATED_VM_MAJOR_MIN = 7;

const SANDBOX = fileURLToPath(new URL('../../sandbox', import.meta.url));
const CELL_MAIN = fileURLToPath(new URL('../cell/main.ts', import.meta.url));
const BUNDLER_MAIN = fileURLToPath(new URL('../bundle/bundler-process.ts', import.meta.url));

export interface CellBuild {
  /** The cell's script. */
  readonly scriptPath: string;
  /** Files of the process that bundles an upload. */
  readonly bundlerFiles: BundlerFiles;
  /** The isolated-vm addon that fits this Node: a copy, where any user can read it. */
  readonly addonPath: string;
  /** The shared libraries that Node is linked to. */
  readonly libraries: readonly string[];
  /** The prelude, which every blank isolate runs first, then its parts. */
  readonly sources: readonly Buffer[];
  /** Removes the folder of all of them. */
  remove(): void;
}

/** Texts built of this code; the same for every folder. */
export interface CellSources {
  readonly script: string;
  readonly bundler: string;
  /** The prelude, which every blank isolate runs first, then its parts. */
  readonly isolate: readonly string[];
}

/** Builds all texts. @throws where a build fails */
export async function buildSources(): Promise<CellSources> {
  const [prelude, parts, script, bundler] = await Promise.all([
    buildPrelude(),
    buildParts(),
    buildScript(),
    buildBundler(),
  ]);
  // esbuild's process is not needed again: uploads are bundled by a process of their own.
  await stop();
  return { script, bundler, isolate: [prelude, ...parts] };
}

/**
 * Builds all files of a cell and puts them into a folder of their own.
 *
 * @param built an earlier result of `buildSources`, for callers that start many services
 * @throws an Error that says what to do where Node or isolated-vm is too old
 */
export async function buildCell(built?: CellSources): Promise<CellBuild> {
  const addon = findAddon();
  const { script, bundler, isolate } = built ?? (await buildSources());
  const sources = isolate.map((text) => Buffer.from(text));
  // Attack: another user puts code into the cells. So only this user can write to the folder.
  // Others can read it, because cells may run as another user.
  const folder = await makeCellFolder();
  const { scriptPath, bundlerPath, esbuildPath, esbuildWithoutFilesPath, addonPath } = folder;
  const libraries = sharedLibraries();
  writeFileSync(scriptPath, script);
  writeFileSync(bundlerPath, bundler);
  writeFileSync(esbuildWithoutFilesPath, esbuildWithoutFiles(esbuildPath));
  copyFileSync(addon, addonPath);
  copyFileSync(findEsbuild(), esbuildPath);
  chmodSync(folder.path, 0o755);
  for (const path of [scriptPath, bundlerPath, addonPath]) chmodSync(path, 0o644);
  for (const path of [esbuildPath, esbuildWithoutFilesPath]) chmodSync(path, 0o755);
  return {
    scriptPath,
    bundlerFiles: { bundlerPath, esbuildPath, esbuildWithoutFilesPath, libraries },
    addonPath,
    libraries,
    sources,
    remove: () => folder.remove(),
  };
}

/** The prelude: a classic script whose value is `start`, with no name left on the global object. */
export async function buildPrelude(): Promise<string> {
  const source = await buildForIsolate('./entry.ts');
  return `(function () { const module = { exports: {} }; (function (module, exports) { "use strict"; ${source}
})(module, module.exports); return module.exports.start; })()`;
}

/**
 * The parts, in the order of their names: each is a function of the part's imports that returns its
 * exports.
 */
function buildParts(): Promise<string[]> {
  return Promise.all(
    PARTS.map(async (name) => {
      const substitutes = Object.entries(SUBSTITUTES[name] ?? {});
      const source = await buildForIsolate(`./parts/${name}.ts`, {
        alias: Object.fromEntries(substitutes.map(([library, path]) => [library, join(SANDBOX, path)])),
        define: DEFINITIONS[name] ?? {},
      });
      return `((needs) => { const module = { exports: {} }; ((module, exports) => { "use strict"; ${source}
})(module, module.exports); return module.exports; })
//# sourceURL=${PRELUDE_URL}`;
    }),
  );
}

async function buildForIsolate(
  entry: string,
  options: Pick<BuildOptions, 'alias' | 'define'> = {},
): Promise<string> {
  const result = await build({
    stdin: { contents: `export * from '${entry}';`, resolveDir: SANDBOX, loader: 'ts' },
    bundle: true,
    write: false,
    format: 'cjs',
    target: 'esnext',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    minifySyntax: true,
    ...options,
    logLevel: 'silent',
  });
  const source = withoutExportCopies(result.outputFiles[0]?.text ?? '');
  const { code } = await transform(source, { format: 'cjs', minify: true, target: 'esnext' });
  return code;
}

/** esbuild's helper that copies a module's exports at each `require` of it. */
const EXPORT_COPY =
  /__toCommonJS = \(mod\) => __copyProps\(__defProp\(\{\}, "__esModule", \{ value: !0 \}\), mod\)/g;

/**
 * Has `require` return a module's exports without a copy. Attack: the helper looks methods up at
 * the time of the call, so a tenant that has replaced `Function.prototype.call` would get
 * everything that the prelude's lazy modules export.
 */
function withoutExportCopies(source: string): string {
  if (source.match(EXPORT_COPY)?.length !== 1)
    throw new Error(
      'The bundle does not have the one helper that copies exports: this esbuild is not supported.',
    );
  return source.replace(EXPORT_COPY, '__toCommonJS = (mod) => mod');
}

async function buildScript(): Promise<string> {
  const result = await build({
    entryPoints: [CELL_MAIN],
    bundle: true,
    write: false,
    format: 'cjs',
    target: 'esnext',
    platform: 'node',
    logLevel: 'silent',
  });
  return result.outputFiles[0]?.text ?? '';
}

/**
 * The bundler's process, with esbuild's library in it: a confined process has no folder of packages
 * to load it from.
 */
async function buildBundler(): Promise<string> {
  const result = await build({
    entryPoints: [BUNDLER_MAIN],
    bundle: true,
    write: false,
    format: 'cjs',
    target: 'esnext',
    platform: 'node',
    // Each upload parses it anew, in time proportional to its size.
    minify: true,
    logLevel: 'silent',
  });
  return result.outputFiles[0]?.text ?? '';
}

/** Path of esbuild's own program, in the package for this platform. */
export function findEsbuild(): string {
  const library = createRequire(import.meta.url).resolve('esbuild');
  const name = `@esbuild/${process.platform}-${process.arch}`;
  const program = process.platform === 'win32' ? 'esbuild.exe' : 'bin/esbuild';
  return createRequire(library).resolve(`${name}/${program}`);
}

function findAddon(): string {
  const nodeMajor = Number(process.versions.node.split('.')[0]);
  if (nodeMajor < NODE_MAJOR_MIN) {
    throw new Error(
      `Annex needs Node ${NODE_MAJOR_MIN}; this is ${process.version}. Start it with \`npm start\`, which uses the Node that npm installed.`,
    );
  }
  const require = createRequire(import.meta.url);
  const { version } = require('isolated-vm/package.json') as { version: string };
  if (Number(version.split('.')[0]) < ISOLATED_VM_MAJOR_MIN) {
    throw new Error(
      `isolated-vm ${version} has a known escape; version ${ISOLATED_VM_MAJOR_MIN} or later is needed.`,
    );
  }
  const manifest = require.resolve('isolated-vm/package.json');
  // isolated-vm's own dependency finds the build that fits. It runs here, because a cell may not
  // read folders.
  const builds = createRequire(manifest)('node-gyp-build') as { path(folder: string): string };
  return builds.path(dirname(manifest));
}
