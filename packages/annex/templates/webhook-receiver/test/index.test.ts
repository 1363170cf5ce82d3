import { expect, test } from 'vitest';
import integration from '../src/index.ts';
import { call, requestEvent } from './call.ts';

const SECRET = 'a-secret-of-the-sender-for-tests';
const BODY = JSON.stringify({ eventId: 'evt_1', type: 'site_view' });
const environment = { installation: { configuration: { webhook_secret: SECRET } } };

/** A signature as senders make it: the time, and the HMAC of the time and the body. */
async function signed(body: string, secret: string): Promise<string> {
  const t = Math.floor(Date.now() / 1000);
  const encoder = new TextEncoder();
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', encoder.encode(secret), algorithm, false, ['sign']);
  const mac = new Uint8Array(await crypto.subtle.sign('HMAC', key, encoder.encode(`${t}.${body}`)));
  return `t=${t},v1=${Array.from(mac, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

const post = (signature: string) =>
  requestEvent('POST', 'https://example.com/', { 'x-platform-signature': signature }, BODY);

test('accepts an event that is signed with the secret', async () => {
  const answer = await call(integration, post(await signed(BODY, SECRET)), environment);
  expect([answer.status, await answer.json()]).toEqual([200, { received: true }]);
});

test('refuses an event that is signed with another secret', async () => {
  const answer = await call(integration, post(await signed(BODY, 'another-secret-of-nobody')), environment);
  expect(answer.status).toBe(401);
});
