/** Delays between attempts: doubled for repeated faults, and with jitter. Pure. */

const FIRST_DELAY_MS = 1_000;
/** Longest delay between two attempts, without jitter. */
export const DELAY_MS_MAX = 60_000;
/** Jitter only lengthens a delay: no retry is early, and what failed together is spread. */
const JITTER = 0.1;

/** A delay plus jitter of up to a tenth. @param random from 0 to 1 */
export const withJitter = (ms: number, random: number): number => Math.round(ms * (1 + JITTER * random));

/**
 * The delay before an attempt is repeated: 1 s, 2 s, 4 s … up to a minute, plus jitter.
 *
 * @param attempts those made so far, from 1
 * @param leastMs the shortest delay that the refusal asks for
 * @param random from 0 to 1
 */
export function delayMs(attempts: number, leastMs: number, random: number): number {
  const doubled = FIRST_DELAY_MS * 2 ** (attempts - 1);
  return withJitter(Math.min(Math.max(doubled, leastMs), DELAY_MS_MAX), random);
}
