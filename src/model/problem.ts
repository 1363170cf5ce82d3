/**
 * A problem of an upload, as a value.
 *
 * Publishing collects problems of the manifest, the files and the bundle and answers with all of
 * them at once. An error refuses the upload; a warning is part of a successful answer. Only what
 * the upload itself has done is a problem of it: where the machine is busy, `hostBusy` is thrown.
 */

import { AnnexError } from '../errors.ts';
import type { LimitMet } from '../limits.ts';
import { limitSentence } from './limit-met.ts';

export interface Problem {
  readonly severity: 'error' | 'warning';
  /**
   * Path inside the upload, or the name of the multipart part. Absent for the upload as a whole.
   */
  readonly file?: string;
  /** First line is 1. */
  readonly line?: number;
  /** First column is 1. */
  readonly column?: number;
  /** What is wrong, a full sentence. */
  readonly message: string;
  /** What to do about it. */
  readonly hint?: string;
  /** The limit that was met, where that is the problem. */
  readonly limit?: LimitMet;
}

type Place = Omit<Problem, 'severity' | 'message'>;

export const problem = (message: string, place: Place = {}): Problem => ({
  severity: 'error',
  ...place,
  message,
});
export const warning = (message: string, place: Place = {}): Problem => ({
  severity: 'warning',
  ...place,
  message,
});

/** The problem of a limit that was met. The message is the limit's standard sentence by default. */
export const limitProblem = (limit: LimitMet, place: Place = {}, message = limitSentence(limit)): Problem =>
  problem(message, { ...place, limit });

/** The error for an upload that only other work of the machine kept from being published. */
export const hostBusy = (what: string): AnnexError =>
  new AnnexError(
    'PUBLISH_BUSY',
    `${what}: this service is busy, or short of memory. The upload is not the reason; publish it again later.`,
    { retryAfterS: 5 },
  );

export const isError = (candidate: Problem): boolean => candidate.severity === 'error';
