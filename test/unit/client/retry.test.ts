/** Which requests of the client are repeated, and after what time. */
import { expect, test } from 'vitest';
import { AnnexError, type ErrorParts } from '../../../packages/client/src/annex-error.ts';
import { backOffMs, isRepeatable, retryDelayMs } from '../../../packages/client/src/retry.ts';

const failed = (parts: ErrorParts) => new AnnexError('failed', parts);
const delay = (parts: ErrorParts, given: { retries?: number; leftMs?: number; random?: number } = {}) => {
  const { retries = 0, leftMs = 30_000, random = 0 } = given;
  return retryDelayMs({ error: failed(parts), retries, retriesMax: 2, leftMs }, random);
};

test.each([
  ['GET', undefined, true],
  ['HEAD', undefined, true],
  ['PUT', undefined, true],
  ['DELETE', undefined, true],
  ['POST', undefined, false],
  ['PATCH', undefined, false],
  ['POST', ['eventId'], true],
])('%s with the id %s: safe to repeat is %s', (method, idempotentBy, expected) => {
  expect(isRepeatable(method, idempotentBy)).toBe(expected);
});

test('the time of the service is kept, with a share more by chance', () => {
  const busy = { status: 429, code: 'REQUEST_RATE_EXCEEDED', retryAfterS: 4 } as const;
  expect(delay(busy)).toBe(4_000);
  expect(delay(busy, { random: 1 })).toBe(5_000);
  expect(delay({ status: 503, code: 'CALL_SHED', retryAfterS: 0 })).toBe(0);
});

test('without a time of the service, the time doubles, half of it by chance, up to a bound', () => {
  const lost = { status: 0, code: 'NETWORK_FAILED' } as const;
  expect([delay(lost), delay(lost, { random: 1 })]).toEqual([125, 250]);
  expect(delay(lost, { retries: 1, random: 1 })).toBe(500);
  expect(delay({ status: 0, code: 'REQUEST_TIMED_OUT' })).toBe(125);
  expect(delay({ status: 503, code: 'ANSWER_INVALID' })).toBe(125);
  expect(backOffMs(50, 1)).toBe(30_000);
});

test.each<ErrorParts>([
  { status: 400, code: 'REQUEST_INVALID' },
  { status: 404, code: 'INSTALLATION_UNKNOWN' },
  { status: 500, code: 'INTERNAL_ERROR' },
  { status: 502, code: 'ANSWER_INVALID' },
  // The contract gives the header where a repetition makes sense.
  { status: 503, code: 'ISOLATE_LIMIT_EXCEEDED' },
  { status: 200, code: 'ANSWER_INVALID' },
])('$status $code is final', (parts) => {
  expect(delay(parts)).toBeUndefined();
});

test('the number of retries and the time that is left are bounds', () => {
  const busy = { status: 503, code: 'CALL_SHED', retryAfterS: 10 } as const;
  expect(delay(busy, { retries: 1 })).toBe(10_000);
  expect(delay(busy, { retries: 2 })).toBeUndefined();
  expect(delay(busy, { leftMs: 10_000 })).toBe(10_000);
  expect(delay(busy, { leftMs: 9_999 })).toBeUndefined();
});
