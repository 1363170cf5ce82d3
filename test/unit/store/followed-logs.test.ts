/** How many lines a followed log keeps (docs/contract/calls.md#logs). */
import { expect, test } from 'vitest';
import { FollowedLogs } from '../../../src/host/store/followed-logs.ts';

function scene() {
  const clock = { now: 0 };
  const logs = new FollowedLogs({ limits: { logLinesPerInstallation: 100 }, monotonicNow: () => clock.now });
  const kept = (lines: number, bytes = 1_000) => logs.keptAfter('ins_1', { lines, bytes });
  return { clock, logs, kept };
}

test('a log that nobody follows keeps what the limit says, at each write', () => {
  const { kept } = scene();
  expect([kept(1), kept(500)]).toEqual([100, 100]);
});

test('a followed one keeps ten times as many, and is looked at once in a hundred lines', () => {
  const { logs, kept } = scene();
  logs.begin('ins_1');
  expect([kept(99), kept(1), kept(50)]).toEqual([undefined, 1_000, undefined]);
});

// Attack: to fill the disk through a log that is followed.
test('a followed one that takes more than 8 MiB keeps what others do', () => {
  const { logs, kept } = scene();
  logs.begin('ins_1');
  expect([kept(1, 5_000_000), kept(1, 5_000_000), kept(1)]).toEqual([undefined, 100, undefined]);
});

test('it ends a minute after the last follower', () => {
  const { clock, logs, kept } = scene();
  logs.begin('ins_1');
  logs.begin('ins_1');
  logs.end('ins_1');
  clock.now = 100_000;
  expect(logs.over()).toEqual([]);
  logs.end('ins_1');
  clock.now = 159_999;
  expect([logs.over(), kept(1)]).toEqual([[], undefined]);
  clock.now = 160_000;
  expect([logs.over(), logs.over(), kept(1)]).toEqual([['ins_1'], [], 100]);
});
