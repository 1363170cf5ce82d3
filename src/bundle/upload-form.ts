/**
 * The parts of one publish as they came, before anything in them is parsed: what the host hands to the process that reads
 * them. And how they are cut into one message.
 */
import type { Problem } from '../model/problem.ts';
import type { Parcel } from './parcel.ts';

/** Parts that are not `files`. */
export const SINGLE_PARTS = ['manifest', 'archive', 'script', 'secrets'] as const;
export type SinglePart = (typeof SINGLE_PARTS)[number];

export interface UploadForm {
  /** Relative path → bytes; their names and sizes have been judged. */
  readonly files: ReadonlyMap<string, Uint8Array>;
  readonly singles: ReadonlyMap<SinglePart, Uint8Array>;
  /** Whether there was a part `files`, a refused one included. */
  readonly filesSent: boolean;
  /** What is wrong with the form as a whole. */
  readonly problems: readonly Problem[];
  /** What is wrong with the names and sizes of its parts. */
  readonly fileProblems: readonly Problem[];
}

/** What is JSON of a form; the bytes follow in the order of the names. */
interface FormIndex extends Pick<UploadForm, 'filesSent' | 'problems' | 'fileProblems'> {
  readonly files: readonly string[];
  readonly singles: readonly SinglePart[];
}

/** The form's part of a message; `index` is JSON. */
export function packForm(form: UploadForm): { readonly index: FormIndex; readonly blobs: Uint8Array[] } {
  const { files, singles, ...rest } = form;
  return {
    index: { ...rest, files: [...files.keys()], singles: [...singles.keys()] },
    blobs: [...files.values(), ...singles.values()],
  };
}

/** The form of a message of the host, which is trusted. */
export function openForm(index: FormIndex, blobs: Parcel['blobs']): UploadForm {
  const { files, singles, ...rest } = index;
  return {
    ...rest,
    files: new Map(files.map((path, at) => [path, blobs[at] as Buffer])),
    singles: new Map(singles.map((part, at) => [part, blobs[files.length + at] as Buffer])),
  };
}
