/** Each failure of the database is reported once when it begins and once when it is over. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Availability } from '../../../src/host/database/availability.ts';
import { DatabaseUnfit } from '../../../src/host/database/unavailable.ts';

let reported: string[];
let availability: Availability;

beforeEach(() => {
  vi.useFakeTimers();
  reported = [];
  availability = new Availability({
    monotonicNow: () => Date.now(),
    failed: (cause) => reported.push(`failed: ${String(cause)}`),
    recovered: (lastedMs, failures) => reported.push(`over after ${lastedMs} ms, ${failures} failed`),
    back: () => reported.push('back'),
  });
});
afterEach(() => {
  availability.close();
  vi.useRealTimers();
});

test('statements that fail one after the other are one failure', () => {
  availability.failed('locked');
  vi.advanceTimersByTime(1_000);
  availability.failed('locked again');
  availability.committed();
  vi.advanceTimersByTime(7_999);
  expect(reported).toEqual(['failed: locked', 'back']);
  vi.advanceTimersByTime(1);
  expect(reported).toEqual(['failed: locked', 'back', 'over after 1000 ms, 2 failed']);
});

test('a statement that waits for a lock right after a loss is a part of it', () => {
  availability.lost('no answer', true);
  expect(availability.state).toEqual({ reachable: false, writable: false });
  vi.advanceTimersByTime(10_000);
  availability.found();
  // A statement has waited for the lock.
  vi.advanceTimersByTime(4_000);
  availability.failed('lock timeout');
  expect(availability.state).toEqual({ reachable: true, writable: false });
  availability.committed();
  vi.advanceTimersByTime(4_999);
  expect(reported).toEqual(['failed: no answer', 'back']);
  vi.advanceTimersByTime(1);
  expect(reported).toEqual(['failed: no answer', 'back', 'over after 14000 ms, 1 failed']);
});

test('health checks and workers learn of a return at once, before it is reported', () => {
  availability.lost('refused', false);
  availability.committed();
  expect(availability.state).toEqual({ reachable: true, writable: true });
  availability.found();
  availability.failed('away');
  availability.committed();
  expect(reported).toEqual(['failed: refused', 'back']);
});

test('what is to be done is reported once more, where the first failure did not say it', () => {
  availability.lost('refused', false);
  for (const why of ['it is a standby', 'it is a standby']) availability.lost(new DatabaseUnfit(why), false);
  expect(reported).toEqual(['failed: refused', 'failed: Error: it is a standby']);
});

test('a write of no other use is wanted a while after the last failure, until one is committed', () => {
  expect(availability.wantsProbe).toBe(false);
  availability.refused('only reads');
  vi.advanceTimersByTime(1_999);
  availability.refused('only reads');
  vi.advanceTimersByTime(1_999);
  expect(availability.wantsProbe).toBe(false);
  vi.advanceTimersByTime(1);
  expect(availability.wantsProbe).toBe(true);
  availability.committed();
  expect(availability.wantsProbe).toBe(false);
});

test('nothing is sent to a server that answers nothing, and its return ends that', () => {
  availability.lost('silence', true);
  expect(availability.cut).toBe('silence');
  availability.found();
  expect(availability.cut).toBeUndefined();
});

test('nothing is reported after the end', () => {
  availability.close();
  availability.failed('away');
  availability.lost('away', false);
  vi.advanceTimersByTime(60_000);
  expect(reported).toEqual([]);
});
