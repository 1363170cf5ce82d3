/**
 * One thing wrong with what somebody uploaded, as a value.
 *
 * Publishing collects problems from the manifest, the files and the bundle and answers with all of them at once; an
 * error refuses the upload, a warning rides along with success.
 */

import type { LimitMet } from '../limits.ts';
import { limitSentence } from './limit-met.ts';

export interface Problem {
  readonly severity: 'error' | 'warning';
  /** Path inside the upload, or the name of the multipart part. Absent where the upload as a whole is meant. */
  readonly file?: string;
  /** First line is 1. */
  readonly line?: number;
  /** First column is 1. */
  readonly column?: number;
  /** What is wrong, a full sentence. */
  readonly message: string;
  /** What to do about it. */
  readonly hint?: string;
  /** The limit that was met, where that is what is wrong. */
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

/** A limit that was met, in its own words unless there are better ones. */
export const limitProblem = (limit: LimitMet, place: Place = {}, message = limitSentence(limit)): Problem =>
  problem(message, { ...place, limit });

export const isError = (candidate: Problem): boolean => candidate.severity === 'error';
