/** Rounds of `annex dev`, with a clock of the test. */
import { expect, test } from 'vitest';
import { ChangeRounds } from '../../../src/local/dev/folder-watch.ts';

/** Rounds whose time passes by `pass`, and whose work ends when the test says so. */
function prepared() {
  let now = 0;
  const timers = new Set<{ readonly at: number; readonly run: () => void }>();
  const begun: { readonly since: number; readonly end: () => void }[] = [];
  const rounds = new ChangeRounds({
    monotonicNow: () => now,
    after(ms, run) {
      const timer = { at: now + ms, run };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    round(since) {
      const { promise, resolve } = Promise.withResolvers<void>();
      begun.push({ since, end: resolve });
      return promise;
    },
  });
  const pass = (ms: number) => {
    now += ms;
    for (const timer of [...timers]) {
      if (timer.at > now || !timers.delete(timer)) continue;
      timer.run();
    }
  };
  return { rounds, begun, pass };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test('changes in quick succession are one round, which knows when the first was', () => {
  const { rounds, begun, pass } = prepared();
  pass(7);
  rounds.changed();
  pass(10);
  rounds.changed();
  pass(24);
  expect(begun).toHaveLength(0);
  pass(1);
  expect(begun.map(({ since }) => since)).toEqual([7]);
});

test('files that never become quiet do not keep a round from beginning', () => {
  const { rounds, begun, pass } = prepared();
  for (let at = 0; at < 30; at += 1) {
    rounds.changed();
    pass(20);
  }
  expect(begun.length).toBeGreaterThan(0);
});

test('a file that is made empty has time to get its text', () => {
  const { rounds, begun, pass } = prepared();
  rounds.changed(true);
  pass(200);
  expect(begun).toHaveLength(0);
  rounds.changed(false);
  pass(25);
  expect(begun).toHaveLength(1);
});

test('a file that stays empty is what it is', () => {
  const { rounds, begun, pass } = prepared();
  rounds.changed(true);
  pass(300);
  expect(begun).toHaveLength(1);
});

test('a change during a round causes exactly one more', async () => {
  const { rounds, begun, pass } = prepared();
  rounds.changed();
  pass(25);
  rounds.changed();
  rounds.changed();
  pass(1_000);
  expect(begun).toHaveLength(1);
  begun[0]?.end();
  await settled();
  pass(25);
  expect(begun).toHaveLength(2);
  begun[1]?.end();
  await settled();
  pass(1_000);
  expect(begun).toHaveLength(2);
});

test('the end waits for the round that runs, and no other begins', async () => {
  const { rounds, begun, pass } = prepared();
  rounds.changed();
  pass(25);
  rounds.changed();
  let isClosed = false;
  const closed = rounds.close().then(() => {
    isClosed = true;
  });
  await settled();
  expect(isClosed).toBe(false);
  begun[0]?.end();
  await closed;
  pass(1_000);
  expect(begun).toHaveLength(1);
});
