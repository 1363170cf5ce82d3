/**
 * Uploads for tests: written inline or taken from `fixtures/`, bundled by the real bundler and,
 * where a test checks what the code answers, run on Node's own web platform.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { compileFunction } from 'node:vm';
import { currentContext, runInContext, setContext } from '../../../sandbox/web/current-call.ts';
import { type BundleResult, type BundlerOptions, UploadJob } from '../../../src/host/bundle/bundler.ts';
import { UploadedFiles } from '../../../src/host/bundle/upload.ts';
import type { UploadForm } from '../../../src/host/bundle/upload-form.ts';
import { DEFAULT_LIMITS, type Limits } from '../../../src/limits.ts';
import { bundlerLauncher } from '../built-once.ts';
import { manifestYaml } from '../store/temporary-store.ts';

const FIXTURES = new URL('../../../fixtures/', import.meta.url);

export const uploaded = (files: Record<string, string>): Map<string, Uint8Array> =>
  new Map(Object.entries(files).map(([path, text]) => [path, new TextEncoder().encode(text)]));

/** All files of one fixture, by their path inside it. */
export function fixture(name: string): Map<string, Uint8Array> {
  const folder = new URL(`${name}/`, FIXTURES);
  return new Map(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => {
        const path = `${entry.parentPath}/${entry.name}`.slice(folder.pathname.length).replace(/^\//, '');
        return [path, readFileSync(new URL(path, folder))];
      }),
  );
}

/**
 * The parts of a publish: files, and a manifest that names the entrypoint, unless other files have
 * one.
 */
export function formOf(
  files: ReadonlyMap<string, Uint8Array>,
  singles: Readonly<Record<string, string | Uint8Array>> = {},
  limits: Limits = DEFAULT_LIMITS,
): UploadForm {
  const upload = new UploadedFiles(limits);
  for (const [path, bytes] of files) if (!upload.add(path, bytes)) break;
  return {
    files: upload.files,
    singles: new Map(
      Object.entries(singles).map(([part, text]) => [part, Buffer.from(text)]),
    ) as UploadForm['singles'],
    filesSent: files.size > 0,
    problems: [],
    fileProblems: upload.problems,
  };
}

/** Reads and bundles files, as a publish does. */
export async function bundle(
  files: ReadonlyMap<string, Uint8Array>,
  entry: string,
  { mode, ...options }: BundlerOptions & { readonly mode?: string },
): Promise<BundleResult> {
  const manifest = manifestYaml({}, `script: ${JSON.stringify(entry)}`);
  // The manifest is of this helper, and on no account.
  const uploadBytes = options.limits.uploadBytes + manifest.length;
  const job = await UploadJob.begin({ ...options, limits: { ...options.limits, uploadBytes } });
  try {
    const reading = await job.read(formOf(files, { manifest }, options.limits));
    if (!reading.ok || reading.entry === undefined) return { ok: false, problems: reading.problems };
    return await job.bundle(reading.entry, mode);
  } finally {
    job.end();
  }
}

/** Bundles with the default limits, but for those given. */
export const bundled = async (
  files: ReadonlyMap<string, Uint8Array>,
  entry: string,
  limits: Partial<Limits> = {},
): Promise<BundleResult> =>
  bundle(files, entry, { limits: { ...DEFAULT_LIMITS, ...limits }, launcher: await bundlerLauncher() });

/** The script of an upload that must bundle. */
export async function scriptOf(files: ReadonlyMap<string, Uint8Array>, entry: string): Promise<string> {
  const result = await bundled(files, entry);
  if (!result.ok) throw new Error(`does not bundle: ${JSON.stringify(result.problems)}`);
  return result.script;
}

/**
 * Runs a bundled script the way an isolate does.
 *
 * @returns the default export of its entry module
 */
export async function runScript<T>(script: string, filename = 'script.js'): Promise<T> {
  // The script begins where its positions begin: in the first column.
  const load = compileFunction(`return (\n${script})`, [], { filename, lineOffset: -1 })() as (
    run: (entry: unknown) => void,
    context: object,
  ) => Promise<void>;
  let entry: unknown;
  const context = { get: currentContext, set: setContext, run: runInContext };
  await load((namespace) => {
    entry = namespace;
  }, context);
  return (entry as { default: T }).default;
}

/** Bundles one file and runs it. */
export const evaluate = async <T>(files: Record<string, string>, entry = 'index.ts'): Promise<T> =>
  runScript<T>(await scriptOf(uploaded(files), entry));
