/**
 * The clock that all nodes share: the database tells the time, and the monotonic clock counts on.
 */
import { describe, expect, test } from 'vitest';
import { DatabaseClock } from '../../../src/host/database/postgres/database-clock.ts';

/** A clock over ticks that the test sets; the machine's own clock is an hour late. */
function clockAt(ticks: number) {
  const time = { ticks };
  const clock = new DatabaseClock(
    () => time.ticks,
    () => 7_000_000 - 3_600_000,
  );
  /** The database answers `now` to a question that was under way for so long. */
  const answer = (now: number, ms: number) => {
    const asked = time.ticks;
    time.ticks += ms;
    clock.read({ asked, answered: time.ticks, now });
  };
  return { time, clock, answer };
}

test('before the first answer it is the clock of the machine', () => {
  const { time, clock } = clockAt(500);
  expect(clock.now()).toBe(3_400_000);
  time.ticks += 20;
  expect(clock.now()).toBe(3_400_020);
});

test('the first answer sets it, however long it took', () => {
  const { clock, answer } = clockAt(500);
  answer(7_000_000, 4_000);
  expect(clock.now()).toBe(7_002_000);
});

test('an answer was true in the middle of its way', () => {
  const { clock, answer } = clockAt(0);
  answer(7_000_000, 100);
  expect(clock.now()).toBe(7_000_050);
});

test('between two answers it counts on by the monotonic clock, in whole milliseconds', () => {
  const { time, clock, answer } = clockAt(0);
  answer(7_000_000, 0);
  time.ticks += 1_999.6;
  expect(clock.now()).toBe(7_002_000);
});

test('an exact answer corrects it, forwards and backwards', () => {
  const { time, clock, answer } = clockAt(0);
  answer(7_000_000, 10);
  time.ticks = 1_000;
  answer(7_009_000, 0);
  expect(clock.now()).toBe(7_009_000);
  answer(7_000_500, 0);
  expect(clock.now()).toBe(7_000_500);
});

test('an answer that took long is not used while an exact one is recent', () => {
  const { time, clock, answer } = clockAt(0);
  answer(7_000_000, 0);
  answer(7_005_000, 251);
  expect(clock.now()).toBe(7_000_251);
  time.ticks = 30_000;
  answer(7_040_000, 300);
  expect(clock.now()).toBe(7_040_150);
});

test('while all answers take long, each is used', () => {
  const { clock, answer } = clockAt(0);
  answer(7_000_000, 1_000);
  answer(7_004_000, 1_000);
  expect(clock.now()).toBe(7_004_500);
});

describe('the time of signatures', () => {
  /** The machine's clock is so far ahead of the database. */
  function signingAt(machineAheadMs: number) {
    const time = { ticks: 0 };
    const apart: number[] = [];
    const wall = () => 7_000_000 + machineAheadMs + time.ticks;
    const clock = new DatabaseClock(
      () => time.ticks,
      wall,
      (aheadMs) => apart.push(aheadMs),
    );
    /** The database tells its true time; the answer is late, but not the question. */
    const answer = (ms: number) => {
      const asked = time.ticks;
      time.ticks += ms;
      clock.read({ asked, answered: time.ticks, now: 7_000_000 + time.ticks });
    };
    return { time, clock, apart, answer };
  }

  test('is not later than that of the database, however an answer was delayed', () => {
    const { time, clock, answer } = signingAt(50);
    answer(200);
    expect([clock.now(), clock.passed()]).toEqual([7_000_300, 7_000_200]);
    time.ticks += 0.9;
    expect(clock.passed()).toBe(7_000_200);
  });

  test('is not later than that of the machine', () => {
    const { clock, answer } = signingAt(-59_000);
    answer(0);
    expect([clock.now(), clock.passed()]).toEqual([7_000_000, 6_941_000]);
  });

  test.each([-60_000, 300_000])(
    'follows the database where the machine is %i ms off, with one warning',
    (ms) => {
      const { clock, apart, answer } = signingAt(ms);
      answer(0);
      answer(0);
      expect([clock.passed(), apart]).toEqual([7_000_000, [-ms]]);
    },
  );
});
