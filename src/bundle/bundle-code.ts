/**
 * Bundles the files of one upload with esbuild, with fixed options; the upload chooses none of them.
 *
 * Runs in the process of the upload. esbuild is a program of its own that parses hostile text, started by this process and
 * ended with it. No code of the tenant runs here.
 */
import { type BuildFailure, type BuildOptions, build, initialize } from 'esbuild';
import { limitProblem, type Problem, warning } from '../model/problem.ts';
import { buildProblems } from './build-problems.ts';
import { type BundleResult, SOURCE_MAP_BYTES_MAX } from './bundle-result.ts';
import { displayName, RUN, type VirtualFiles, virtualFiles } from './virtual-files.ts';

export interface BundleJob {
  readonly files: VirtualFiles;
  /** Value of `MODE` and `process.env.NODE_ENV`. */
  readonly mode: string;
  readonly scriptBytes: number;
  /** Whether esbuild can open nothing on a disk. */
  readonly diskless: boolean;
}

const EMPTY_MAP = JSON.stringify({ version: 3, sources: [], names: [], mappings: '' });

/**
 * Without needless whitespace, which every isolate would hold and parse; with all names, so that a stack trace keeps the
 * author's. What only dead branches on `MODE` and `NODE_ENV` import is left out all the same.
 */
const optionsOf = ({ files, mode }: BundleJob) =>
  ({
    entryPoints: ['frame'],
    plugins: [virtualFiles(files)],
    // Answered by the plugin alone; esbuild neither looks for a tsconfig nor writes a file.
    tsconfigRaw: { compilerOptions: { useDefineForClassFields: true } },
    write: false,
    outfile: 'script.js',
    bundle: true,
    // ES modules for the sake of top-level await; the frame around them leaves no import and no export. They lie flat in
    // one function, so the caller of it decides when they run, and catches what they throw. V8 compiles a function in
    // parentheses at once: another form would have it read twice.
    format: 'esm',
    minifyWhitespace: true,
    banner: { js: `(async function (${RUN}) { "use strict";` },
    footer: { js: '})' },
    platform: 'neutral',
    target: 'esnext',
    // A proposal that esbuild passes through and V8 does not parse yet, and what a classic script does not have.
    supported: { decorators: false, 'import-meta': false },
    treeShaking: true,
    charset: 'utf8',
    legalComments: 'none',
    sourcemap: 'external',
    sourcesContent: false,
    jsx: 'automatic',
    jsxImportSource: '@annex/sdk',
    define: { MODE: JSON.stringify(mode), 'process.env.NODE_ENV': JSON.stringify(mode) },
    logLevel: 'silent',
    logLimit: 0,
  }) satisfies BuildOptions;

/** Starts esbuild, so that it is up by the time the upload has been read. */
export const startBundler = (): Promise<void> => initialize({});

export async function bundleCode(job: BundleJob): Promise<BundleResult> {
  try {
    const { outputFiles, warnings } = await build(optionsOf(job));
    const patterns = buildProblems([], warnings, job.diskless);
    if (patterns.errors.length > 0)
      return { ok: false, problems: [...patterns.errors, ...patterns.warnings] };
    const script = outputFiles.find((file) => file.path.endsWith('.js'));
    const map = outputFiles.find((file) => file.path.endsWith('.map'));
    if (script === undefined || map === undefined) throw new Error('esbuild gave no script or no map');
    if (script.contents.byteLength > job.scriptBytes) {
      const limit = { max: job.scriptBytes, used: script.contents.byteLength };
      return {
        ok: false,
        problems: [limitProblem({ name: 'scriptBytes', ...limit }, { hint: 'Import less.' })],
      };
    }
    const named = withDisplayNames(map.text);
    if (Buffer.byteLength(named) <= SOURCE_MAP_BYTES_MAX)
      return { ok: true, script: script.text, map: named, warnings: patterns.warnings };
    return {
      ok: true,
      script: script.text,
      map: EMPTY_MAP,
      warnings: [...patterns.warnings, mapTooLarge()],
    };
  } catch (error) {
    const { errors, warnings } = error as Partial<BuildFailure>;
    // No messages: esbuild itself died. Ending without a result tells the host.
    if (errors === undefined || warnings === undefined) throw error;
    const found = buildProblems(errors, warnings, job.diskless);
    return { ok: false, problems: [...found.errors, ...found.warnings] };
  }
}

const mapTooLarge = (): Problem =>
  warning('The script is so large that stack traces will show lines of the bundle.', {
    hint: 'Import less.',
  });

/** Names the sources as the author does: `src/index.ts`, not `upload:src/index.ts`. */
function withDisplayNames(mapJson: string): string {
  const map = JSON.parse(mapJson) as { sources: string[] };
  return JSON.stringify({ ...map, sources: map.sources.map(displayName) });
}
