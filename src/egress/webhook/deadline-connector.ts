/**
 * A connection is made in time or not at all.
 *
 * undici's own time-out is kept by a coarse clock, half a second late; this one is exact, and by the clock it is given. undici's
 * ends the socket of a connection that nobody waits for any more.
 */
import type { buildConnector } from 'undici';
import type { LimitMet } from '../../limits.ts';
import { overLimit } from '../egress-error.ts';

/** Runs something later. @returns what calls it off */
export type After = (ms: number, run: () => void) => () => void;

/** @param limit how long look-up, TCP and TLS may take together */
export function inTime(
  dial: buildConnector.connector,
  limit: LimitMet,
  after: After,
): buildConnector.connector {
  return (options, callback) => {
    let isOver = false;
    const cancel = after(limit.max, () => {
      isOver = true;
      callback(overLimit(limit, 'timeout'), null);
    });
    dial(options, (...result) => {
      const [, socket] = result;
      if (isOver) {
        socket?.on('error', () => undefined).destroy();
        return;
      }
      isOver = true;
      cancel();
      callback(...result);
    });
  };
}
