/**
 * An error whose message the caller may read. Every other error is answered 500
 * `Internal server error`, and its text goes to the installation's log only, because messages carry
 * what code was working on: tokens, URLs, rows.
 */

/**
 * Thrown by a handler to answer `{"error": message}` with a status
 * (docs/contract/calls.md#errors). It is not logged as an exception.
 *
 * @example throw new ExposableError('Choose a project first.', 409);
 */
export class ExposableError extends Error {
  override readonly name = 'ExposableError';
  /** HTTP status of the answer. */
  readonly status: number;

  /**
   * @param message shown to the caller unchanged
   * @param status HTTP status from 400 to 599; 400 by default
   * @throws RangeError for any other status
   */
  constructor(message: string, status = 400) {
    super(message);
    if (!Number.isInteger(status) || status < 400 || status > 599) {
      throw new RangeError(`ExposableError: status must be between 400 and 599, got ${status}`);
    }
    this.status = status;
  }
}
