/** Retry schedules: what their names promise, which lists are schedules, and who chooses. */
import { expect, test } from 'vitest';
import { ConfigError, readConfig } from '../../../src/host/config.ts';
import { decide } from '../../../src/host/delivery/retry.ts';
import { webhookChoices } from '../../../src/model/manifest/webhook.ts';
import { RETRY_SCHEDULES, type RetrySchedule, retrySchedule } from '../../../src/model/retry-schedule.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const spanOf = ({ delaysMs }: RetrySchedule) => delaysMs.reduce((sum, ms) => sum + ms, 0);

/** Delays of a delivery that always fails, with what the receiver asks for each time. */
function delaysOf(schedule: RetrySchedule, leastMs: number, random = 0): number[] {
  const delays: number[] = [];
  let budget = { retries: 0, unknowns: 0, faults: 0 };
  for (;;) {
    const decision = decide(budget, { end: 'failed', outcome: 'x', leastMs }, schedule, { now: 0, random });
    if (decision.state === 'failed') return delays;
    delays.push(decision.dueAt);
    budget = decision;
  }
}

test('the names promise a number of attempts and a time', () => {
  const { contract, hours, days } = RETRY_SCHEDULES;
  expect(contract.delaysMs).toEqual([1_000, 2_000, 4_000]);
  expect([hours.delaysMs.length + 1, spanOf(hours)]).toEqual([12, 6 * HOUR]);
  expect([days.delaysMs.length + 1, spanOf(days)]).toEqual([16, 3 * DAY]);
  for (const { delaysMs } of [hours, days]) expect([...delaysMs].sort((a, b) => a - b)).toEqual(delaysMs);
});

test('delays are those of the schedule, plus up to a tenth', () => {
  const { days } = RETRY_SCHEDULES;
  expect(delaysOf(days, 0)).toEqual(days.delaysMs);
  expect(delaysOf(days, 0, 1)).toEqual(days.delaysMs.map((ms) => Math.round(ms * 1.1)));
});

test('a receiver can ask for four times the next delay, and for a minute of "contract"', () => {
  const forever = 1e15;
  for (const schedule of [RETRY_SCHEDULES.hours, RETRY_SCHEDULES.days, retrySchedule(['10s', '1h'])])
    expect(schedule && delaysOf(schedule, forever)).toEqual(schedule?.delaysMs.map((ms) => 4 * ms));
  expect(delaysOf(RETRY_SCHEDULES.contract, forever)).toEqual([60_000, 60_000, 60_000]);
});

test.each([
  [['1s'], [1_000]],
  [
    ['10s', '5m', '2h', '1d'],
    [10_000, 300_000, 2 * HOUR, DAY],
  ],
  [['7d'], [7 * DAY]],
  [['604800s'], [7 * DAY]],
  [Array(20).fill('8h'), Array(20).fill(8 * HOUR)],
])('%j is a schedule', (written, delaysMs) => expect(retrySchedule(written)?.delaysMs).toEqual(delaysMs));

test.each([
  [[]],
  [Array(21).fill('1s')],
  [['7d', '1s']],
  [['0s']],
  [['01s']],
  [['1']],
  [['1 s']],
  [['1w']],
  [['1.5h']],
  [['-1s']],
  [['1e3s']],
  [[`${'9'.repeat(1_000_000)}s`]],
  ['weeks'],
  ['constructor'],
  [''],
])('%j is none', (written) => expect(retrySchedule(written)).toBeUndefined());

test('what the installer chooses goes before the manifest, and that before the operator', () => {
  const scheduleIn = (...args: Parameters<typeof webhookChoices>) => webhookChoices(...args).webhookRetries;
  const webhook = { url: 'to', eventTypes: 'what' };
  const { days, hours } = RETRY_SCHEDULES;
  const chosen = { ...webhook, retries: 'hours', retriesSetting: 'often' } as const;
  expect(scheduleIn(webhook, { often: 'days' })).toBeUndefined();
  expect(scheduleIn(chosen, { often: 'days' })).toBe(days);
  expect(scheduleIn(chosen, {})).toBe(hours);
  // A value from before a change of the choices.
  for (const often of ['weeks', 7, ['1s'], null]) expect(scheduleIn(chosen, { often })).toBe(hours);
});

test('the scheme of signatures is chosen in the same way', () => {
  const webhook = { url: 'to', eventTypes: 'what', signature: 'both', signatureSetting: 'how' } as const;
  const schemeIn = (how: unknown) => webhookChoices(webhook, { how }).webhookSignature;
  expect(schemeIn('standard')).toBe('standard');
  for (const how of [undefined, 'none', 7]) expect(schemeIn(how)).toBe('both');
  expect(webhookChoices({ url: 'to', eventTypes: 'what' }, {})).toEqual({});
  expect(readConfig([], {}).webhookSignature).toBe('platform');
  expect(readConfig(['--webhook-signature', 'both'], {}).webhookSignature).toBe('both');
});

test('the rate is chosen in the same way, and no choice is no rate', () => {
  const webhook = { url: 'to', eventTypes: 'what', rate: 20, rateSetting: 'rate' } as const;
  const rateIn = (rate: unknown) => webhookChoices(webhook, { rate }).webhookRate;
  expect(rateIn('5')).toBe(5);
  for (const rate of [undefined, 'none', '0', '0.5', '101', '-1', '', 7]) expect(rateIn(rate)).toBe(20);
});

test('the operator names a schedule, or lists delays; another value is a mistake that says what is allowed', () => {
  const read = (value: string) => readConfig([], { ANNEX_WEBHOOK_RETRIES: value }).webhookRetries;
  expect(readConfig([], {}).webhookRetries).toBe(RETRY_SCHEDULES.contract);
  expect(read('days')).toBe(RETRY_SCHEDULES.days);
  expect(read('10s, 5m,2h').delaysMs).toEqual([10_000, 300_000, 2 * HOUR]);
  for (const value of ['weeks', 'days,hours', '8d'])
    expect(() => read(value)).toThrow(
      new ConfigError([
        `--webhook-retries must be contract, hours, days, or 1 to 20 delays such as 10s, 5m, 2h and 1d, of 7 days in all; it is "${value}".`,
      ]),
    );
});
