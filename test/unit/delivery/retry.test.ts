/**
 * The retry policy: every answer, every failure, every end, and what each uses up of the budget.
 */
import { describe, expect, test } from 'vitest';
import {
  type Budget,
  type DeliveryOutcome,
  decide,
  deliveryOutcome,
  FAULTS_MAX,
  resultOf,
  UNKNOWNS_MAX,
} from '../../../src/host/delivery/retry.ts';
import type { FailureReason, PostResult } from '../../../src/host/egress/webhook/webhook-client.ts';
import { RETRY_SCHEDULES } from '../../../src/model/retry-schedule.ts';

const NOW = 1_000_000;
const CONTRACT = RETRY_SCHEDULES.contract;
const FRESH: Budget = { retries: 0, unknowns: 0, faults: 0 };
const ended = (end: DeliveryOutcome['end'], leastMs?: number): DeliveryOutcome => ({
  end,
  outcome: 'x',
  ...(leastMs !== undefined && { leastMs }),
});
const answered = (status: number): PostResult => ({
  kind: 'answered',
  status,
  response: '',
  truncated: false,
});

describe('a receiver that answers', () => {
  // docs/contract/webhooks.md#outcomes
  test.each([
    [200, 'delivered'],
    [201, 'delivered'],
    [204, 'delivered'],
    [299, 'delivered'],
    [301, 'rejected'],
    [302, 'rejected'],
    [304, 'rejected'],
    [399, 'rejected'],
    [400, 'rejected'],
    [401, 'rejected'],
    [404, 'rejected'],
    [408, 'rejected'],
    [410, 'rejected'],
    [428, 'rejected'],
    [429, 'failed'],
    [430, 'rejected'],
    [499, 'rejected'],
    [500, 'failed'],
    [502, 'failed'],
    [503, 'failed'],
    [599, 'failed'],
    [199, 'failed'],
    [999, 'failed'],
  ] as const)('%i is %s', (status, end) => {
    expect(deliveryOutcome(answered(status), NOW, CONTRACT)).toEqual({ end, outcome: `answered ${status}` });
  });

  test('with 200 and half a body has received the event', () => {
    expect(
      deliveryOutcome({ kind: 'answered', status: 200, response: 'ok', truncated: true }, NOW, CONTRACT).end,
    ).toBe('delivered');
  });

  test('with any status has an outcome', () => {
    const ends = Array.from(
      { length: 500 },
      (_, index) => deliveryOutcome(answered(100 + index), NOW, CONTRACT).end,
    );
    const count = (end: string) => ends.filter((each) => each === end).length;
    expect([count('delivered'), count('failed'), count('rejected')]).toEqual([100, 201, 199]);
  });
});

describe('Retry-After', () => {
  const at = (seconds: number) => new Date(seconds * 1_000).toUTCString();
  const SECOND = NOW / 1_000;
  const after = (retryAfter: string, status = 429) =>
    deliveryOutcome({ ...answered(status), retryAfter } as PostResult, NOW, CONTRACT);

  test.each([
    ['0', 1_000],
    ['1', 1_000],
    ['2', 2_000],
    [' 59 ', 59_000],
    ['60', 60_000],
    ['61', 60_000],
    ['999999999999999999', 60_000],
    [at(SECOND + 30), 30_000],
    [at(SECOND + 3_600), 60_000],
    [at(SECOND - 30), 1_000],
    ['Thursday, 01-Jan-70 00:17:00 GMT', 20_000],
    ['Thu Jan  1 00:17:00 1970', 20_000],
    ['', 1_000],
    ['-5', 1_000],
    ['1.5', 1_000],
    ['0x10', 1_000],
    ['soon', 1_000],
    [`${'9'.repeat(41)}`, 1_000],
    ['30, 30', 1_000],
  ])('%j of a 429 delays the first retry by %i ms', (value, ms) => {
    expect(decide(FRESH, after(value), CONTRACT, { now: NOW, random: 0 })).toMatchObject({
      state: 'pending',
      dueAt: NOW + ms,
    });
  });

  test('lengthens each delay of the schedule and shortens none, with the same jitter', () => {
    const delays = CONTRACT.delaysMs.map((_, retries) => {
      const { dueAt } = decide({ ...FRESH, retries }, after('3'), CONTRACT, { now: NOW, random: 1 });
      return dueAt - NOW;
    });
    expect(delays).toEqual([3_300, 3_300, 4_400]);
  });

  test('adds no request to the four', () => {
    expect(decide({ ...FRESH, retries: 3 }, after('30'), CONTRACT, { now: NOW, random: 0 }).state).toBe(
      'failed',
    );
  });

  test.each([200, 301, 400, 500, 503])('of a %i is ignored', (status) => {
    expect(after('30', status)).toEqual(deliveryOutcome(answered(status), NOW, CONTRACT));
  });
});

const REASONS: Readonly<Record<FailureReason, true>> = {
  ...{ dns: true, refused: true, reset: true, tls: true, timeout: true, protocol: true, network: true },
};
test.each(Object.keys(REASONS) as FailureReason[])('a network failure, %s, is retried', (reason) => {
  expect(deliveryOutcome({ kind: 'failed', reason, detail: 'x' }, NOW, CONTRACT)).toEqual({
    end: 'failed',
    outcome: reason,
  });
});

test('a blocked address is final, and a fault of the platform is not counted against the receiver', () => {
  expect(deliveryOutcome({ kind: 'blocked', detail: 'x' }, NOW, CONTRACT)).toEqual({
    end: 'rejected',
    outcome: 'blocked',
  });
  expect(deliveryOutcome({ kind: 'fault', detail: 'x' }, NOW, CONTRACT)).toEqual({
    end: 'fault',
    outcome: 'platform fault',
  });
});

describe('a delivery', () => {
  test.each([
    ['delivered', 'delivered'],
    ['unhandled', 'unhandled'],
    ['canceled', 'canceled'],
    ['rejected', 'failed'],
  ] as const)('that is %s is final: %s', (end, state) => {
    const budget = { retries: 2, unknowns: 1, faults: 3 };
    expect(decide(budget, ended(end), CONTRACT, { now: NOW, random: 0.5 })).toEqual({
      ...budget,
      state,
      dueAt: NOW,
    });
  });

  test('that fails has three retries, after 1, 2 and 4 seconds plus up to a tenth', () => {
    for (const random of [0, 0.25, 0.999_999]) {
      let budget: Budget = FRESH;
      for (const [index, baseMs] of CONTRACT.delaysMs.entries()) {
        const decision = decide(budget, ended('failed'), CONTRACT, { now: NOW, random: random });
        expect(decision).toMatchObject({ state: 'pending', retries: index + 1, unknowns: 0, faults: 0 });
        expect(decision.dueAt - NOW).toBeGreaterThanOrEqual(baseMs);
        expect(decision.dueAt - NOW).toBeLessThanOrEqual(baseMs * 1.1);
        budget = decision;
      }
      expect(CONTRACT.delaysMs).toEqual([1_000, 2_000, 4_000]);
      expect(decide(budget, ended('failed'), CONTRACT, { now: NOW, random: random })).toMatchObject({
        state: 'failed',
        retries: 3,
      });
    }
  });

  test('of unknown end is repeated at once and keeps its retries', () => {
    expect(decide({ ...FRESH, retries: 2 }, ended('unknown'), CONTRACT, { now: NOW, random: 1 })).toEqual({
      ...{ retries: 2, unknowns: 1, faults: 0 },
      ...{ state: 'pending', dueAt: NOW },
    });
  });

  test('of unknown end too often uses up a retry each time, until none is left', () => {
    let budget: Budget = { ...FRESH, unknowns: UNKNOWNS_MAX + 1 };
    for (const baseMs of CONTRACT.delaysMs) {
      const decision = decide(budget, ended('lapsed'), CONTRACT, { now: NOW, random: 0 });
      expect(decision).toMatchObject({ state: 'pending', dueAt: NOW + baseMs, unknowns: UNKNOWNS_MAX });
      budget = { ...decision, unknowns: decision.unknowns + 1 };
    }
    expect(decide(budget, ended('lapsed'), CONTRACT, { now: NOW, random: 0 }).state).toBe('failed');
  });

  test('that the platform fails is repeated ten times with growing delays, and uses up no retry', () => {
    let budget: Budget = { ...FRESH, retries: 1 };
    const delays: number[] = [];
    for (let count = 1; count < FAULTS_MAX; count += 1) {
      const decision = decide(budget, ended('fault', 3_000), CONTRACT, { now: NOW, random: 0 });
      expect(decision).toMatchObject({ state: 'pending', retries: 1, faults: count });
      delays.push(decision.dueAt - NOW);
      budget = decision;
    }
    expect(delays).toEqual([3_000, 3_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
    expect(decide(budget, ended('fault'), CONTRACT, { now: NOW, random: 0 })).toMatchObject({
      state: 'failed',
      faults: FAULTS_MAX,
    });
  });
});

test.each([
  ['delivered', 'succeeded'],
  ['unhandled', 'succeeded'],
  ['rejected', 'failed'],
  ['failed', 'failed'],
  ['fault', 'fault'],
  ['canceled', undefined],
  ['unknown', undefined],
  ['lapsed', undefined],
] as const)('an attempt that ends %s is kept as %s', (end, result) => {
  expect(resultOf(ended(end))).toBe(result);
});
