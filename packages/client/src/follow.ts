/**
 * Follows server-sent events of the service: connects, hands over each event as JSON, and after a
 * break connects again with the id of the last event, so that none is missing.
 *
 * It ends by the caller's signal or the end of the loop, with an error that stays, or where the
 * service says that the stream is over for this client.
 */
import { AnnexError } from './annex-error.ts';
import { type ClientEnvironment, Deadline } from './deadline.ts';
import { EventStreamParser, type ServerEvent } from './event-stream.ts';
import type { FollowOptions } from './request.ts';
import { backOffMs } from './retry.ts';

/** Opens the stream, after this event. */
export type OpenStream = (lastEventId: string | undefined, signal: AbortSignal) => Promise<Response>;

const RECONNECTS_MAX = 8;
const FIRST_RECONNECT_MS = 500;
/** The service sends a comment every 15 s: after this silence, the connection is dead. */
const SILENCE_MS = 45_000;
/** Reasons of the service after which a client may continue. */
const PASSING_ENDS = new Set(['stopping', 'slow', 'behind']);
/** Number of ids that are remembered: after a break, the service may send some events again. */
const IDS_MAX = 5_000;

/** State of a stream from one connection to the next. */
interface Followed {
  lastId: string | undefined;
  /** Ids of the latest events, oldest first. */
  readonly seen: Set<string>;
  /** Failed connections in a row. */
  failures: number;
  retryMs: number | undefined;
}

export async function* followed<Event>(
  open: OpenStream,
  { wait, random }: Pick<ClientEnvironment, 'wait' | 'random'>,
  options: FollowOptions = {},
): AsyncGenerator<Event, void, undefined> {
  const { signal, reconnects = RECONNECTS_MAX } = options;
  const state: Followed = {
    ...{ lastId: options.lastEventId, seen: new Set<string>() },
    ...{ failures: 0, retryMs: undefined },
  };
  for (;;) {
    let fault = broken('it was closed');
    try {
      for await (const event of connection(open, state, options)) yield JSON.parse(event.data) as Event;
    } catch (error) {
      signal?.throwIfAborted();
      if (!isPassing(error)) throw error;
      fault = error;
    }
    state.failures += 1;
    if (state.failures > reconnects) throw fault;
    await wait(delayMs(fault, state, random()), signal);
    // Without an id, the service cannot say what was written meanwhile.
    if (state.lastId === undefined) options.onGap?.();
  }
}

function delayMs({ retryAfterS = 0 }: AnnexError, { failures, retryMs }: Followed, chance: number): number {
  return Math.max(retryAfterS * 1_000, backOffMs(failures - 1, chance, retryMs ?? FIRST_RECONNECT_MS));
}

/** The events of one connection. */
async function* connection(
  open: OpenStream,
  state: Followed,
  { signal, onOpen, onGap }: FollowOptions,
): AsyncGenerator<ServerEvent, void, undefined> {
  const deadline = new Deadline(Number.POSITIVE_INFINITY, signal);
  try {
    const { body } = await open(state.lastId, deadline.signal);
    onOpen?.();
    for await (const event of eventsIn(body, state, deadline)) {
      if (event.event === 'gap') onGap?.();
      else if (event.event === 'end' || event.event === 'dropped') throw ended(event.data);
      else yield event;
    }
  } finally {
    deadline.abort();
  }
}

async function* eventsIn(
  body: ReadableStream<Uint8Array> | null,
  state: Followed,
  deadline: Deadline,
): AsyncGenerator<ServerEvent, void, undefined> {
  const parser = new EventStreamParser();
  const reader = body?.getReader();
  for (let pieces = 0; ; pieces += 1) {
    // The time is that of the service, and not that of what the caller does with an event.
    deadline.extend(SILENCE_MS);
    const piece = await reader?.read().catch((cause: unknown) => {
      throw broken(deadline.isOver ? `it was silent for ${SILENCE_MS} ms` : 'it was lost', cause);
    });
    deadline.extend(Number.POSITIVE_INFINITY);
    if (piece === undefined || piece.done) return;
    // A connection that only begins is no success.
    if (pieces > 0) state.failures = 0;
    for (const event of parser.push(piece.value)) {
      state.failures = 0;
      if (isNew(event, state)) yield event;
    }
    state.retryMs = parser.retryMs ?? state.retryMs;
  }
}

/** Notes the id of an event. */
function isNew({ id, event }: ServerEvent, state: Followed): boolean {
  // Notes of the service, such as a gap, have the id of the event before.
  if (id === '' || event !== 'message') return true;
  state.lastId = id;
  if (state.seen.has(id)) return false;
  state.seen.add(id);
  const [oldest = ''] = state.seen;
  if (state.seen.size > IDS_MAX) state.seen.delete(oldest);
  return true;
}

const broken = (how: string, cause?: unknown): AnnexError =>
  new AnnexError(`The connection of the stream broke: ${how}.`, { status: 0, code: 'NETWORK_FAILED', cause });

/** @param data of the last event */
function ended(data: string): AnnexError {
  const { reason = 'unknown' } = JSON.parse(data) as { readonly reason?: string };
  const message = `The service ended the stream: ${reason}.`;
  return new AnnexError(message, { status: 200, code: 'STREAM_ENDED', details: { reason } });
}

/** Whether another connection may succeed: after a break, or an end that is not for this client. */
function isPassing(error: unknown): error is AnnexError {
  if (!(error instanceof AnnexError)) return false;
  const { code, status, retryAfterS, details } = error;
  if (code === 'STREAM_ENDED') return PASSING_ENDS.has(String(details['reason']));
  return status === 0 || retryAfterS !== undefined || (code === 'ANSWER_INVALID' && status >= 500);
}
