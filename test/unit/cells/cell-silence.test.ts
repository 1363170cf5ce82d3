/** A cell that hangs is told apart from a cell that waits for a core. */
import { expect, test } from 'vitest';
import { CellSilence, PING_EVERY_MS } from '../../../src/cells/cell-silence.ts';

const LIMIT_MS = 5 * PING_EVERY_MS;

/** A cell that gets no core for a share of each time between two pings. */
function cell(starvedShare: number) {
  let waitedMs = 90_000;
  const silence = new CellSilence(LIMIT_MS, () => waitedMs);
  return {
    silence,
    ping(times: number): void {
      for (let time = 0; time < times; time += 1) {
        silence.pinged();
        waitedMs += PING_EVERY_MS * starvedShare;
      }
    },
  };
}

test('a cell that leaves more pings unanswered than the limit allows is silent for too long', () => {
  const { silence, ping } = cell(0);
  ping(5);
  expect(silence.isTooLong).toBe(false);
  ping(1);
  expect(silence.isTooLong).toBe(true);
});

test('one byte ends the silence', () => {
  const { silence, ping } = cell(0);
  ping(5);
  silence.ended();
  ping(5);
  expect(silence.isTooLong).toBe(false);
});

test('time for which it waits for a core does not count', () => {
  const { silence, ping } = cell(0.5);
  ping(10);
  expect(silence.isTooLong).toBe(false);
  ping(1);
  expect(silence.isTooLong).toBe(true);
});

test('waiting before the silence does not count', () => {
  let waitedMs = 0;
  const silence = new CellSilence(LIMIT_MS, () => waitedMs);
  silence.pinged();
  waitedMs = 60_000;
  silence.ended();
  for (let time = 0; time < 6; time += 1) silence.pinged();
  expect(silence.isTooLong).toBe(true);
});

test('a cell that only ever waits is ended at six times the limit', () => {
  const { silence, ping } = cell(1);
  ping(30);
  expect(silence.isTooLong).toBe(false);
  ping(1);
  expect(silence.isTooLong).toBe(true);
});
