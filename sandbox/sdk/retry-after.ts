/**
 * `RetryAfter`: thrown by a handler that cannot handle an event yet
 * (docs/contract/events.md#handler-retries). It is an answer that the author chose, as an
 * `ExposableError` is, so it is not logged as an exception.
 */

const SECONDS_MAX = 604_800;

/**
 * Thrown by a handler to have its event delivered again after a time, within the retries of the
 * integration. The time lengthens the delay of the schedule, to at most four times of it, and
 * shortens none. Thrown elsewhere, it is answered 503 with `Retry-After`.
 *
 * @example if (answer.status === 429) throw new RetryAfter(30);
 */
export class RetryAfter extends Error {
  override readonly name = 'RetryAfter';
  /** The time that is asked for, in seconds. */
  readonly seconds: number;

  /**
   * @param seconds a whole number from 0 to 604800, which is seven days
   * @throws RangeError for any other number
   */
  constructor(seconds: number) {
    super(`Try again in ${seconds} seconds`);
    if (!Number.isInteger(seconds) || seconds < 0 || seconds > SECONDS_MAX)
      throw new RangeError(
        `RetryAfter: seconds must be a whole number from 0 to ${SECONDS_MAX}, got ${seconds}`,
      );
    this.seconds = seconds;
  }
}
