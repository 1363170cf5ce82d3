/** What the log of an installation is told of a delivery that has failed: one line, in sentences, that says all of it once. */
import { expect, test } from 'vitest';
import { failureText } from '../../../src/delivery/failure-text.ts';

const CLAIM = { id: 'd-1', type: 'site_view', eventId: 'e-1', retries: 3, faults: 0 } as const;
const AFTER = 'This is final. Once the cause is mended, POST /v1/deliveries/d-1/redeliver delivers it anew.';

test.each<[what: string, outcome: string, detail: string | undefined, said: string]>([
  [
    'what the network answered, without the origin for a second time',
    'refused',
    'https://hooks.example.com: connect ECONNREFUSED 192.0.2.1:443',
    'refused in the last of 4 attempts: connect ECONNREFUSED 192.0.2.1:443. ',
  ],
  [
    'a limit that was met',
    'timeout',
    'https://hooks.example.com: The receiver did not answer in time; the limit is 10,000 ms (webhookMs).',
    'timeout in the last of 4 attempts: The receiver did not answer in time; the limit is 10,000 ms (webhookMs). ',
  ],
  [
    'a rule that said no',
    'blocked',
    '10.0.0.1:443 was refused: it is not public.',
    'blocked in the last of 4 attempts. 10.0.0.1:443 was refused: it is not public. ',
  ],
  ['a status alone', 'answered 503', undefined, 'answered 503 in the last of 4 attempts. '],
])('of %s', (_what, outcome, detail, said) => {
  const noted = { destination: 'https://hooks.example.com/in?key=k3y' };
  const text = failureText(CLAIM, {
    ending: { end: 'failed', outcome },
    noted,
    ...(detail !== undefined && { detail }),
  });
  expect(text).toBe(`site_view (e-1) was not delivered to https://hooks.example.com: ${said}${AFTER}`);
});
