/**
 * Calls that a request to the API makes into an integration and whose answer is interpreted, not
 * passed on.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../../calls/call.ts';
import type { Limits } from '../../limits.ts';
import { limitError } from '../../model/limit-met.ts';
import { callerOf } from '../client-caller.ts';
import { inProcessDepth } from '../loopback-listeners.ts';

/**
 * The caller of such a call: it leaves when the client disconnects.
 *
 * Attack: an integration that requests its own options, or its own drawing, while it makes them.
 *
 * @throws AnnexError CALL_TOO_DEEP
 */
export function nestedCaller(request: FastifyRequest, reply: FastifyReply, { callDepth }: Limits): Caller {
  const depth = inProcessDepth(request.raw.socket) ?? 0;
  if (depth > callDepth)
    throw limitError('CALL_TOO_DEEP', { name: 'callDepth', max: callDepth, used: depth });
  return callerOf(reply.raw);
}
