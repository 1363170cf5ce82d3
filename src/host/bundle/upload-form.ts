/**
 * The unparsed parts of one publish, which the host sends to the process of the upload, and their
 * encoding as a message.
 */
import type { Problem } from '../../model/problem.ts';
import type { Parcel } from './bundler-message.ts';

/** Names of the parts that may occur once; `files` may repeat. */
export const SINGLE_PARTS = ['manifest', 'archive', 'script', 'secrets', 'overwriteSecrets', 'env'] as const;
export type SinglePart = (typeof SINGLE_PARTS)[number];

export interface UploadForm {
  /** Relative path → bytes; names and sizes are already checked. */
  readonly files: ReadonlyMap<string, Uint8Array>;
  readonly singles: ReadonlyMap<SinglePart, Uint8Array>;
  /** Whether a part `files` was sent, even a refused one. */
  readonly filesSent: boolean;
  /** Problems of the form as a whole. */
  readonly problems: readonly Problem[];
  /** Problems with the names and sizes of its parts. */
  readonly fileProblems: readonly Problem[];
}

/** JSON part of a form; the bytes follow in the order of the names. */
interface FormIndex extends Pick<UploadForm, 'filesSent' | 'problems' | 'fileProblems'> {
  readonly files: readonly string[];
  readonly singles: readonly SinglePart[];
}

/** Encodes a form for a message: `index` goes into its JSON, `blobs` follow as bytes. */
export function packForm(form: UploadForm): { readonly index: FormIndex; readonly blobs: Uint8Array[] } {
  const { files, singles, ...rest } = form;
  return {
    index: { ...rest, files: [...files.keys()], singles: [...singles.keys()] },
    blobs: [...files.values(), ...singles.values()],
  };
}

/** Decodes a form from a message of the host, which is trusted. */
export function openForm(index: FormIndex, blobs: Parcel['blobs']): UploadForm {
  const { files, singles, ...rest } = index;
  return {
    ...rest,
    files: new Map(files.map((path, at) => [path, blobs[at] as Buffer])),
    singles: new Map(singles.map((part, at) => [part, blobs[files.length + at] as Buffer])),
  };
}

/** Most bytes of the part `overwriteSecrets`: `false` and a line break. */
const SWITCH_BYTES_MAX = 8;

/**
 * Whether the values that are sent replace stored ones: the part `overwriteSecrets`.
 *
 * @returns undefined where the part is neither `true` nor `false`
 */
export function overwritesSecrets({ singles }: Pick<UploadForm, 'singles'>): boolean | undefined {
  const part = singles.get('overwriteSecrets');
  if (part === undefined) return false;
  const word = Buffer.from(part.subarray(0, SWITCH_BYTES_MAX)).toString('latin1').trim();
  if (part.length > SWITCH_BYTES_MAX || (word !== 'true' && word !== 'false')) return undefined;
  return word === 'true';
}
