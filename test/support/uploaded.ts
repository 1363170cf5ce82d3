/**
 * Uploads for tests: written inline or taken from `fixtures/`, bundled by the real bundler and, where a test wants to see
 * the code answer, run on Node's own web platform.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { compileFunction } from 'node:vm';
import { type BundleResult, bundle } from '../../src/bundle/bundler.ts';
import { DEFAULT_LIMITS, type Limits } from '../../src/limits.ts';
import { bundlerProgram } from './built-once.ts';

const FIXTURES = new URL('../../fixtures/', import.meta.url);

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

/** Bundles with the default limits, but for those given. */
export const bundled = async (
  files: ReadonlyMap<string, Uint8Array>,
  entry: string,
  limits: Partial<Limits> = {},
): Promise<BundleResult> =>
  bundle(files, entry, { limits: { ...DEFAULT_LIMITS, ...limits }, program: await bundlerProgram() });

/** The script of an upload that must bundle. */
export async function scriptOf(files: ReadonlyMap<string, Uint8Array>, entry: string): Promise<string> {
  const result = await bundled(files, entry);
  if (!result.ok) throw new Error(`does not bundle: ${JSON.stringify(result.problems)}`);
  return result.script;
}

/** Runs a bundled script the way an isolate does. @returns the default export of its entry module. */
export async function runScript<T>(script: string): Promise<T> {
  const load = compileFunction(`return ${script}`)() as (run: (entry: unknown) => void) => Promise<void>;
  let entry: unknown;
  await load((namespace) => {
    entry = namespace;
  });
  return (entry as { default: T }).default;
}

/** Bundles one file and runs it. */
export const evaluate = async <T>(files: Record<string, string>, entry = 'index.ts'): Promise<T> =>
  runScript<T>(await scriptOf(uploaded(files), entry));
