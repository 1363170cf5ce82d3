/** The log line of a failed delivery: one line of sentences, without repetitions. */
import { expect, test } from 'vitest';
import { failureText } from '../../../src/host/delivery/attempts.ts';

const CLAIM = { id: 'd-1', type: 'site_view', eventId: 'e-1', retries: 3, faults: 0 } as const;
const AFTER = 'This is final. Once the cause is fixed, POST /v1/deliveries/d-1/redeliver delivers it again.';

test.each<[what: string, outcome: string, detail: string | undefined, text: string]>([
  [
    'a network error, without the origin for a second time',
    'refused',
    'https://hooks.example.com: connect ECONNREFUSED 192.0.2.1:443',
    'refused in the last of 4 attempts: connect ECONNREFUSED 192.0.2.1:443. ',
  ],
  [
    'a limit',
    'timeout',
    'https://hooks.example.com: The receiver did not answer in time; the limit is 10,000 ms (webhookMs).',
    'timeout in the last of 4 attempts: The receiver did not answer in time; the limit is 10,000 ms (webhookMs). ',
  ],
  [
    'a blocked address',
    'blocked',
    '10.0.0.1:443 was refused: it is not public.',
    'blocked in the last of 4 attempts. 10.0.0.1:443 was refused: it is not public. ',
  ],
  ['a status alone', 'answered 503', undefined, 'answered 503 in the last of 4 attempts. '],
])('states %s', (_what, outcome, detail, expected) => {
  const recorded = { destination: 'https://hooks.example.com/in?key=k3y' };
  const text = failureText(CLAIM, {
    ending: { end: 'failed', outcome },
    recorded,
    ...(detail !== undefined && { detail }),
  });
  expect(text).toBe(`site_view (e-1) was not delivered to https://hooks.example.com: ${expected}${AFTER}`);
});
