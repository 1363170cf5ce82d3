/**
 * The errors that a command reports: a sentence, what to do, an exit code and, for programs, a
 * code. An error of any other class is turned into one of these, or is a mistake of this program.
 */
/** Exit codes of every command. */
export const EXIT = { ok: 0, failed: 1, usage: 2 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export interface FailureDetails {
  /** For programs: a code of the API, or one of this command line. */
  readonly code?: string;
  /** What to do now, as a sentence. */
  readonly hint?: string;
  /** Status of the answer that it is about. */
  readonly status?: number;
  /** The API's list of problems, as it came. */
  readonly problems?: readonly unknown[];
  readonly cause?: unknown;
}

/** What happened, and what to do: two sentences, or more. */
export type Explanation = readonly [message: string, hint: string];

/** The command could not do its work: the exit code is 1. */
export class Failure extends Error {
  override readonly name: string = 'Failure';
  readonly exit: ExitCode = EXIT.failed;
  readonly details: FailureDetails;

  constructor(message: string, details: FailureDetails = {}) {
    super(message, details.cause === undefined ? {} : { cause: details.cause });
    this.details = details;
  }
}

/** The command line cannot be executed as it was written: the exit code is 2. */
export class UsageError extends Failure {
  override readonly name = 'UsageError';
  override readonly exit = EXIT.usage;

  constructor(message: string, details: FailureDetails = {}) {
    super(message, { code: 'USAGE', ...details });
  }
}
