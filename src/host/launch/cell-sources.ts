/**
 * The texts that cells run: the one JavaScript file of a cell and the prelude for its isolates.
 * Also the one JavaScript file of the process that bundles an upload, so that not every publish
 * builds it.
 *
 * In a clone esbuild makes them when the host starts, because type stripping in the cell would need
 * WebAssembly, and because a cell may read two files alone. They are kept until a file changes of
 * which they are made. The npm package carries them.
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BuildOptions } from 'esbuild';
import { DEFINITIONS, PARTS, SUBSTITUTES } from '../../../sandbox/parts/names.ts';
import { builtOnce, KEPT, prebuilt } from '../../own-files.ts';
import { PRELUDE_URL } from '../../protocol/wire.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
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

const KEPT_FILE = KEPT === undefined ? undefined : join(KEPT, 'cell-sources.json');
/** These decide what is built, and are in no bundle. */
const RULES = [
  import.meta.filename,
  fileURLToPath(new URL('../../../sandbox/parts/names.ts', import.meta.url)),
  fileURLToPath(new URL('../../../package-lock.json', import.meta.url)),
];

/** All texts. @param kept file in which a clone keeps them. @throws where a build fails */
export async function cellSources(kept = KEPT_FILE): Promise<CellSources> {
  const carried = prebuilt('cellSources');
  if (carried !== undefined || kept === undefined) return JSON.parse(carried ?? '') as CellSources;
  return builtOnce(kept, buildSources);
}

async function buildSources(files: Set<string>): Promise<CellSources> {
  // Loaded where it is needed: most starts find the texts.
  const esbuild = await import('esbuild');
  for (const path of RULES) files.add(path);
  const built = async (options: BuildOptions): Promise<string> => {
    const { outputFiles, metafile } = await esbuild.build({
      ...{ bundle: true, write: false, format: 'cjs', target: 'esnext', logLevel: 'silent' },
      ...{ absWorkingDir: ROOT, metafile: true },
      ...options,
    });
    for (const path of Object.keys(metafile?.inputs ?? {}))
      if (path !== '<stdin>') files.add(join(ROOT, path));
    return outputFiles?.[0]?.text ?? '';
  };
  const forIsolate = async (name: string, more: Pick<BuildOptions, 'alias' | 'define'> = {}) => {
    const source = await built({
      stdin: { contents: `export * from './${name}';`, resolveDir: SANDBOX, loader: 'ts' },
      ...{ platform: 'neutral', mainFields: ['module', 'main'], minifySyntax: true, ...more },
    });
    const options = { format: 'cjs', minify: true, target: 'esnext' } as const;
    return (await esbuild.transform(withoutExportCopies(source), options)).code;
  };
  const [prelude, parts, script, bundler] = await Promise.all([
    forIsolate('entry.ts').then(asPrelude),
    Promise.all(
      PARTS.map((name) => {
        const substitutes = Object.entries(SUBSTITUTES[name] ?? {});
        const alias = Object.fromEntries(
          substitutes.map(([library, path]) => [library, join(SANDBOX, path)]),
        );
        return forIsolate(`parts/${name}.ts`, { alias, define: DEFINITIONS[name] ?? {} }).then(asPart);
      }),
    ),
    built({ entryPoints: [CELL_MAIN], platform: 'node' }),
    // With esbuild's library in it: a confined process has no folder of packages to load it from.
    // Each upload parses it anew, in time proportional to its size.
    built({ entryPoints: [BUNDLER_MAIN], platform: 'node', minify: true }),
  ]);
  // esbuild's process is not needed again: uploads are bundled by a process of their own.
  await esbuild.stop();
  return { script, bundler, isolate: [prelude, ...parts] };
}

/** The prelude: a classic script whose value is `start`, with no name left on the global object. */
const asPrelude = (source: string): string =>
  `(function () { const module = { exports: {} }; (function (module, exports) { "use strict"; ${source}
})(module, module.exports); return module.exports.start; })()`;

/** A part: a function of the part's imports that returns its exports. */
const asPart = (source: string): string =>
  `((needs) => { const module = { exports: {} }; ((module, exports) => { "use strict"; ${source}
})(module, module.exports); return module.exports; })
//# sourceURL=${PRELUDE_URL}`;

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
