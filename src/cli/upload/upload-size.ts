/**
 * Compares an upload with the limits of a service before it is sent, and says which packages and
 * files make it large.
 *
 * A service may have other limits than the defaults. It is asked only for an upload that is over
 * those.
 */
import type { Annex } from '../../../packages/client/src/index.ts';
import { DEFAULT_LIMITS, type Limits } from '../../limits.ts';
import { limitSentence } from '../../model/limit-met.ts';
import { limitProblem, type Problem } from '../../model/problem.ts';
import type { FolderUpload } from './folder-upload.ts';

type UploadLimits = Pick<Limits, 'uploadFiles' | 'uploadBytes'>;

/** Most packages, and most files, that a problem names. */
const NAMED_MAX = 3;

export interface Weight {
  readonly name: string;
  readonly files: number;
  readonly bytes: number;
  /** The folders that they are in, by their paths without links. */
  readonly folders: ReadonlySet<string>;
}

export interface UploadWeight {
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
