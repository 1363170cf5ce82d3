/**
 * The caller of a call that a client's request starts: it leaves when the client disconnects.
 */
import type { ServerResponse } from 'node:http';
import { Caller } from '../calls/call.ts';

/** @param depth of the call that sent the request; undefined if it came from the network */
export function callerOf(response: ServerResponse, depth: number | undefined): Caller {
  const caller = new Caller(depth);
  // `close` without an end: the client disconnected, and its answer would reach no client.
  response.once('close', () => {
    if (!response.writableEnded) caller.leave();
  });
  // If the client disconnected before, its `close` event has passed.
  if (response.req.socket.destroyed) caller.leave();
  return caller;
}
