/**
 * Calls into an integration that a request to the API makes, where the answer is not passed on but read: who waits for it,
 * how deep it is inside of other calls, and how much of it is taken.
 */
import type { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Caller } from '../../calls/call.ts';
import type { Limits } from '../../limits.ts';
import { limitError } from '../../model/limit-met.ts';
import { inProcessDepth } from '../loopback-listeners.ts';

/**
 * Whoever waits for the call: leaves when the client does.
 *
 * Attack: an integration that asks for its own choices, or its own drawing, while it is asked for them.
 *
 * @throws `CALL_TOO_DEEP`
 */
export function callerOf(request: FastifyRequest, reply: FastifyReply, { callDepth }: Limits): Caller {
  const depth = inProcessDepth(request.raw.socket) ?? 0;
  if (depth > callDepth)
    throw limitError('CALL_TOO_DEEP', { name: 'callDepth', max: callDepth, used: depth });
  const caller = new Caller(depth);
  reply.raw.once('close', () => {
    if (!reply.raw.writableEnded) caller.leave();
  });
  // One that went away before is not heard of again.
  if (request.raw.socket.destroyed) caller.leave();
  return caller;
}

/** The body of an answer. @returns undefined where it is larger; the rest is not read then */
export async function boundedBody(body: Buffer | Readable, bytesMax: number): Promise<Buffer | undefined> {
  if (Buffer.isBuffer(body)) return body.byteLength > bytesMax ? undefined : body;
  const chunks: Buffer[] = [];
  let bytes = 0;
  // Leaving the loop destroys the stream.
  for await (const chunk of body as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.byteLength;
    if (bytes > bytesMax) return undefined;
  }
  return Buffer.concat(chunks);
}
