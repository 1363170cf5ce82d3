/**
 * The texts that cells run: the one JavaScript file of a cell and the prelude for its isolates.
 * Also the one JavaScript file of the process that bundles an upload, so that not every publish
 * builds it.
 *
 * In a clone esbuild makes them when the host starts, because type stripping in the cell would need
 * WebAssembly, and because a cell may read two files alone. The npm package carries them.
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BuildOptions, build, stop, transform } from 'esbuild';
import { DEFINITIONS, PARTS, SUBSTITUTES } from '../../../sandbox/parts/names.ts';
import { prebuilt } from '../../own-files.ts';
import { PRELUDE_URL } from '../../protocol/wire.ts';

const SANDBOX = fileURLToPath(new URL('../../../sandbox', import.meta.url));
const CELL_MAIN = fileURLToPath(new URL('../../cell/main.ts', import.meta.url));
const BUNDLER_MAIN = fileURLToPath(new URL('../bundle/bundler-process.ts', import.meta.url));

/** Texts made of this code; the same for every folder. */
export interface CellSources {
  readonly script: string;
  readonly bundler: string;
  /** The prelude, which every blank isolate runs first, then its parts. */
  readonly isolate: readonly string[];
}

/** All texts. @throws where a build fails */
export async function cellSources(): Promise<CellSources> {
  const carried = prebuilt('cellSources');
  return carried === undefined ? buildSources() : (JSON.parse(carried) as CellSources);
}

async function buildSources(): Promise<CellSources> {
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

/** The prelude: a classic script whose value is `start`, with no name left on the global object. */
async function buildPrelude(): Promise<string> {
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
