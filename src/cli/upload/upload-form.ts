/** The body of a publish: the files of an upload, and what the publisher adds to them. */
import { DEFAULT_LIMITS } from '../../limits.ts';
import type { FolderUpload } from './folder-upload.ts';

/** A file is sent in pieces of this size, where they are counted. */
const PIECE_BYTES = 64 * 1024;
/** Time for sending an upload and for its answer; the service bounds the build itself. */
export const UPLOAD_MS = 15 * 60_000 + DEFAULT_LIMITS.bundleMs;

export interface UploadExtras {
  readonly secrets?: Readonly<Record<string, string>>;
  readonly overwriteSecrets?: boolean;
  /** Called with the number of bytes of each piece of a file, as it is sent. */
  readonly sent?: ((bytes: number) => void) | undefined;
}

export function uploadForm(
  upload: FolderUpload,
  { secrets = {}, overwriteSecrets = false, sent }: UploadExtras,
): FormData {
  const form = new FormData();
  form.append('manifest', upload.manifestFile);
  if (upload.environment !== undefined) form.append('env', upload.environment);
  if (Object.keys(secrets).length > 0) form.append('secrets', JSON.stringify(secrets));
  if (overwriteSecrets) form.append('overwriteSecrets', 'true');
  // With a name as a third argument, the form would make files of its own.
  const fileOf = (bytes: Uint8Array, name: string): File => new SentFile(Buffer.from(bytes), name, sent);
  if (upload.script !== undefined) form.append('script', fileOf(upload.script.bytes, 'blob'));
  for (const [path, { bytes }] of upload.files) form.append('files', fileOf(bytes, path));
  return form;
}

/** A file that tells how much of it is read; `fetch` reads it as fast as it sends it. */
class SentFile extends File {
  readonly #bytes: Buffer<ArrayBuffer>;
  readonly #sent: ((bytes: number) => void) | undefined;

  constructor(bytes: Buffer<ArrayBuffer>, name: string, sent: ((bytes: number) => void) | undefined) {
    super([bytes], name);
    this.#bytes = bytes;
    this.#sent = sent;
  }

  override stream(): ReadableStream<Uint8Array<ArrayBuffer>> {
    const sent = this.#sent;
    if (sent === undefined) return super.stream();
    const bytes = this.#bytes;
    let at = 0;
    return new ReadableStream<Uint8Array<ArrayBuffer>>({
      pull(controller) {
        const piece = bytes.subarray(at, at + PIECE_BYTES);
        if (piece.byteLength === 0) return controller.close();
        at += piece.byteLength;
        sent(piece.byteLength);
        controller.enqueue(piece);
      },
    });
  }
}
