/** A cell that hangs is told apart from a cell that waits for a core. */
import { expect, test } from 'vitest';
import { CellHeartbeat, PING_EVERY_MS } from '../../../src/host/cells/cell-heartbeat.ts';

const LIMIT_MS = 5 * PING_EVERY_MS;

/** A cell that gets no core for a share of each time between two pings. */
function cell(starvedShare: number) {
  let waitedMs = 90_000;
  const heartbeat = new CellHeartbeat(LIMIT_MS, () => waitedMs);
  return {
    heartbeat,
    ping(times: number): void {
      for (let time = 0; time < times; time += 1) {
        heartbeat.pinged();
        waitedMs += PING_EVERY_MS * starvedShare;
      }
    },
  };
}

test('a cell that leaves more pings unanswered than the limit allows is silent for too long', () => {
  const { heartbeat, ping } = cell(0);
  ping(5);
  expect(heartbeat.isSilentTooLong).toBe(false);
  ping(1);
  expect(heartbeat.isSilentTooLong).toBe(true);
});

test('one byte ends the silence', () => {
  const { heartbeat, ping } = cell(0);
  ping(5);
  heartbeat.heard();
  ping(5);
  expect(heartbeat.isSilentTooLong).toBe(false);
});

test('time for which it waits for a core does not count', () => {
  const { heartbeat, ping } = cell(0.5);
  ping(10);
  expect(heartbeat.isSilentTooLong).toBe(false);
  ping(1);
  expect(heartbeat.isSilentTooLong).toBe(true);
});

test('waiting before the silence does not count', () => {
  let waitedMs = 0;
  const heartbeat = new CellHeartbeat(LIMIT_MS, () => waitedMs);
  heartbeat.pinged();
  waitedMs = 60_000;
  heartbeat.heard();
  for (let time = 0; time < 6; time += 1) heartbeat.pinged();
  expect(heartbeat.isSilentTooLong).toBe(true);
});

test('a cell that only ever waits is ended at six times the limit', () => {
  const { heartbeat, ping } = cell(1);
  ping(30);
  expect(heartbeat.isSilentTooLong).toBe(false);
  ping(1);
  expect(heartbeat.isSilentTooLong).toBe(true);
});
