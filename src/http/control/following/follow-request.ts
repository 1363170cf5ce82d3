/** Requests that are answered with server-sent events, by `follow` or by `Accept`. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AnnexError } from '../../../errors.ts';
import { PAGE_ITEMS } from '../schemas.ts';
import type { Begin, EventStream, Item } from './event-stream.ts';

const EVENT_STREAM = 'text/event-stream';

/** A request of a route that has a list, too. */
type FollowableRequest = Pick<FastifyRequest, 'method' | 'headers'> & {
  readonly query: { readonly follow?: boolean; readonly limit?: number; readonly cursor?: string };
};

/** Whether the answer is a stream. `follow` decides where it is present, otherwise `Accept`. */
export function isFollowed({ method, query, headers }: FollowableRequest): boolean {
  // The answer to HEAD has no body that could end the stream with its client.
  if (method !== 'GET') return false;
  const accepted = (headers.accept ?? '')
    .split(',')
    .map((type) => type.split(';', 1)[0]?.trim().toLowerCase());
  return query.follow ?? accepted.includes(EVENT_STREAM);
}

/**
 * Where a stream begins.
 *
 * @param shape of the ids of its items
 * @throws AnnexError REQUEST_INVALID
 */
export function beginOf(
  { query, headers }: FollowableRequest,
  { shape, noun }: { readonly shape: RegExp; readonly noun: string },
): Omit<Begin, 'bufferBytes'> {
  const { limit: earlier, cursor } = query;
  if (cursor !== undefined)
    throw new AnnexError(
      'REQUEST_INVALID',
      'query.cursor is for lists: what is followed has no pages. Continue with Last-Event-ID.',
    );
  const after = [headers['last-event-id']].flat().at(-1);
  if (after !== undefined && after !== '' && !shape.test(after))
    throw new AnnexError('REQUEST_INVALID', `Last-Event-ID is not the id of ${noun}.`);
  return { earlier: earlier && Math.min(earlier, PAGE_ITEMS), ...(after && { after }) };
}

/** Answers with the stream. */
export function answerWith<Followed extends Item>(reply: FastifyReply, stream: EventStream<Followed>): never {
  // nginx would collect events before it passes them on.
  reply.type(EVENT_STREAM).header('x-accel-buffering', 'no');
  // Streams have no schema.
  return reply.send(stream) as never;
}
