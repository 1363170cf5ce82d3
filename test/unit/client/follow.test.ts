/** A stream that the client follows: where it connects again, and where it ends. */
import { expect, test } from 'vitest';
import { AnnexError } from '../../../packages/client/src/annex-error.ts';
import { followed } from '../../../packages/client/src/follow.ts';
import type { FollowOptions } from '../../../packages/client/src/request.ts';
import { ScriptedService } from '../../support/client/scripted-service.ts';

/** The connection breaks after these pieces, or ends. */
interface Connection {
  readonly pieces: readonly string[];
  readonly breaks?: boolean;
}

const line = (id: number): string => `id: ${id}\ndata: {"n":${id}}\n\n`;
const end = (event: string, reason: string): string =>
  `event: ${event}\ndata: ${JSON.stringify({ reason })}\n\n`;

/** Follows connections in order; what comes after them is an error that stays. */
function following(connections: readonly (Connection | Error)[], options: FollowOptions = {}) {
  const service = new ScriptedService([]);
  const asked: (string | undefined)[] = [];
  const left = [...connections];
  const open = async (lastEventId: string | undefined): Promise<Response> => {
    asked.push(lastEventId);
    const next = left.shift();
    if (next === undefined) throw new AnnexError('No more.', { status: 404, code: 'INSTALLATION_UNKNOWN' });
    if (next instanceof Error) throw next;
    return new Response(streamOf(next));
  };
  return { events: followed<{ n: number }>(open, service, options), asked, waits: service.waits };
}

function streamOf({ pieces, breaks = false }: Connection): ReadableStream<Uint8Array> {
  const left = pieces.map((piece) => new TextEncoder().encode(piece));
  return new ReadableStream({
    pull(controller) {
      const piece = left.shift();
      if (piece) controller.enqueue(piece);
      else if (breaks) controller.error(new TypeError('terminated'));
      else controller.close();
    },
  });
}

async function collected(events: AsyncIterable<{ n: number }>): Promise<{ seen: number[]; error: unknown }> {
  const seen: number[] = [];
  try {
    for await (const { n } of events) seen.push(n);
    return { seen, error: undefined };
  } catch (error) {
    return { seen, error };
  }
}

test('after a break it connects again with the id of the last event', async () => {
  const { events, asked, waits } = following([
    { pieces: [': following\n\n', line(1) + line(2)], breaks: true },
    { pieces: [': following\n\n', line(3)] },
    { pieces: [line(4), end('end', 'stopping')] },
    { pieces: [line(5), end('dropped', 'slow')] },
  ]);
  const { seen, error } = await collected(events);
  expect(seen).toEqual([1, 2, 3, 4, 5]);
  expect(asked).toEqual([undefined, '2', '3', '4', '5']);
  expect(waits).toEqual([250, 250, 250, 250]);
  expect(error).toMatchObject({ code: 'INSTALLATION_UNKNOWN' });
});

test.each(['revoked', 'removed'])('it ends with an error where the service says %s', async (reason) => {
  const { events, asked } = following([{ pieces: [line(1), end('end', reason)] }]);
  const { seen, error } = await collected(events);
  expect(seen).toEqual([1]);
  expect(error).toMatchObject({ code: 'STREAM_ENDED', details: { reason } });
  expect(asked).toHaveLength(1);
});

test('connections that fail in a row are bounded, and their waits grow', async () => {
  const lost = () => new AnnexError('lost', { status: 0, code: 'NETWORK_FAILED' });
  const { events, waits } = following([lost(), { pieces: [': following\n\n'] }, lost(), lost()], {
    reconnects: 3,
  });
  const { error } = await collected(events);
  expect(error).toMatchObject({ message: 'lost' });
  expect(waits).toEqual([250, 500, 1_000]);
});

test('a refusal with a time is tried again after that time', async () => {
  const busy = new AnnexError('busy', { status: 503, code: 'LOG_BUSY', retryAfterS: 5 });
  const { events, waits } = following([busy, { pieces: [line(1)] }]);
  const { seen } = await collected(events);
  expect(seen).toEqual([1]);
  expect(waits[0]).toBe(5_000);
});

test('the caller hears of connections, and of where events may be missing', async () => {
  const heard: string[] = [];
  const options = { onOpen: () => heard.push('open'), onGap: () => heard.push('gap') };
  const { events } = following(
    [
      { pieces: [': following\n\n'] },
      { pieces: [line(1)] },
      { pieces: ['event: gap\ndata: {}\n\n', line(7)] },
    ],
    options,
  );
  expect((await collected(events)).seen).toEqual([1, 7]);
  expect(heard).toEqual(['open', 'gap', 'open', 'open', 'gap']);
});

test('an event that comes again after a break is handed over once', async () => {
  const { events } = following([
    { pieces: [line(1) + line(2), end('end', 'behind')] },
    { pieces: [line(1) + line(2) + line(3)] },
  ]);
  expect((await collected(events)).seen).toEqual([1, 2, 3]);
});

test('it begins after the event that the caller names', async () => {
  const { events, asked } = following([{ pieces: [line(9)] }], { lastEventId: '8' });
  await collected(events);
  expect(asked[0]).toBe('8');
});

test('the end of the loop, and the signal of the caller, end the connection', async () => {
  const stop = new AbortController();
  const signals: AbortSignal[] = [];
  const endless = async (_id: string | undefined, signal: AbortSignal): Promise<Response> => {
    signals.push(signal);
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(line(1)));
        signal.addEventListener('abort', () => controller.error(signal.reason));
      },
    });
    return new Response(body);
  };
  const service = new ScriptedService([]);
  for await (const _ of followed(endless, service)) break;
  expect(signals[0]?.aborted).toBe(true);
  const { error } = await collected(
    (async function* () {
      for await (const event of followed<{ n: number }>(endless, service, { signal: stop.signal })) {
        yield event;
        stop.abort(new Error('enough'));
      }
    })(),
  );
  expect(error).toMatchObject({ message: 'enough' });
  expect(signals).toHaveLength(2);
});
