/**
 * The body of a publish: the files of an upload, and what the publisher adds to them; its size,
 * with the packages and files that make it large; and on a terminal, how much of it is sent.
 *
 * A service may have other limits than the defaults. It is asked only for an upload that is over
 * those.
 */

import type { Annex } from '../../../packages/client/src/index.ts';
import { DEFAULT_LIMITS, type Limits } from '../../limits.ts';
import { limitSentence } from '../../model/limit-met.ts';
import { limitProblem, type Problem } from '../../model/problem.ts';
import type { CommandContext } from '../command.ts';
import { paint } from '../terminal/output.ts';
import type { FolderUpload } from './folder-upload.ts';

/** A file is sent in pieces of this size, where they are counted. */
const PIECE_BYTES = 64 * 1024;
/** Time for sending an upload and for its answer; the service bounds the build itself. */
export const UPLOAD_MS = 15 * 60_000 + DEFAULT_LIMITS.bundleMs;

interface UploadExtras {
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

type UploadLimits = Pick<Limits, 'uploadFiles' | 'uploadBytes'>;

/** Most packages, and most files, that a problem names. */
const NAMED_MAX = 3;

interface Weight {
  readonly name: string;
  readonly files: number;
  readonly bytes: number;
  /** The folders that they are in, by their paths without links. */
  readonly folders: ReadonlySet<string>;
}

interface UploadWeight {
  readonly files: number;
  readonly bytes: number;
  /** The largest first. */
  readonly packages: readonly Weight[];
}

export function weightOf({ files, script }: FolderUpload): UploadWeight {
  const packages = new Map<string, Omit<Weight, 'name'>>();
  let bytes = script?.bytes.byteLength ?? 0;
  for (const { bytes: contents, packageName, packageFolder } of files.values()) {
    bytes += contents.byteLength;
    if (packageName === undefined || packageFolder === undefined) continue;
    const known = packages.get(packageName) ?? { files: 0, bytes: 0, folders: new Set() };
    packages.set(packageName, {
      files: known.files + 1,
      bytes: known.bytes + contents.byteLength,
      folders: new Set([...known.folders, packageFolder]),
    });
  }
  const sorted = [...packages].sort(([, one], [, other]) => other.bytes - one.bytes);
  return { files: files.size, bytes, packages: sorted.map(([name, sums]) => ({ name, ...sums })) };
}

/** @returns the problem of each limit that the upload exceeds */
export async function sizeProblems(upload: FolderUpload, service?: Annex): Promise<Problem[]> {
  const weight = weightOf(upload);
  const { uploadFiles, uploadBytes } = DEFAULT_LIMITS;
  if (weight.files <= uploadFiles && weight.bytes <= uploadBytes) return [];
  const limits = (service && (await limitsOf(service))) ?? { uploadFiles, uploadBytes };
  const met = [
    { name: 'uploadFiles', max: limits.uploadFiles, used: weight.files },
    { name: 'uploadBytes', max: limits.uploadBytes, used: weight.bytes },
  ] as const;
  const exceeded = met.filter(({ max, used }) => used > max);
  return exceeded.map((limit) =>
    limitProblem(limit, { hint: hintOf(upload, weight) }, `${limitSentence(limit)} It is not sent.`),
  );
}

/** The limits of a service by its description; undefined where it does not say. */
async function limitsOf(service: Annex): Promise<UploadLimits | undefined> {
  const description = await service.request<Description>('GET', '/v1/openapi.json');
  const limits = description.paths?.['/v1/integrations']?.post?.['x-limits'];
  return Number.isSafeInteger(limits?.uploadFiles) && Number.isSafeInteger(limits?.uploadBytes)
    ? (limits as UploadLimits)
    : undefined;
}

interface Description {
  readonly paths?: Readonly<
    Record<string, { readonly post?: { readonly 'x-limits'?: Partial<UploadLimits> } }>
  >;
}

function hintOf({ files }: FolderUpload, { packages }: UploadWeight): string {
  const largest = [...files].sort(([, one], [, other]) => other.bytes.byteLength - one.bytes.byteLength);
  const names = packages
    .slice(0, NAMED_MAX)
    .map(({ name, files: count, bytes }) => `${name} (${count} files, ${sizeText(bytes)})`);
  const paths = largest
    .slice(0, NAMED_MAX)
    .map(([path, { bytes }]) => `${path} (${sizeText(bytes.byteLength)})`);
  const sentences = [
    names.length > 0 ? `The largest packages are ${names.join(', ')}.` : '',
    `The largest files are ${paths.join(', ')}.`,
    'Import less of them, or import a part by its own path. Or bundle the code with your own tools and publish the one file with --script.',
  ];
  return sentences.filter((sentence) => sentence !== '').join(' ');
}

const KIB = 1024;

/** `1.8 MiB`, `13.2 KiB`, `512 B`. */
export function sizeText(bytes: number): string {
  if (bytes < KIB) return `${bytes} B`;
  return bytes < KIB * KIB ? `${(bytes / KIB).toFixed(1)} KiB` : `${(bytes / KIB / KIB).toFixed(1)} MiB`;
}

/** From this size on, an upload may take long enough to ask how far it is. */
const LONG_BYTES = 1024 * 1024;

/** @returns what to call with the number of bytes of each piece; undefined if nothing is shown */
export function uploadProgress(
  { output, isTerminal }: Pick<CommandContext, 'output' | 'isTerminal'>,
  upload: FolderUpload,
): ((bytes: number) => void) | undefined {
  if (!isTerminal.stderr) return undefined;
  const { files, bytes } = weightOf(upload);
  const sentence = `Uploading ${files} ${files === 1 ? 'file' : 'files'}, ${sizeText(bytes)} …`;
  if (bytes < LONG_BYTES) {
    output.talk(paint('dim', sentence));
    return undefined;
  }
  let sent = 0;
  let shown = -1;
  return (more) => {
    sent += more;
    const percent = Math.min(Math.floor((sent / bytes) * 100), 100);
    // A hundred updates at most, however small the pieces are.
    if (percent === shown) return;
    shown = percent;
    output.status(`${sentence} ${percent} %${percent === 100 ? '; the service builds it' : ''}`);
  };
}
