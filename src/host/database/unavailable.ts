/**
 * Failures of a database that are not faults of a statement. Drivers translate the errors of
 * their engine into these; everything else stays as it is.
 */

import { AnnexError } from '../../errors.ts';

/**
 * The database cannot be reached, or cannot write now: it restarts, fails over, is out of
 * connections or of disk space. It passes. Nothing is known of a commit that it interrupted.
 */
export class DatabaseUnavailable extends AnnexError {
  constructor(cause: unknown) {
    // What the driver says names addresses; it is for the operator's log alone.
    super('DATABASE_UNAVAILABLE', 'The database does not answer, or cannot write now.', { cause });
  }
}

/** The database cannot be used until its operator changes something; the message says what. */
export class DatabaseUnfit extends Error {}

/**
 * The transaction collided with another one and was rolled back. Run again, it sees what the other
 * one has written.
 */
export class WriteConflict extends Error {
  constructor(cause: Error) {
    super(cause.message, { cause });
    this.name = 'WriteConflict';
  }
}
