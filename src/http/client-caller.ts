/**
 * The caller of a call that a client's request starts: it leaves when the client disconnects.
 */
import type { ServerResponse } from 'node:http';
import { Caller } from '../calls/call.ts';
import { inProcessDepth, inProcessGeneration } from './loopback-listeners.ts';

/** @param response to the request, whose connection has the call behind it, if there is one */
export function callerOf(response: ServerResponse): Caller {
  const { socket } = response.req;
  const caller = new Caller(inProcessDepth(socket), inProcessGeneration(socket));
  // `close` without an end: the client disconnected, and its answer would reach no client.
  response.once('close', () => {
    if (!response.writableEnded) caller.leave();
  });
  // If the client disconnected before, its `close` event has passed.
  if (socket.destroyed) caller.leave();
  return caller;
}
