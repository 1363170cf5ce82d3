/**
 * The caller of a call that a client's request starts: it leaves when the client disconnects.
 */
import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { Limits } from '../../limits.ts';
import { limitError } from '../../model/limit-met.ts';
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

/**
 * The caller of a call that a request to the API makes into an integration, and whose answer is
 * interpreted, not passed on. Attack: an integration that requests its own options, or its own
 * drawing, while it makes them.
 *
 * @throws AnnexError CALL_TOO_DEEP
 */
export function nestedCaller({ raw }: FastifyReply, { callDepth: max }: Pick<Limits, 'callDepth'>): Caller {
  const used = inProcessDepth(raw.req.socket) ?? 0;
  if (used > max) throw limitError('CALL_TOO_DEEP', { name: 'callDepth', max, used });
  return callerOf(raw);
}
