/**
 * Bundles an upload into one script, with esbuild, in a process of its own (DESIGN "The guest contract").
 *
 * The host does not parse a byte of the upload: it checks names and sizes, starts a process under a memory limit,
 * hands it the files and waits for a result until the time is up. Whatever the process dies of costs that one upload
 * and nobody else's. What the bundle exports is found out later, by running it.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { AnnexError } from '../errors.ts';
import type { Limits } from '../limits.ts';
import { limitProblem, type Problem, problem } from '../model/problem.ts';
import type { BundleResult, BundlerJob, BundlerMessage } from './bundler-job.ts';
import { BundlerSlots } from './bundler-slots.ts';
import { withExportHint } from './sdk-exports.ts';
import { SDK_ENTRIES, SDK_SOURCE } from './sdk-source.ts';
import { quote, Upload } from './upload.ts';

export type { BundleResult } from './bundler-job.ts';

/** Memory that each process of a build may allocate: twice what the largest script within the limits was seen to need. */
const BUILD_DATA_MIB = 1_536;
/** What the process runs, unless it has been built. */
const MAIN = fileURLToPath(new URL('bundler-process.ts', import.meta.url));
/** Builds at once, and uploads waiting for their turn. */
const slots = new BundlerSlots(2, 16);

export interface BundleOptions {
  readonly limits: Limits;
  /** Value of `MODE` and `process.env.NODE_ENV`; `production` unless told. */
  readonly mode?: string;
  /** Whose upload it is: publishers take turns. */
  readonly publisher?: string;
  /** What the process runs, built to one file of JavaScript: it is up in half the time. */
  readonly program?: string;
  /** The publisher went away: the build is stopped, and its reason thrown. */
  readonly signal?: AbortSignal;
}

/**
 * Bundles uploaded files, or the one file of a ready script (REFERENCE D10).
 *
 * @param files path inside the upload → bytes.
 * @param entry path of the entry, as the manifest's `script` names it.
 * @returns the script and its map, or every problem found, each with file, line and column.
 * @throws AnnexError where the platform is at fault: too many uploads at once, or no bundler to be started.
 */
export async function bundle(
  files: ReadonlyMap<string, Uint8Array>,
  entry: string,
  options: BundleOptions,
): Promise<BundleResult> {
  const { limits, mode = 'production', publisher = '', program = MAIN, signal } = options;
  const upload = new Upload(limits);
  for (const [path, bytes] of files) if (!upload.add(path, bytes)) break;
  if (upload.problems.length > 0) return { ok: false, problems: upload.problems };
  const path = entry.replace(/^(\.\/)+/, '');
  if (!files.has(path)) {
    const hint = 'Name an uploaded file, relative to the manifest.';
    return { ok: false, problems: [problem(`The entry ${quote(entry)} is not in the upload.`, { hint })] };
  }
  const leave = await slots.enter(publisher, signal);
  try {
    signal?.throwIfAborted();
    const virtual = { entry: path, upload: files, sdk: SDK_SOURCE, sdkEntries: SDK_ENTRIES };
    const job = { files: virtual, mode, scriptBytes: limits.scriptBytes };
    const result = await runJob(job, { limits, program, signal });
    return result.ok ? result : { ...result, problems: result.problems.map(withExportHint) };
  } finally {
    leave();
  }
}

interface Run {
  readonly limits: Limits;
  readonly program: string;
  readonly signal: AbortSignal | undefined;
}

function runJob(job: BundlerJob, { limits, program, signal }: Run): Promise<BundleResult> {
  const { promise, resolve, reject } = Promise.withResolvers<BundleResult>();
  const child = start(program);
  let ready = false;
  const { entry: file } = job.files;
  const refuse = (found: Problem) => resolve({ ok: false, problems: [found] });
  const timer = setTimeout(() => {
    refuse(limitProblem({ name: 'bundleMs', max: limits.bundleMs }, { file, hint: 'Upload less code.' }));
  }, limits.bundleMs);
  const abort = () => reject(signal?.reason);
  signal?.addEventListener('abort', abort, { once: true });
  child.on('message', (message: BundlerMessage) => {
    if (message.t === 'result') return resolve(message.result);
    ready = true;
    child.send(job);
  });
  // A write to a process that has just died: `exit` has the answer.
  child.on('error', (cause) => ready || reject(cannotStart(cause)));
  child.on('exit', (code, ended) => {
    if (!ready) return reject(cannotStart(`exit code ${code}, signal ${ended}`));
    const hint =
      'Look for generated code: thousands of nested brackets, or constants that double each other.';
    refuse(problem('The bundler ran out of memory or stack over this upload.', { file, hint }));
  });
  return promise.finally(() => {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
    kill(child);
  });
}

/**
 * Starts the process: no environment, so that no secret of the operator is near the upload, and on POSIX a limit on
 * memory, which Node can only be given from outside, and a process group of its own, so that esbuild dies with it.
 */
function start(program: string): ChildProcess {
  const options = {
    serialization: 'advanced',
    env: {},
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  } as const;
  if (process.platform === 'win32') {
    return fork(program, [], { ...options, stdio: [...options.stdio], execArgv: [], windowsHide: true });
  }
  return fork(program, [], {
    ...options,
    stdio: [...options.stdio],
    detached: true,
    execPath: '/bin/sh',
    execArgv: ['-c', `ulimit -d ${BUILD_DATA_MIB * 1024}; exec "$0" "$@"`, process.execPath],
  });
}

/** Ends the process and, on POSIX, everything it started. */
function kill(child: ChildProcess): void {
  if (child.pid === undefined) return;
  if (process.platform === 'win32') return void child.kill('SIGKILL');
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // ESRCH: the whole group has ended by itself.
  }
}

const cannotStart = (cause: unknown): AnnexError =>
  new AnnexError('INTERNAL_ERROR', 'The bundler cannot be started.', { detail: cause });
