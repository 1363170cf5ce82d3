/** The body of a publish: the files of an upload, and what the publisher adds to them. */
import { DEFAULT_LIMITS } from '../../limits.ts';
import type { FolderUpload } from './folder-upload.ts';

/** Time for sending an upload and for its answer; the service bounds the build itself. */
export const UPLOAD_MS = 15 * 60_000 + DEFAULT_LIMITS.bundleMs;

export interface UploadExtras {
  readonly secrets?: Readonly<Record<string, string>>;
  readonly overwriteSecrets?: boolean;
}

export function uploadForm(
  upload: FolderUpload,
  { secrets = {}, overwriteSecrets = false }: UploadExtras,
): FormData {
  const form = new FormData();
  form.append('manifest', upload.manifestFile);
  if (upload.environment !== undefined) form.append('env', upload.environment);
  if (Object.keys(secrets).length > 0) form.append('secrets', JSON.stringify(secrets));
  if (overwriteSecrets) form.append('overwriteSecrets', 'true');
  if (upload.script !== undefined) form.append('script', new Blob([Buffer.from(upload.script.bytes)]));
  for (const [path, { bytes }] of upload.files) form.append('files', new Blob([Buffer.from(bytes)]), path);
  return form;
}
