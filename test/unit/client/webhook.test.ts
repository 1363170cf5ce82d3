/** The client verifies webhooks that Annex signs. */
import { expect, test } from 'vitest';
import { checkWebhook, recentIds, verifyWebhook } from '../../../packages/client/src/index.ts';
import { signatureHeader } from '../../../src/model/signature.ts';

const SECRET = 'whsec_of_a_test';
const BODY = '{"eventId":"e-1"}';
const AT_S = 1_800_000_000;
const now = () => AT_S * 1_000;
const header = signatureHeader([SECRET], AT_S, Buffer.from(BODY));

test('a signature of the service is valid, and another body or secret is not', async () => {
  expect(await verifyWebhook(header, BODY, SECRET, { toleranceSeconds: 300, now })).toBe(true);
  expect(await verifyWebhook(header, BODY, ['older', SECRET])).toBe(true);
  expect(await verifyWebhook(header, `${BODY} `, SECRET)).toBe(false);
  expect(await verifyWebhook(header, BODY, 'another')).toBe(false);
});

test('the reason is named, and a repeated request is found', async () => {
  const seen = recentIds(60_000, { now });
  const options = { seen: (id: string) => !seen.add(id) };
  expect(await checkWebhook(header, BODY, SECRET, options)).toEqual({ valid: true, timestamp: AT_S });
  expect(await checkWebhook(header, BODY, SECRET, options)).toEqual({ valid: false, reason: 'seen' });
  const late = { toleranceSeconds: 300, now: () => now() + 301_000 };
  expect(await checkWebhook(header, BODY, SECRET, late)).toEqual({ valid: false, reason: 'too old' });
});
