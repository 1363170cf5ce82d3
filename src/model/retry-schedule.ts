/**
 * Retry schedules: the delays between the attempts at a delivery
 * (docs/contract/webhooks.md#schedules).
 *
 * A schedule has a name, or is a list of delays as `10s, 5m, 2h, 1d`. The operator's settings, a
 * manifest and the settings of a webhook name one; `retry.ts` follows it. Pure.
 */

/** The delays of a schedule, and what it heeds of a receiver that asks for a time. */
export interface RetrySchedule {
  /** Delay before each retry, without jitter; one retry for each. */
  readonly delaysMs: readonly number[];
  /** Statuses of which `Retry-After` is read. */
  readonly retryAfterOf: readonly number[];
  /** Longest delay that can be asked for, where the next delay would be `delayMs`. */
  longestMs(delayMs: number): number;
}

const S = 1_000;
const MINUTE = 60 * S;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const MS_OF_UNIT = { s: S, m: MINUTE, h: HOUR, d: DAY } as const;

/** Delays that can be asked for are at most so many times the schedule's own. */
const ASKED_FOR_MAX = 4;

const scheduleOf = (delaysMs: readonly number[]): RetrySchedule => ({
  delaysMs,
  retryAfterOf: [429, 503],
  longestMs: (delayMs) => ASKED_FOR_MAX * delayMs,
});

/** The schedules that have a name. */
export const RETRY_SCHEDULES = {
  /** Four attempts within seconds: what receivers can rely on wherever nothing else is chosen. */
  contract: { delaysMs: [S, 2 * S, 4 * S], retryAfterOf: [429], longestMs: () => MINUTE },
  /** 12 attempts over 6 hours. */
  hours: scheduleOf([
    ...[5 * S, 25 * S, 90 * S, 3 * MINUTE, 5 * MINUTE, 10 * MINUTE, 20 * MINUTE, 40 * MINUTE],
    ...[HOUR, 1.5 * HOUR, 130 * MINUTE],
  ]),
  /** 16 attempts over 3 days. */
  days: scheduleOf([
    ...[5 * S, 55 * S, 4 * MINUTE, 10 * MINUTE, 30 * MINUTE, 75 * MINUTE, 3 * HOUR, 5 * HOUR, 6 * HOUR],
    ...[8 * HOUR, 8 * HOUR, 10 * HOUR, 10 * HOUR, 10 * HOUR, 10 * HOUR],
  ]),
} as const satisfies Readonly<Record<string, RetrySchedule>>;

export type RetryScheduleName = keyof typeof RETRY_SCHEDULES;
export const RETRY_SCHEDULE_NAMES = Object.keys(RETRY_SCHEDULES) as RetryScheduleName[];

/** A schedule as it is written: a name, or delays. */
export type WrittenSchedule = RetryScheduleName | readonly string[];

export const DELAYS_MAX = 20;
const SUM_MS_MAX = 7 * DAY;
/** Attack: a delay of thousands of digits. The longest delay that is allowed has six. */
export const DELAY = /^([1-9]\d{0,5})([smhd])$/;

/** What a schedule can be, for messages and descriptions. */
export const SCHEDULE_WANTED = `${RETRY_SCHEDULE_NAMES.join(', ')}, or 1 to ${DELAYS_MAX} delays such as 10s, 5m, 2h and 1d, of 7 days in all`;

const isName = (written: string): written is RetryScheduleName => Object.hasOwn(RETRY_SCHEDULES, written);

/** The milliseconds of a delay such as `10s` or `5d`; NaN where it is none. */
export function delayIn(text: string): number {
  const [, count, unit] = DELAY.exec(text) ?? [];
  return Number(count) * MS_OF_UNIT[unit as keyof typeof MS_OF_UNIT];
}

/** Reads a schedule. @returns undefined if it is none */
export function retrySchedule(written: string | readonly string[]): RetrySchedule | undefined {
  if (typeof written === 'string') return isName(written) ? RETRY_SCHEDULES[written] : undefined;
  if (written.length === 0 || written.length > DELAYS_MAX) return undefined;
  const delaysMs = written.map(delayIn);
  return delaysMs.reduce((sum, ms) => sum + ms, 0) <= SUM_MS_MAX ? scheduleOf(delaysMs) : undefined;
}
