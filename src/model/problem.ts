/**
 * One thing wrong with what somebody uploaded, as a value.
 *
 * Publishing collects problems from the manifest, the files and the bundle and answers with all of them at once; an
 * error refuses the upload, a warning rides along with success.
 */

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

export const isError = (candidate: Problem): boolean => candidate.severity === 'error';
