/**
 * The delay that a receiver asks for in `Retry-After` (RFC 9110, section 10.2.3). Pure.
 *
 * It reads only what the RFC allows: text of any other form is no delay.
 */

/** Longest delay that a receiver can ask for. */
export const RETRY_AFTER_MS_MAX = 60_000;

/** Attack: a header of kilobytes that is parsed as a date. Every date of the RFC is shorter. */
const CHARS_MAX = 40;
const SECONDS = /^\d+$/;
/** `Sun, 06 Nov 1994 08:49:37 GMT`, and the obsolete `Sunday, 06-Nov-94 08:49:37 GMT`. */
const DATE = /^[A-Z][a-z]+, \d\d[ -][A-Z][a-z]{2}[ -]\d{2,4} \d\d:\d\d:\d\d GMT$/;
/** The obsolete `Sun Nov  6 08:49:37 1994`, which is in GMT, too. */
const ASCTIME = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}$/;

/**
 * The delay in milliseconds, at most `RETRY_AFTER_MS_MAX`; 0 for a time that has passed, and for
 * text that is neither seconds nor a date.
 *
 * @param now milliseconds since 1970
 */
export function retryAfterMs(value: string, now: number): number {
  const text = value.slice(0, CHARS_MAX + 1).trim();
  if (text.length > CHARS_MAX) return 0;
  const ms = SECONDS.test(text) ? Number(text) * 1_000 : dateIn(text) - now;
  return ms > 0 ? Math.min(ms, RETRY_AFTER_MS_MAX) : 0;
}

/** NaN if it is none. */
const dateIn = (text: string): number =>
  DATE.test(text) ? Date.parse(text) : ASCTIME.test(text) ? Date.parse(`${text} GMT`) : Number.NaN;
