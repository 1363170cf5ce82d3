/**
 * Packs a folder on disk into the multipart upload of a publish
 * (`docs/contract/api.md#publishing`), for command lines and tests. It checks nothing; the service
 * does, and finds a manifest of another name among the files.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { MANIFEST_FILE } from '../../model/manifest/manifest.ts';

/** @param secrets values for the manifest's `secrets`, by secret name */
export async function uploadFolder(folder: string, secrets: Record<string, string> = {}): Promise<FormData> {
  const form = new FormData();
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  for (const file of files.sort()) {
    const path = relative(folder, file).split(sep).join('/');
    const blob = new Blob([await readFile(file)]);
    if (path === MANIFEST_FILE) form.append('manifest', blob, path);
    else form.append('files', blob, path);
  }
  if (Object.keys(secrets).length > 0) form.append('secrets', JSON.stringify(secrets));
  return form;
}
