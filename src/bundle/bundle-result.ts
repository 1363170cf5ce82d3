/**
 * What comes of bundling the code of one upload, and the host's check of what the process says it is.
 */
import { type Problem, problem } from '../model/problem.ts';
import type { Parcel } from './parcel.ts';
import { parseProblems } from './problem-shape.ts';

/**
 * Largest source map of a bundle, in bytes of UTF-8; a larger one is left out. The host decodes a map in one go when a
 * script first fails, on the thread that serves everyone, and a decoded map takes some 35 bytes of its heap per byte:
 * dense code that throws, published many times over, would fill it.
 */
export const SOURCE_MAP_BYTES_MAX = 1024 * 1024;
/** Problems and warnings: esbuild's of either kind, and that there were more. */
const PROBLEMS_MAX = 210;

/** A bundle, or everything that kept it from becoming one. */
export type BundleResult =
  | {
      readonly ok: true;
      /**
       * One classic script, no imports left. Its value is a function of `run`, which it calls with a thunk that loads the
       * entry module and answers a promise of its namespace.
       */
      readonly script: string;
      /** Source map (version 3) of the script, without the sources' text; empty where it would be too large. */
      readonly map: string;
      readonly warnings: readonly Problem[];
    }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** As it is sent, in JSON; the script and its map follow as bytes. */
export interface BundleMessage {
  readonly ok: boolean;
  /** Of a bundle: its warnings. */
  readonly problems: readonly Problem[];
}

/** @returns undefined where the process has said what an honest one never says */
export function parseBundle({ value, blobs }: Parcel, scriptBytesMax: number): BundleResult | undefined {
  if (typeof value !== 'object' || value === null || !('ok' in value) || !('problems' in value))
    return undefined;
  const problems = parseProblems(value.problems, PROBLEMS_MAX);
  if (problems === undefined) return undefined;
  if (value.ok === false) return problems.length > 0 ? { ok: false, problems } : undefined;
  const [scriptBytes, mapBytes] = blobs;
  if (value.ok !== true || blobs.length !== 2 || scriptBytes === undefined || mapBytes === undefined)
    return undefined;
  if (scriptBytes.byteLength > scriptBytesMax || mapBytes.byteLength > SOURCE_MAP_BYTES_MAX) return undefined;
  const script = textOf(scriptBytes);
  const map = parseMap(mapBytes);
  return script === undefined || map === undefined
    ? undefined
    : { ok: true, script, map, warnings: problems };
}

/** The map written anew with the members that are read later, and no others. */
function parseMap(bytes: Uint8Array): string | undefined {
  const text = textOf(bytes);
  let map: unknown;
  try {
    map = JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
  if (typeof map !== 'object' || map === null) return undefined;
  const { sources, names, mappings } = map as Record<string, unknown>;
  if (!isTexts(sources) || !isTexts(names) || typeof mappings !== 'string') return undefined;
  return JSON.stringify({ version: 3, sources, names, mappings });
}

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((text) => typeof text === 'string');

function textOf(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Native code died over the upload, without a word. */
export const ranOut = (file: string): Problem =>
  problem('The bundler ran out of memory or stack over this upload.', {
    file,
    hint: 'Look for generated code: thousands of nested brackets, or constants that double each other.',
  });
