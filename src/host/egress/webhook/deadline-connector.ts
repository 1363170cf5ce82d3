/**
 * Connector with a deadline.
 *
 * undici's own time-out runs on a coarse clock, half a second late; this one is exact, and uses the
 * timer that it is given. undici's time-out destroys the socket of a connection that is given up.
 */
import type { buildConnector } from 'undici';
import type { LimitMet } from '../../../limits.ts';
import { overLimit } from '../egress-error.ts';

/** Runs a function later. @returns a function that cancels it */
export type After = (ms: number, run: () => void) => () => void;

/** @param limit time for look-up, TCP and TLS together */
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
