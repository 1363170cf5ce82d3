/** What becomes of an event after a call for it, and the delay before it is retried. */
import { describe, expect, test } from 'vitest';
import { AnnexError, type ErrorCode } from '../../../src/errors.ts';
import type { CallResult } from '../../../src/host/calls/call.ts';
import { DELAY_MS_MAX, delayMs } from '../../../src/host/delivery/delays.ts';
import { FAULTS_MAX, handlerOutcome } from '../../../src/host/delivery/retry.ts';
import { OUTCOMES, type Outcome } from '../../../src/protocol/wire.ts';

const answered = (status: number): CallResult => ({
  outcome: 'ok',
  response: { status, headers: [], body: Buffer.alloc(0) },
});
const refused = (code: ErrorCode, retryAfterS?: number): CallResult => ({
  outcome: 'loadShed',
  refusal: new AnnexError(code, 'No.', retryAfterS === undefined ? {} : { retryAfterS }),
});

describe('an event', () => {
  test.each([
    [200, 'delivered'],
    [204, 'delivered'],
    [299, 'delivered'],
    [301, 'failed'],
    [400, 'failed'],
    [404, 'failed'],
    [406, 'unhandled'],
    [429, 'failed'],
    [500, 'failed'],
    [503, 'failed'],
  ] as const)('that is answered with %i is %s', (status, next) => {
    expect(handlerOutcome(answered(status))).toEqual({ next, outcome: `answered ${status}` });
  });

  test.each([
    [500, '0', 0],
    [503, '30', 30_000],
    [503, '604800', 604_800_000],
    [500, 'soon', undefined],
    [500, '-1', undefined],
    [500, '9'.repeat(41), undefined],
    [400, '5', undefined],
  ])('that is answered with %i and asks for another attempt after %j s may have one', (status, value, ms) => {
    const result = answered(status);
    result.response?.headers.push(['Annex-Retry', value]);
    expect(handlerOutcome(result)).toEqual({
      ...{ next: 'failed', outcome: `answered ${status}` },
      ...(ms !== undefined && { againMs: ms }),
    });
  });

  test('whose answer is too large is final, and any other failure of the code is not', () => {
    const again = OUTCOMES.filter((outcome) => 'againMs' in handlerOutcome({ outcome }));
    expect(again).toEqual(['exception', 'exceededCpu', 'exceededMemory', 'exceededWallTime']);
  });

  // Every outcome of a call without an answer.
  const WITHOUT_ANSWER: Readonly<Record<Outcome, 'failed' | 'retry'>> = {
    ok: 'retry',
    exception: 'failed',
    exceededCpu: 'failed',
    exceededMemory: 'failed',
    exceededWallTime: 'failed',
    responseTooLarge: 'failed',
    canceled: 'retry',
    loadShed: 'retry',
    cellCrashed: 'retry',
    internalError: 'retry',
  };
  test.each(OUTCOMES)(
    'whose call ends with %s and no answer is retried if the platform caused it',
    (outcome) => {
      expect(handlerOutcome({ outcome })).toMatchObject({ next: WITHOUT_ANSWER[outcome], outcome });
    },
  );

  test.each([
    ['INSTALLATION_COOLING', 40, 40_000],
    ['INSTALLATION_QUARANTINED', 30, 30_000],
    ['CALL_SHED', undefined, 1_000],
    ['SERVICE_STOPPING', undefined, 1_000],
  ] as const)(
    'whose call is refused with %s is retried, after the delay of the refusal',
    (code, afterS, leastMs) => {
      expect(handlerOutcome(refused(code, afterS))).toEqual({ next: 'retry', outcome: code, leastMs });
    },
  );

  test('waits a second, then twice as long each time, up to a minute', () => {
    const delays = Array.from({ length: FAULTS_MAX - 1 }, (_, index) => delayMs(index + 1, 0, 0));
    expect(delays).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
  });

  test('waits up to a tenth longer by chance, and no less than the refusal asks for', () => {
    expect([0, 0.5, 1].map((random) => delayMs(1, 0, random))).toEqual([1_000, 1_050, 1_100]);
    expect(delayMs(1, 40_000, 0)).toBe(40_000);
    expect(delayMs(8, 40_000, 0)).toBe(DELAY_MS_MAX);
    expect(delayMs(1, 3_600_000, 1)).toBe(66_000);
  });
});
