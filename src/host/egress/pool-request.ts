/**
 * Sends one request over a pool of undici, with bounds on what no option of the client bounds.
 */
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { HELD_BYTES } from './byte-limit.ts';
import { EgressError } from './egress-error.ts';
import { INTERIM_ANSWERS_MAX } from './interim-answers.ts';

/** A request as undici takes it. */
export interface ClientRequest {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly headers: string[];
  readonly body: Uint8Array | Readable | IncomingMessage | null;
}

/**
 * @param signal aborts the request
 * @param peer names the other end in an error, such as "server"
 * @returns the answer, which is not rejected unhandled: undici handles an abort only once the
 *   request has a connection, and a caller may not wait for that
 */
export function answerTo(
  pool: Dispatcher,
  { method, ...request }: ClientRequest,
  signal: AbortSignal,
  peer: string,
): Promise<Dispatcher.ResponseData> {
  let interim = 0;
  const stop = new AbortController();
  const answered = pool.request({
    ...request,
    method: method as Dispatcher.HttpMethod,
    signal: AbortSignal.any([signal, stop.signal]),
    responseHeaders: 'raw',
    highWaterMark: HELD_BYTES,
    onInfo: () => {
      interim += 1;
      if (interim > INTERIM_ANSWERS_MAX)
        stop.abort(new EgressError(`The ${peer} sent too many interim responses.`));
    },
  });
  answered.catch(() => undefined);
  return answered;
}
