/**
 * Compares `atob` and `TextDecoder` with Node's. Long texts are converted in two ways: an isolate
 * that has converted enough bytes goes through an array of numbers. Both ways are tested.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Chance } from '../../../support/fuzz/chance.ts';
import { createWebIsolate, type WebIsolate } from '../../../support/web/web-isolate.ts';

let isolate: WebIsolate;
beforeAll(async () => {
  isolate = await createWebIsolate();
});
afterAll(() => isolate.dispose());

/** What texts are made of: mostly base64, and all that the standard treats in a way of its own. */
const PIECES = [
  ...['A', 'Q', 'z', 'Zm9v', '+/9=', '0123', 'AB', 'ABC', '+', '/'],
  ...['=', '==', '===', ' ', '\n', '\t', '\f', '\r', ' \n '],
  ...['-', '_', '*', '\v', '\0', '\u00a0', '\u00ff', '\u0141', '\u2003', '😀'],
];
/** The first ones are valid base64: a text that is refused at its first piece tests little. */
const GOOD_PIECES = 19;

/** Length and checksum of a text: millions of characters need not leave the isolate. */
const DIGEST = `(text) => {
  let sum = 7;
  for (let i = 0; i < text.length; i++) sum = (Math.imul(sum, 31) + text.charCodeAt(i)) | 0;
  return [text.length, sum];
}`;
const digest = new Function(`return ${DIGEST}`)() as (text: string) => [length: number, sum: number];

/** Every byte, in an order without a short period. */
const bytesOf = (length: number): Buffer =>
  Buffer.from(Uint8Array.from({ length }, (_, i) => (Math.imul(i, 0x9e3779b1) >>> 13) & 0xff));

function decoded(text: string): string {
  try {
    return `decoded: ${atob(text)}`;
  } catch (error) {
    return (error as Error).name;
  }
}

test('random texts are decoded, or refused, as in Node', async () => {
  const random = new Chance(11);
  const texts = Array.from({ length: 6_000 }, () => {
    const pieces = random.once(6) ? PIECES : PIECES.slice(0, GOOD_PIECES);
    return Array.from({ length: random.below(10) }, () => random.pick(pieces)).join('');
  });
  const expected = texts.map(decoded);
  expect(
    await isolate.run(`
      const attempt = (text) => { try { return 'decoded: ' + atob(text); } catch (error) { return error.name; } };
      return ${JSON.stringify(texts)}.map(attempt);`),
  ).toEqual(expected);
  const refused = expected.filter((one) => one === 'InvalidCharacterError').length;
  expect(refused).toBeGreaterThan(1_000);
  expect(refused).toBeLessThan(5_000);
});

test('a long text is decoded to the same, however much was decoded before it', async () => {
  for (const extra of [0, 1, 2, 4_095]) {
    const bytes = bytesOf(1_200_000 + extra);
    const encoded = bytes.toString('base64');
    const spaced = encoded.replace(/(.{76})/g, '$1\r\n');
    expect(
      await isolate.run(`
        const digest = ${DIGEST};
        return [${JSON.stringify(encoded)}, ${JSON.stringify(spaced)}, ${JSON.stringify(encoded)}].map((text) => digest(atob(text)));`),
    ).toEqual(Array(3).fill(digest(bytes.toString('latin1'))));
  }
});

test('a long text decodes from UTF-8 to the same, wherever its bytes lie and whatever stands between them', async () => {
  const text = `${'plain ASCII, as most JSON is. '.repeat(40_000)}ü€😀${'x'.repeat(9_000)}`;
  const whole = digest(text);
  expect(
    await isolate.run(`
      const digest = ${DIGEST};
      const encoded = new TextEncoder().encode(${JSON.stringify(text)});
      return [0, 1, 2, 3, 4].map((offset) => {
        const room = new Uint8Array(encoded.length + offset);
        room.set(encoded, offset);
        return digest(new TextDecoder().decode(room.subarray(offset)));
      });`),
  ).toEqual(Array(5).fill(whole));
});

test('attack: built-ins and setters of a script see nothing of the array that long texts go through', async () => {
  const own = await createWebIsolate();
  const bytes = bytesOf(1_500_000);
  try {
    expect(
      await own.run(`
        const text = ${JSON.stringify(bytes.toString('base64'))};
        const { imul } = Math;
        const at = Function.prototype.call.bind(String.prototype.charCodeAt);
        const seen = [];
        const spy = { get() { seen.push('get'); return 1; }, set() { seen.push('set'); } };
        for (const key of [0, 1, 4_095, 'length']) Object.defineProperty(Object.prototype, key, spy);
        for (const key of [0, 1, 4_095]) Object.defineProperty(Array.prototype, key, spy);
        Array.prototype[Symbol.iterator] = Object.values = Uint8Array.prototype.values = () => { seen.push('call'); return []; };
        String.fromCharCode = Reflect.apply = Uint8Array = Uint32Array = undefined;
        const binary = [atob(text), atob(text)];
        const { length } = seen;
        let sum = 7;
        for (let i = 0; i < binary[1].length; i++) sum = (imul(sum, 31) + at(binary[1], i)) | 0;
        return [binary[0] === binary[1], binary[1].length, sum, length].join();`),
    ).toBe(`true,${digest(bytes.toString('latin1')).join()},0`);
  } finally {
    own.dispose();
  }
});
