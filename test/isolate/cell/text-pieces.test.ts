/** The texts of calls are freed when the calls are over, however many there are. */
import ivm from 'isolated-vm';
import { expect, onTestFinished, test } from 'vitest';
import { pieces } from '../../../src/cell/calls/cell-call.ts';

const MIB = 1024 * 1024;

test.each([0, 1, 511, 512, 1_022, 5_000, 65_536, 65_537])('a text of %i characters is complete', (length) => {
  for (const character of ['a', 'ß', '☃', '😀', '\ud800']) {
    const text = character.repeat(Math.ceil(length / character.length)).slice(0, length);
    expect(pieces(text).join('')).toBe(text);
  }
});

test('pieces are below the kilobyte from which isolated-vm keeps texts outside of the heap', () => {
  for (const piece of pieces('☃'.repeat(50_000))) expect(2 * piece.length).toBeLessThan(1_024);
});

test('texts in pieces are freed with their calls; whole texts stay until there are many', async () => {
  const texts = Array.from({ length: 2_000 }, (_, index) => `${index}`.padEnd(16_000, 'x'));
  const inPieces = await heldAfter(texts.map(pieces));
  const whole = await heldAfter(texts.map((text) => [text]));
  expect(inPieces).toBeLessThan(MIB);
  // If this fails, texts no longer need to be cut into pieces.
  expect(whole).toBeGreaterThan(20 * MIB);
});

/** Bytes outside the heap of an isolate that has been called with each of these, and keeps none. */
async function heldAfter(calls: readonly (readonly string[])[]): Promise<number> {
  const isolate = new ivm.Isolate();
  onTestFinished(() => isolate.dispose());
  const context = await isolate.createContext();
  const enter = await context.eval("(...texts) => { JSON.stringify(texts.join('')); }", { reference: true });
  for (const texts of calls) await enter.apply(undefined, [...texts]);
  return (await isolate.getHeapStatistics()).externally_allocated_size;
}
