/** The client's parser of server-sent events, at every cut of a stream into pieces. */
import { createParser } from 'eventsource-parser';
import { expect, test } from 'vitest';
import { EventStreamParser, type ServerEvent } from '../../../packages/client/src/event-stream.ts';

const encoder = new TextEncoder();

function parsed(pieces: readonly Uint8Array[]): ServerEvent[] {
  const parser = new EventStreamParser();
  return pieces.flatMap((piece) => [...parser.push(piece)]);
}

/** What a parser of others makes of a text. */
function expected(text: string): ServerEvent[] {
  const events: ServerEvent[] = [];
  let lastId = '';
  const parser = createParser({
    onEvent({ event = 'message', data, id }) {
      lastId = id ?? lastId;
      events.push({ event, data, id: lastId });
    },
  });
  parser.feed(text);
  return events;
}

const STREAMS = [
  ': following\n\nid: a-1\ndata: {"text":"hä 🎉"}\n\n: keep-alive\n\nid: a-2\ndata: {}\n\n',
  'event: gap\r\ndata: {}\r\n\r\ndata: one\r\ndata:two\r\ndata:  three\r\n\r\n',
  'data\n\ndata\ndata\n\nevent: dropped\ndata: {"reason":"slow"}\n\n',
  'unknown: x\nretry: 7\nid: 5\ndata: a:b\n\n',
  'data: not ended\n',
];

test.each(STREAMS)('%j is parsed alike at every cut', (text) => {
  const bytes = encoder.encode(text);
  const whole = parsed([bytes]);
  expect(whole).toEqual(expected(text));
  for (let at = 0; at <= bytes.length; at += 1)
    expect(parsed([bytes.slice(0, at), bytes.slice(at)])).toEqual(whole);
  expect(parsed(Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(whole);
});

test('lines may end with a carriage return alone', () => {
  expect(parsed([encoder.encode('data: a\r\rdata: b\r'), encoder.encode('\r\n')])).toMatchObject([
    { data: 'a' },
    { data: 'b' },
  ]);
});

test('an id stays until another one comes, and the wish for a time is read', () => {
  const parser = new EventStreamParser();
  const events = parser.push(encoder.encode('id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\nretry: 1500\n\n'));
  expect(events.map(({ id }) => id)).toEqual(['1', '1', '']);
  expect(parser.retryMs).toBe(1_500);
});

test('an event without an end is refused, whatever its lines', () => {
  const line = encoder.encode(`data: ${'x'.repeat(1024 * 1024)}\n`);
  expect(() => parsed(Array(3).fill(line))).not.toThrow();
  expect(() => parsed(Array(5).fill(line))).toThrow(/more than 4194304 characters/);
  expect(() => parsed(Array(5).fill(line.slice(0, -1)))).toThrow(RangeError);
});
