/**
 * The message `read` from the process of an upload to the host, and its validation.
 *
 * The process parses untrusted bytes. Attack: an upload takes over a parser and forges the whole
 * message. So the host checks the manifest value itself, accepts only valid images, and applies
 * every limit again. Its work is linear in the size of the message, and long work yields to the
 * event loop.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Limits } from '../../../limits.ts';
import { ASSETS_MAX, assetSteps, assetsOf, imageSteps, imagesOf } from '../../../model/manifest/image.ts';
import {
  checkManifest,
  MANIFEST_FILE,
  type Manifest,
  type ManifestRules,
  type PlaceOf,
} from '../../../model/manifest/manifest.ts';
import { isStaticPath } from '../../../model/manifest/static-files.ts';
import {
  YAML_DEPTH_MAX,
  YAML_NODES_MAX,
  YAML_TEXT_CHARS_MAX,
  type YamlPath,
} from '../../../model/manifest/yaml-source.ts';
import { isError, type Problem } from '../../../model/problem.ts';
import type { Parcel } from '../bundler-message.ts';
import { parseProblems } from '../parse-problems.ts';
import { pathProblem } from '../upload.ts';
import { isShown, type NamedImage, PREVIEW_BYTES_MAX } from './images.ts';

/** Name of a ready script in problems and stack traces. */
export const READY_SCRIPT = 'script.js';
/**
 * Most problems in one answer. Attack: an upload with so many problems that the answer has
 * megabytes.
 */
export const PROBLEMS_MAX = 100;
/** Most problems of refused parts. Each step that finds them has its own, lower limit. */
export const REFUSALS_MAX = 500;

/** JSON of the message. */
export type ReadingMessage =
  | {
      /** Parts of the upload are invalid. */
      readonly t: 'refused';
      readonly problems: readonly Problem[];
      readonly more: number;
    }
  | {
      readonly t: 'read';
      readonly problems: readonly Problem[];
      /** Number of omitted problems. */
      readonly more: number;
      /** Path of the entrypoint; absent where there is none. */
      readonly entry?: string;
      /** The value of the YAML text; absent where the manifest has an error. */
      readonly manifest?: unknown;
      /** Path of the manifest; present if `manifest` is. */
      readonly manifestFile?: string;
      /** The environment whose members replace those of the manifest. */
      readonly environment?: string;
      /** Line and column of each of `inspectedPaths`; present if `manifest` is. */
      readonly places?: readonly (readonly [line: number, column: number])[];
      readonly secrets: readonly (readonly [name: string, value: string])[];
      /** Names of secrets whose value was not sent. */
      readonly unsent: readonly string[];
      /** Paths of the images, whose bytes follow. */
      readonly images: readonly string[];
    };

/** The validated message. */
export type Reading =
  | { readonly ok: false; readonly problems: readonly Problem[] }
  | {
      readonly ok: true;
      readonly problems: readonly Problem[];
      readonly more: number;
      readonly entry?: string;
      /** Absent where the manifest has an error. */
      readonly manifest?: Manifest;
      /** Positions in the manifest, exact for `inspectedPaths` only. */
      readonly placeOf: PlaceOf;
      readonly secrets: ReadonlyMap<string, string>;
      /** Names of secrets whose value was not sent: a stored value is needed. */
      readonly unsent: readonly string[];
      readonly images: readonly NamedImage[];
    };

/**
 * Members of a manifest that are later checked against the exports of the script; the host needs
 * their positions.
 */
export function inspectedPaths({ blocks, configurations, secrets, webhook }: Manifest): YamlPath[] {
  const levels = Object.keys(configurations);
  return [
    ['scopes'],
    ...blocks.map((_, index) => ['blocks', index, 'id']),
    ...levels.map((level) => ['configurations', level, 'componentId']),
    ...Object.keys(secrets).map((name) => ['secrets', name]),
    ...(webhook === undefined
      ? []
      : levels.map((level) => ['configurations', level, 'properties', webhook.eventTypes, 'enum'])),
  ];
}

/** Validates the message. @returns undefined where it violates the protocol */
export async function parseReading(
  { value, blobs }: Parcel,
  { limits, rules }: { readonly limits: Limits; readonly rules: ManifestRules },
): Promise<Reading | undefined> {
  if (!isRecord(value)) return undefined;
  const problems = parseProblems(value['problems'], REFUSALS_MAX);
  const more = value['more'];
  if (problems === undefined || !isCount(more)) return undefined;
  if (value['t'] === 'refused') return problems.length > 0 ? { ok: false, problems } : undefined;
  const { entry, manifest: manifestValue, manifestFile, environment, places, secrets, images } = value;
  if (entry !== undefined && (typeof entry !== 'string' || pathProblem(entry) !== undefined))
    return undefined;
  const found = { ok: true, problems, more, ...(entry !== undefined && { entry }) } as const;
  if (manifestValue === undefined)
    return { ...found, placeOf: () => ROOT, secrets: new Map(), unsent: [], images: [] };
  if (!isBoundedValue(manifestValue) || !isOptionalText(environment)) return undefined;
  if (typeof manifestFile !== 'string' || pathProblem(manifestFile) !== undefined) return undefined;
  const own = environment === undefined ? rules : { ...rules, environment };
  const parsed = checkManifest({ value: manifestValue, problems: [], ...NOWHERE }, own);
  if (!parsed.ok) return undefined;
  const { manifest } = parsed;
  const placeOf = placesOf(inspectedPaths(manifest), places, manifestFile);
  const names = new Set(imagesOf(manifest).map(({ path }) => path));
  const published = publishedImages(images, blobs, { manifest, names, limits });
  const values = secretsOf(manifest, secrets, limits);
  const unsent = unsentOf(manifest, value['unsent']);
  if (placeOf === undefined || published === undefined || values === undefined || unsent === undefined)
    return undefined;
  // Secrets or images may be missing only where an error explains it.
  const isWhole =
    values.size + unsent.filter((name) => !values.has(name)).length ===
      Object.keys(manifest.secrets).length &&
    published.filter(({ path }) => names.has(path)).length === names.size;
  if (!isWhole && !problems.some(isError)) return undefined;
  if (!(await areImages(published, { names, limits }))) return undefined;
  return { ...found, manifest, placeOf, secrets: values, unsent, images: published };
}

const ROOT = { file: MANIFEST_FILE, line: 1, column: 1 };
const NOWHERE = { placeOf: () => ROOT, keyPlaceOf: () => ROOT, asText: () => undefined };

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isOptionalText = (value: unknown): value is string | undefined =>
  value === undefined || typeof value === 'string';

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

/** Whether a value is within the limits of a YAML text. */
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

function placesOf(paths: readonly YamlPath[], places: unknown, file: string): PlaceOf | undefined {
  if (!Array.isArray(places) || places.length !== paths.length) return undefined;
  const known = new Map<string, { line: number; column: number }>();
  for (const [index, path] of paths.entries()) {
    const place: unknown = places[index];
    if (!Array.isArray(place) || place.length !== 2) return undefined;
    const [line, column] = place;
    if (!isCount(line) || !isCount(column)) return undefined;
    known.set(JSON.stringify(path), { line, column });
  }
  return (path) => ({ ...ROOT, ...known.get(JSON.stringify(path)), file });
}

/**
 * Accepts only names that the manifest declares and values within the limit. Some may be missing.
 */
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

/** Accepts only names that the manifest declares, each once. */
function unsentOf(manifest: Manifest, unsent: unknown): readonly string[] | undefined {
  if (!Array.isArray(unsent)) return undefined;
  const names = new Set<string>();
  for (const name of unsent as unknown[]) {
    if (typeof name !== 'string' || !Object.hasOwn(manifest.secrets, name)) return undefined;
    names.add(name);
  }
  return names.size === unsent.length ? [...names] : undefined;
}

interface Named {
  /** Paths of the images that the manifest names. */
  readonly names: ReadonlySet<string>;
  readonly limits: Limits;
}

function publishedImages(
  paths: unknown,
  blobs: readonly Buffer[],
  { manifest, names, limits }: Named & { readonly manifest: Manifest },
): readonly NamedImage[] | undefined {
  if (!Array.isArray(paths) || paths.length !== blobs.length) return undefined;
  if (paths.length > names.size + ASSETS_MAX + limits.staticFiles) return undefined;
  const isAsset = assetsOf(manifest);
  const images = new Map<string, NamedImage>();
  for (const [index, path] of (paths as unknown[]).entries()) {
    const content = blobs[index];
    if (typeof path !== 'string' || content === undefined) return undefined;
    if (!names.has(path) && !isAsset(path) && !isStaticPath(manifest, path)) return undefined;
    // A copy: a view would keep the whole message in memory as long as the image.
    images.set(path, { path, content: Uint8Array.from(content) });
  }
  return images.size === paths.length ? [...images.values()] : undefined;
}

/**
 * Products that trust Annex show these images. Yields to the event loop after each image, and
 * during unusual ones.
 */
async function areImages(images: readonly NamedImage[], { names, limits }: Named): Promise<boolean> {
  for (const { path, content } of images) {
    if (path.startsWith('/')) {
      if (content.byteLength > limits.staticFileBytes) return false;
      continue;
    }
    if (content.byteLength > PREVIEW_BYTES_MAX) return false;
    const steps = names.has(path) ? imageSteps(content) : assetSteps(content);
    let step = steps.next();
    for (; !step.done; step = steps.next()) await nextTurn();
    if (!step.value.ok || !isShown(step.value)) return false;
    await nextTurn();
  }
  return true;
}
