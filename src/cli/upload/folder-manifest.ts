/**
 * The manifest of a folder: finds its file, and reads what an upload needs to know of it. Every
 * problem with its contents is left to the service, which knows the rules of its operator.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { findManifest } from '../../model/manifest/find-manifest.ts';
import { checkManifest, type Manifest, type PlaceOf } from '../../model/manifest/manifest.ts';
import { readYaml, YAML_BYTES_MAX } from '../../model/manifest/yaml-source.ts';
import type { Problem } from '../../model/problem.ts';
import { readGiven } from '../../real-files.ts';

/** Folders below the given one in which a manifest is looked for. */
const DEPTH_MAX = 3;
/** Most names that are looked at. */
const NAMES_MAX = 5_000;

/** @returns the path of the manifest in the folder, or the problem: none, or several */
export const manifestIn = (folder: string): string | Problem =>
  findManifest(pathsIn(folder), (path) => {
    const found = readGiven(folder, join(folder, path), YAML_BYTES_MAX);
    return typeof found === 'object' ? String(found.bytes) : undefined;
  });

/** Paths of the files, the nearest first, without packages and hidden folders. */
export function pathsIn(folder: string): string[] {
  const found: string[] = [];
  const waiting: { readonly path: string; readonly depth: number }[] = [{ path: '', depth: 0 }];
  for (const { path, depth } of waiting) {
    for (const entry of readdirSync(join(folder, path), { withFileTypes: true })) {
      if (found.length + waiting.length > NAMES_MAX) return found;
      const inside = path === '' ? entry.name : `${path}/${entry.name}`;
      if (!entry.isDirectory()) found.push(inside);
      else if (depth < DEPTH_MAX && entry.name !== 'node_modules' && !entry.name.startsWith('.'))
        waiting.push({ path: inside, depth: depth + 1 });
    }
  }
  return found;
}

export interface ReadManifest {
  /** Absent where it has errors, or what it is depends on the operator's rules. */
  readonly manifest?: Manifest;
  /** Entrypoint as written; null where there is none, absent where it could not be read. */
  readonly script?: string | null;
  readonly placeOf: PlaceOf;
}

/**
 * @param file path of the manifest in the upload, for positions
 * @param environment name of the environment of the manifest
 */
export function readManifestFile(bytes: Uint8Array, file: string, environment?: string): ReadManifest {
  if (bytes.byteLength > YAML_BYTES_MAX) return { placeOf: () => ({ file, line: 1, column: 1 }) };
  const source = readYaml(Buffer.from(bytes).toString('utf8'), file);
  const parsed = checkManifest(source, {
    // Only the operator knows which organizations are internal.
    internalOrganizations: organizationsIn(source.value),
    ...(environment !== undefined && { environment }),
  });
  const { placeOf } = parsed;
  if (parsed.ok) return { manifest: parsed.manifest, script: parsed.manifest.script ?? null, placeOf };
  return { placeOf, ...(parsed.script !== undefined && { script: parsed.script }) };
}

/** Every text that may be the organization of a manifest: also those of its environments. */
function organizationsIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const { organization, envs } = value as { organization?: unknown; envs?: unknown };
  const own = typeof organization === 'string' ? [organization] : [];
  const others = typeof envs === 'object' && envs !== null ? Object.values(envs) : [];
  return [...own, ...others.flatMap((one) => organizationsIn({ organization: one?.organization }))];
}
