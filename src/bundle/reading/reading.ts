/**
 * What the process of an upload tells the host about it before its code is bundled, and the check of that.
 *
 * The process runs parsers over a stranger's bytes. If one of them is taken over, everything it says is the stranger's: so
 * the host believes no manifest that it has not read itself, no image that is none, and no more of anything than its bound.
 * Its work is linear in what it is told, and long work lets the event loop turn in between.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Limits } from '../../limits.ts';
import {
  checkManifest,
  MANIFEST_FILE,
  type Manifest,
  type ManifestRules,
  type PlaceOf,
} from '../../model/manifest/manifest.ts';
import { pngSteps } from '../../model/manifest/png.ts';
import {
  YAML_DEPTH_MAX,
  YAML_NODES_MAX,
  YAML_TEXT_CHARS_MAX,
  type YamlPath,
} from '../../model/manifest/yaml-source.ts';
import { isError, type Problem } from '../../model/problem.ts';
import type { Parcel } from '../parcel.ts';
import { parseProblems } from '../problem-shape.ts';
import { pathProblem } from '../upload.ts';
import { type NamedImage, PREVIEW_BYTES_MAX } from './images.ts';

/** What a ready script is called in problems and stack traces. */
export const READY_SCRIPT = 'script.js';
/** Problems in one answer: an author who has more starts at the top, and a hostile upload gets no megabyte back. */
export const PROBLEMS_MAX = 100;
/** Problems of parts and of an archive are bounded where they are found, each kind for itself. */
export const REFUSALS_MAX = 500;

/** As it is sent, in JSON. */
export type ReadingMessage =
  | {
      /** Its parts are in disorder. */
      readonly t: 'refused';
      readonly problems: readonly Problem[];
      readonly more: number;
    }
  | {
      readonly t: 'read';
      readonly problems: readonly Problem[];
      /** Problems that are not listed. */
      readonly more: number;
      /** Path of the entrypoint; absent where there is none. */
      readonly entry?: string;
      /** The value of the YAML text; absent where the manifest has an error. */
      readonly manifest?: unknown;
      /** Line and column of each of `inspectedPaths`; there where the manifest is. */
      readonly places?: readonly (readonly [line: number, column: number])[];
      readonly secrets: readonly (readonly [name: string, value: string])[];
      /** Paths of the images, whose bytes follow. */
      readonly images: readonly string[];
    };

/** What the host has made sure of. */
export type Reading =
  | { readonly ok: false; readonly problems: readonly Problem[] }
  | {
      readonly ok: true;
      readonly problems: readonly Problem[];
      readonly more: number;
      readonly entry?: string;
      /** Absent where the manifest has an error. */
      readonly manifest?: Manifest;
      /** Knows the places of `inspectedPaths`. */
      readonly placeOf: PlaceOf;
      readonly secrets: ReadonlyMap<string, string>;
      readonly images: readonly NamedImage[];
    };

/** Members of a manifest that are held against what the script exports: the host needs their places later. */
export function inspectedPaths({ blocks, configurations, webhook }: Manifest): YamlPath[] {
  const levels = Object.keys(configurations);
  return [
    ['scopes'],
    ...blocks.map((_, index) => ['blocks', index, 'id']),
    ...levels.map((level) => ['configurations', level, 'componentId']),
    ...(webhook === undefined
      ? []
      : levels.map((level) => ['configurations', level, 'properties', webhook.eventTypes, 'enum'])),
  ];
}

/** @returns undefined where the process has said what an honest one never says */
export async function parseReading(
  { value, blobs }: Parcel,
  { limits, rules }: { readonly limits: Limits; readonly rules: ManifestRules },
): Promise<Reading | undefined> {
  if (!isRecord(value)) return undefined;
  const problems = parseProblems(value['problems'], REFUSALS_MAX);
  const more = value['more'];
  if (problems === undefined || !isCount(more)) return undefined;
  if (value['t'] === 'refused') return problems.length > 0 ? { ok: false, problems } : undefined;
  const { entry, manifest: said, places, secrets, images } = value;
  if (entry !== undefined && (typeof entry !== 'string' || pathProblem(entry) !== undefined))
    return undefined;
  const found = { ok: true, problems, more, ...(entry !== undefined && { entry }) } as const;
  if (said === undefined) return { ...found, placeOf: () => ROOT, secrets: new Map(), images: [] };
  if (!isBoundedValue(said)) return undefined;
  const parsed = checkManifest({ value: said, problems: [], ...NOWHERE }, rules);
  if (!parsed.ok) return undefined;
  const { manifest } = parsed;
  const placeOf = placesOf(inspectedPaths(manifest), places);
  const named = imagesOf(manifest, images, blobs);
  const values = secretsOf(manifest, secrets, limits);
  if (placeOf === undefined || named === undefined || values === undefined) return undefined;
  // What is missing has a reason that is told.
  const isWhole =
    values.size === Object.keys(manifest.secrets).length && named.length === imagePaths(manifest).size;
  if (!isWhole && !problems.some(isError)) return undefined;
  if (!(await arePngs(named))) return undefined;
  return { ...found, manifest, placeOf, secrets: values, images: named };
}

const ROOT = { file: MANIFEST_FILE, line: 1, column: 1 };
const NOWHERE = { placeOf: () => ROOT, keyPlaceOf: () => ROOT };

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

/** Whether a value could have come of a YAML text within its bounds. */
function isBoundedValue(value: unknown): boolean {
  const waiting: [value: unknown, depth: number][] = [[value, 0]];
  let nodes = 0;
  let chars = 0;
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [found, depth] = next;
    nodes += 1;
    if (typeof found === 'string') chars += found.length;
    if (nodes > YAML_NODES_MAX || depth > YAML_DEPTH_MAX || chars > YAML_TEXT_CHARS_MAX) return false;
    if (typeof found !== 'object' || found === null) continue;
    const keys = Object.keys(found);
    if (nodes + waiting.length + keys.length > YAML_NODES_MAX) return false;
    for (const key of keys) {
      if (!Array.isArray(found)) chars += key.length;
      waiting.push([(found as Record<string, unknown>)[key], depth + 1]);
    }
  }
  return true;
}

function placesOf(paths: readonly YamlPath[], places: unknown): PlaceOf | undefined {
  if (!Array.isArray(places) || places.length !== paths.length) return undefined;
  const known = new Map<string, { line: number; column: number }>();
  for (const [index, path] of paths.entries()) {
    const place: unknown = places[index];
    if (!Array.isArray(place) || place.length !== 2) return undefined;
    const [line, column] = place;
    if (!isCount(line) || !isCount(column)) return undefined;
    known.set(JSON.stringify(path), { line, column });
  }
  return (path) => ({ ...ROOT, ...known.get(JSON.stringify(path)) });
}

/** Names that the manifest has, texts within the limit. Some may be missing: the process has told why. */
function secretsOf(
  manifest: Manifest,
  secrets: unknown,
  limits: Limits,
): ReadonlyMap<string, string> | undefined {
  if (!Array.isArray(secrets) || secrets.length > limits.secretsPerIntegration) return undefined;
  const values = new Map<string, string>();
  for (const pair of secrets as unknown[]) {
    if (!Array.isArray(pair) || pair.length !== 2) return undefined;
    const [name, value] = pair;
    if (typeof name !== 'string' || !Object.hasOwn(manifest.secrets, name)) return undefined;
    if (typeof value !== 'string' || !value.isWellFormed()) return undefined;
    if (value === '' || Buffer.byteLength(value) > limits.secretBytes) return undefined;
    values.set(name, value);
  }
  return values;
}

const imagePaths = ({ icon, blocks, previewImages }: Manifest): ReadonlySet<string> =>
  new Set(
    [icon, ...blocks.map((block) => block.icon), ...previewImages].filter((path) => path !== undefined),
  );

function imagesOf(
  manifest: Manifest,
  paths: unknown,
  blobs: readonly Buffer[],
): readonly NamedImage[] | undefined {
  const named = imagePaths(manifest);
  if (!Array.isArray(paths) || paths.length !== blobs.length) return undefined;
  const images = new Map<string, NamedImage>();
  for (const [index, path] of (paths as unknown[]).entries()) {
    const content = blobs[index];
    if (typeof path !== 'string' || !named.has(path) || content === undefined) return undefined;
    // A copy: a view would hold the whole message for as long as the image is of use.
    images.set(path, { path, content: Uint8Array.from(content) });
  }
  return images.size === paths.length ? [...images.values()] : undefined;
}

/** They are shown by products that trust this service. The event loop turns after each image and within a strange one. */
async function arePngs(images: readonly NamedImage[]): Promise<boolean> {
  for (const { content } of images) {
    if (content.byteLength > PREVIEW_BYTES_MAX) return false;
    const steps = pngSteps(content);
    let step = steps.next();
    for (; !step.done; step = steps.next()) await nextTurn();
    if (!step.value.ok) return false;
    await nextTurn();
  }
  return true;
}
