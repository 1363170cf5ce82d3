/** Text codecs inside an isolate: TextEncoder, TextDecoder, atob, btoa; Node's own are the measure. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createWebIsolate, type WebIsolate } from './support/web-isolate.ts';

let isolate: WebIsolate;
beforeAll(async () => {
  isolate = await createWebIsolate();
});
afterAll(() => isolate.dispose());

/** Byte sequences around every boundary of UTF-8, well-formed and not. */
const SEQUENCES: number[][] = [
  [],
  [0x61, 0x62],
  [0xc3, 0xbc],
  [0xe2, 0x82, 0xac],
  [0xf0, 0x9f, 0x98, 0x80],
  [0xef, 0xbb, 0xbf, 0x61],
  [0xef, 0xbb, 0xbf, 0xef, 0xbb, 0xbf],
  [0xc0, 0xaf],
  [0xe0, 0x80, 0xaf],
  [0xed, 0xa0, 0x80],
  [0xf4, 0x90, 0x80, 0x80],
  [0xf4, 0x8f, 0xbf, 0xbf],
  [0xe2, 0x82],
  [0xe2, 0x82, 0x61],
  [0xf0, 0x9f, 0x98, 0xc3, 0xbc],
  [0xff, 0x61, 0x80],
];

test('UTF-8 decodes as in Node, whole and byte by byte', async () => {
  const inside = await isolate.run(`return ${JSON.stringify(SEQUENCES)}.map((bytes) => {
    const decoder = new TextDecoder();
    const pieces = bytes.map((byte) => decoder.decode(new Uint8Array([byte]), { stream: true })).join('') + decoder.decode();
    return [new TextDecoder().decode(new Uint8Array(bytes)), pieces];
  })`);
  expect(inside).toEqual(
    SEQUENCES.map((bytes) => {
      const text = new TextDecoder().decode(new Uint8Array(bytes));
      return [text, text];
    }),
  );
});

test('a fatal decoder refuses exactly what is malformed, and can be used again', async () => {
  const inside = await isolate.run(`
    const decoder = new TextDecoder('utf-8', { fatal: true });
    return ${JSON.stringify(SEQUENCES)}.map((bytes) => {
      try { decoder.decode(new Uint8Array(bytes)); return true; } catch (error) { return error.name; }
    })`);
  expect(inside).toEqual(
    SEQUENCES.map((bytes) => {
      try {
        new TextDecoder('utf-8', { fatal: true }).decode(new Uint8Array(bytes));
        return true;
      } catch {
        return 'TypeError';
      }
    }),
  );
});

test('strings of every kind of character encode as in Node', async () => {
  const texts = [
    '',
    'plain',
    'ü',
    '€',
    '😀',
    '\ud83d',
    '\ude00x',
    'a\ud83db',
    'x'.repeat(5000),
    '€'.repeat(5000),
  ];
  const inside = await isolate.run(
    `return ${JSON.stringify(texts)}.map((text) => new TextEncoder().encode(text).toHex())`,
  );
  expect(inside).toEqual(texts.map((text) => Buffer.from(new TextEncoder().encode(text)).toString('hex')));
});

test('a long text with a character across the border of two chunks survives', async () => {
  for (const length of [4094, 4095, 4096, 4097, 8191]) {
    expect(
      await isolate.run(`const text = 'a'.repeat(${length}) + '😀ü' + 'b'.repeat(5000);
        return new TextDecoder().decode(new TextEncoder().encode(text)) === text`),
    ).toBe(true);
  }
});

test('encodeInto stops before a character that does not fit', async () => {
  expect(
    await isolate.run(`return [2, 3, 4, 5, 6, 7, 8].map((room) => {
      const target = new Uint8Array(room);
      const { read, written } = new TextEncoder().encodeInto('aü😀b', target);
      return [read, written];
    })`),
  ).toEqual([
    [1, 1],
    [2, 3],
    [2, 3],
    [2, 3],
    [2, 3],
    [4, 7],
    [5, 8],
  ]);
});

test('other labels: UTF-16 and single-byte decode, East Asian and unknown ones are a RangeError', async () => {
  expect(
    await isolate.run(`
      const name = (label) => { try { return new TextDecoder(label).encoding; } catch (error) { return error.name; } };
      return [
        new TextDecoder('utf-16').decode(new Uint8Array([0xff, 0xfe, 0x61, 0, 0x3d, 0xd8, 0, 0xde])),
        new TextDecoder('utf-16be').decode(new Uint8Array([0, 0x61, 0xd8])),
        new TextDecoder('latin1').decode(new Uint8Array([0x80, 0xe9])),
        ['  UTF8 ', 'ascii', 'koi8-r', 'shift_jis', 'gbk', 'replacement', 'no such'].map(name),
      ]`),
  ).toEqual([
    'a😀',
    'a\ufffd',
    '€é',
    ['utf-8', 'windows-1252', 'koi8-r', 'RangeError', 'RangeError', 'RangeError', 'RangeError'],
  ]);
});

test('atob and btoa are forgiving where the standard is, and refuse the rest by name', async () => {
  expect(
    await isolate.run(`
      const attempt = (run) => { try { return run(); } catch (error) { return [error.name, error.code, error instanceof DOMException]; } };
      return [
        btoa('h\\u00e9llo'), atob('aGk='), atob(' aG\\nk'), atob(''), atob('ab'), btoa('x'.repeat(9000)).length,
        attempt(() => btoa('€')), attempt(() => atob('a')), attempt(() => atob('a==')), attempt(() => atob('a-b_')),
      ]`),
  ).toEqual(['aOlsbG8=', 'hi', 'hi', '', 'i', 12000, ...Array(4).fill(['InvalidCharacterError', 5, true])]);
});
