/** How bytes of a cell are read: regressions that the fuzzer has found. */
import { expect, test } from 'vitest';
import { readFetch, readStream } from '../../../src/cell/calls/emission-check.ts';
import type { Emission } from '../../../src/protocol/bridge.ts';
import { FrameReader } from '../../../src/protocol/frames.ts';
import { frame } from '../../support/cells/cell-messages.ts';

const BOUNDS = { headBytes: 1_000, bodyBytes: 1_000_000 };

test('after a broken frame nothing more is read, and earlier frames are not read twice', () => {
  const heads: unknown[] = [];
  const reader = new FrameReader(BOUNDS, (head) => heads.push(head));
  const broken = Buffer.concat([frame({ t: 'ready' }), frame('{')]);
  expect([reader.push(broken), reader.push(Buffer.from('x')), reader.push(frame({ t: 'ready' }))]).toEqual([
    false,
    false,
    false,
  ]);
  expect(heads).toEqual([{ t: 'ready' }]);
});

test('a frame in pieces of one byte arrives whole, and so does the next', () => {
  const bodies: string[] = [];
  const reader = new FrameReader(BOUNDS, (_head, body) => bodies.push(body.toString()));
  const text = Array.from({ length: 10_000 }, (_, at) => at % 10).join('');
  for (const byte of Buffer.concat([frame({}, Buffer.from(text)), frame({}, Buffer.from('next'))])) {
    expect(reader.push(Buffer.of(byte))).toBe(true);
  }
  expect(bodies).toEqual([text, 'next']);
});

test('a fetch as stream 0 is refused in the cell, because the host would end the cell for it', () => {
  const fetched = (stream: number): Extract<Emission, ['fetch', ...unknown[]]> => [
    ...(['fetch', 1, stream, 'GET', 'https://e.example/', 'follow', '', undefined, false, false] as const),
  ];
  expect(readFetch(1, fetched(0))).toBeUndefined();
  expect(readFetch(1, fetched(1))?.message.stream).toBe(1);
});

test.each([[Symbol('4')], ['4'], [4n], [Object(4)], [null]])('credit is a number, and not %s', (chunks) => {
  expect(
    readStream(1, ['credit', 1, 0, chunks] as unknown as ['credit', number, number, number]),
  ).toBeUndefined();
});
