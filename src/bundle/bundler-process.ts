/**
 * Main of the process that bundles one upload and ends.
 *
 * esbuild is a program of its own that parses hostile text: a megabyte of `[` overflows its stack and takes it down, a
 * TypeScript enum that doubles a string thirty times over asks it for gigabytes. So it never runs beside another
 * tenant's build nor inside the host: the host starts this process with limits, and kills its process group, esbuild
 * included, when it overstays. No code of the tenant runs here.
 */
import { type BuildFailure, build } from 'esbuild';
import { limitProblem, type Problem, warning } from '../model/problem.ts';
import { buildProblems } from './build-problems.ts';
import {
  type BundleResult,
  type BundlerJob,
  type BundlerMessage,
  SOURCE_MAP_BYTES_MAX,
} from './bundler-job.ts';
import { displayName, RUN, virtualFiles } from './virtual-files.ts';

const EMPTY_MAP = JSON.stringify({ version: 3, sources: [], names: [], mappings: '' });

/**
 * Bundles with fixed options; the upload chooses none of them.
 *
 * Without needless whitespace, which every isolate would hold and parse; with all names, so that a stack trace keeps the
 * author's. What only dead branches on `MODE` and `NODE_ENV` import is left out all the same.
 */
async function bundleJob(job: BundlerJob): Promise<BundleResult> {
  const mode = JSON.stringify(job.mode);
  try {
    const { outputFiles, warnings } = await build({
      entryPoints: ['frame'],
      plugins: [virtualFiles(job.files)],
      // Answered by the plugin alone; esbuild neither looks for a tsconfig nor writes a file.
      tsconfigRaw: { compilerOptions: { useDefineForClassFields: true } },
      write: false,
      outfile: 'script.js',
      bundle: true,
      // ES modules for the sake of top-level await; the frame around them leaves no import and no export. They lie flat in
      // one function, so whoever calls it decides when they run, and catches what they throw. V8 compiles a function in
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
      define: { MODE: mode, 'process.env.NODE_ENV': mode },
      logLevel: 'silent',
      logLimit: 0,
    });
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
    const found = buildProblems(warnings, 'warning');
    const named = withDisplayNames(map.text);
    if (Buffer.byteLength(named) > SOURCE_MAP_BYTES_MAX) {
      return { ok: true, script: script.text, map: EMPTY_MAP, warnings: [...found, mapTooLarge()] };
    }
    return { ok: true, script: script.text, map: named, warnings: found };
  } catch (error) {
    const { errors, warnings } = error as Partial<BuildFailure>;
    // No messages: esbuild itself died. Ending without a result tells the host.
    if (errors === undefined || warnings === undefined) throw error;
    return {
      ok: false,
      problems: [...buildProblems(errors, 'error'), ...buildProblems(warnings, 'warning')],
    };
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

const send = (message: BundlerMessage): Promise<void> =>
  new Promise((resolve, reject) => {
    process.send?.(message, (error: Error | null) => (error === null ? resolve() : reject(error)));
  });

// The host ends this process once it has read the result: one that exits by itself may be heard of before what it has sent.
process.on('message', async (job: BundlerJob) => {
  await send({ t: 'result', result: await bundleJob(job) });
});
// The host is gone: nobody will read the result, and nobody else would stop a build that never ends.
process.on('disconnect', () =>
  process.platform === 'win32' ? process.exit() : process.kill(-process.pid, 'SIGKILL'),
);
await send({ t: 'ready' });
