/**
 * Result of bundling one upload: its type, its message, and the host's validation of that message.
 *
 * Attack: an upload takes over its process and sends a forged bundle. The host trusts no size, text
 * or map unchecked.
 */
import { type Problem, problem } from '../../model/problem.ts';
import type { Parcel } from './bundler-message.ts';
import { parseProblems } from './parse-problems.ts';

/**
 * Largest source map of a bundle, in bytes of UTF-8; a larger one is omitted. The host decodes a
 * map synchronously, on its main thread, when a script first fails. A decoded map takes about 35
 * bytes of heap per byte. Attack: dense code that throws, published many times, fills the host's
 * heap.
 */
export const SOURCE_MAP_BYTES_MAX = 1024 * 1024;
/** Errors and warnings of esbuild, with the count of omitted ones for each severity. */
const PROBLEMS_MAX = 210;

/** A bundle, or every problem that prevented it. */
export type BundleResult =
  | {
      readonly ok: true;
      /**
       * One classic script without imports. It evaluates to an async function with one parameter,
       * `run`, to which it passes the namespace of the entry module.
       */
      readonly script: string;
      /**
       * Source map (version 3) of the script, without `sourcesContent`; empty where it would be too
       * large.
       */
      readonly map: string;
      readonly warnings: readonly Problem[];
    }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** JSON of the message `bundled`; the script and its map follow as bytes. */
export interface BundleMessage {
  readonly ok: boolean;
  /** If `ok`, only warnings. */
  readonly problems: readonly Problem[];
}

/** Validates the message. @returns undefined where it violates the protocol */
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

/** Serializes the map again with only the members that are read later. */
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

/** Problem for an upload whose process died without a message while it bundled. */
export const ranOut = (file: string): Problem =>
  problem('The bundler ran out of memory or stack over this upload.', {
    file,
    hint: 'Look for generated code: thousands of nested brackets, or constants that double each other.',
  });
