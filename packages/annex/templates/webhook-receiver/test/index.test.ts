import { load } from '@annex/testing';
import { expect, test } from 'vitest';

const app = await load('.');

const SECRET = 'a-secret-of-the-sender-for-tests';
const BODY = JSON.stringify({ eventId: 'evt_1', type: 'site_view' });

/** A signature as senders make it: the time, and the HMAC of the time and the body. */
async function signed(body: string, secret: string): Promise<string> {
  const t = Math.floor(Date.now() / 1000);
  const encoder = new TextEncoder();
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', encoder.encode(secret), algorithm, false, ['sign']);
  const mac = new Uint8Array(await crypto.subtle.sign('HMAC', key, encoder.encode(`${t}.${body}`)));
  return `t=${t},v1=${Array.from(mac, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

async function post(signature: string): Promise<Response> {
  const installation = await app.install({ configuration: { webhook_secret: SECRET } });
  return installation.fetch('/', {
    method: 'POST',
    headers: { 'x-platform-signature': signature },
    body: BODY,
  });
}

test('accepts an event that is signed with the secret', async () => {
  const answer = await post(await signed(BODY, SECRET));
  expect([answer.status, await answer.json()]).toEqual([200, { received: true }]);
});

test('refuses an event that is signed with another secret', async () => {
  const answer = await post(await signed(BODY, 'another-secret-of-nobody'));
  expect(answer.status).toBe(401);
});
