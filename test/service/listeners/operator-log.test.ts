/**
 * The operator's log and error answers never contain tokens, secrets, cookies, or bytes of refused
 * requests.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { AnnexError, loggableError } from '../../../src/errors.ts';
import { matchingDigests, verifySignature } from '../../../src/model/signature.ts';
import { exchange } from '../../support/http/raw-http.ts';
import { type Installed, TestService } from '../../support/service.ts';

const log: string[] = [];
const logged = () => log.join('');
let annex: TestService;
let thrower: Installed;
let planted = 0;
const secrets: string[] = [];
/** A marker that must not appear anywhere. */
const plant = (place: string): string => {
  planted += 1;
  const secret = `planted-${place}-${planted}`;
  secrets.push(secret);
  return secret;
};
/** Markers that were found. */
const found = (text: string) => secrets.filter((secret) => text.includes(secret));

beforeAll(async () => {
  annex = await TestService.start({ logTo: { write: (line) => void log.push(line) } });
  await annex.publish('thrower', {
    'index.js': `export default { async fetch(envelope, env) {
        const form = await envelope.formData();
        const { request } = JSON.parse(await form.get('event'));
        throw new Error(JSON.stringify([env, request]));
      } };`,
  });
  thrower = await annex.install('thrower');
});
afterAll(() => annex.stop());

const sent = (url: string, init: RequestInit = {}) => fetch(url, init).then((response) => response.text());

test('an answer that a route sends itself leaves no warning', async () => {
  const before = log.length;
  const json = { type: 'space_content_updated', organization: 'acme', spaceId: 'garden', revisionId: 'r1' };
  const { status } = await annex.api('POST', '/v1/events', { json });
  expect(status).toBe(202);
  const levels = log.slice(before).map((line): number => JSON.parse(line).level);
  expect(levels.filter((level) => level >= 40)).toEqual([]);
});

test('no part of a failed request is in the log or in its answer', async () => {
  const { controlUrl, publicUrl } = annex.service;
  const path = new URL(thrower.endpoint).pathname;
  const head = (name: string) =>
    `host: localhost\r\nauthorization: Bearer ${plant(`${name}-token`)}\r\ncookie: a=${plant(`${name}-cookie`)}\r\nconnection: close\r\n`;
  const answers = [
    // Malformed in several ways: the parser passes refused requests on with all their bytes.
    await exchange(
      publicUrl,
      `GET ${path}?code=${plant('query')} HTTP/1.1\r\n${head('lf')}x: a\nb: c\r\n\r\n`,
    ),
    await exchange(controlUrl, `GET /v1/x?code=${plant('query')} HTTP/1.1\r\n${head('nul')}x: \0\r\n\r\n`),
    await exchange(
      publicUrl,
      `POST ${path}/v1 HTTP/1.1\r\n${head('chunk')}transfer-encoding: chunked\r\n\r\n${plant('chunk')}\r\n`,
    ),
    await exchange(publicUrl, `GET ${path} HTTP/1.1\r\n${head('big')}x: ${'y'.repeat(20_000)}\r\n\r\n`),
    await exchange(publicUrl, `GET ${path} HTTP/1.1\r\n${head('expect')}expect: ${plant('expect')}\r\n\r\n`),
    await exchange(publicUrl, `TRACE ${path}?${plant('query')} HTTP/1.1\r\n${head('trace')}\r\n`),
    await exchange(publicUrl, `${plant('garbage')}\r\n\r\n`),
    // Refused by a route.
    await sent(`${publicUrl}/nothing?code=${plant('query')}`, { headers: { cookie: plant('cookie') } }),
    await sent(`${controlUrl}/nothing?code=${plant('query')}`, { headers: { cookie: plant('cookie') } }),
    await sent(`${controlUrl}/v1/%zz?code=${plant('query')}`),
    await sent(`${controlUrl}/v1/logs?installation=x&limit=${plant('query')}`, {
      headers: { authorization: `Bearer ${annex.admin}` },
    }),
    await sent(`${controlUrl}/v1/tokens`, {
      headers: { authorization: `Bearer annex_admin_${plant('token')}` },
    }),
    await sent(`${controlUrl}/v1/tokens`, { headers: { authorization: plant('scheme') } }),
    await sent(`${controlUrl}/v1/tokens`, {
      method: 'POST',
      headers: { authorization: `Bearer ${annex.admin}`, 'content-type': 'application/json' },
      body: `{"kind": ${plant('json')}`,
    }),
    await sent(`${controlUrl}/v1/tokens`, {
      method: 'POST',
      headers: { authorization: `Bearer ${annex.admin}`, 'content-type': 'application/json' },
      body: JSON.stringify({ kind: plant('value') }),
    }),
    await sent(`${thrower.endpoint}/v1`, {
      method: 'POST',
      headers: { authorization: `Bearer ${plant('token')}` },
      body: plant('body'),
    }),
    await sent(`${thrower.endpoint}/v1`, {
      method: 'POST',
      headers: { 'x-platform-signature': `t=1,v1=${plant('signature')}` },
      body: plant('body'),
    }),
    await annex.envelope(thrower, `{"type": ${plant('event')}`).then((response) => response.text()),
    await annex
      .envelope(thrower, { type: 'fetch' }, { environment: `{"x": ${plant('environment')}` })
      .then((response) => response.text()),
  ];
  expect(found(answers.join('\n'))).toEqual([]);
  await expect.poll(() => logged()).toContain('REQUEST_HEAD_TOO_LARGE');
  expect(logged().split('\n').length).toBeGreaterThan(answers.length / 2);
  expect(found(logged())).toEqual([]);
});

test('errors and arguments of an integration are in its own log only', async () => {
  const cookie = plant('cookie');
  const text = await sent(`${thrower.endpoint}?code=${plant('query')}`, {
    method: 'POST',
    body: plant('body'),
    headers: { cookie, authorization: `Bearer ${plant('token')}` },
  });
  expect(found(text)).toEqual([]);
  await expect.poll(() => logged()).toContain('a call failed');
  expect(found(logged())).toEqual([]);
  expect(JSON.stringify(await annex.log(thrower))).toContain(cookie);
});

test('neither new tokens nor published secrets are in the log', async () => {
  const { body } = await annex.api('POST', '/v1/tokens', { json: { kind: 'platform' } });
  secrets.push(String(body['token']), annex.admin, annex.platform);
  const upload = (secret: string, script: string) => {
    const form = new FormData();
    form.append(
      'manifest',
      `name: keeper\ntitle: x\ndescription: x\norganization: acme\nvisibility: private\nscopes: []\nscript: index.js\nsecrets:\n  KEY: \${{ env.KEY }}\n`,
    );
    form.append('secrets', JSON.stringify({ KEY: secret }));
    form.append('files', new Blob([script]), 'index.js');
    return annex.api('POST', '/v1/integrations', { form });
  };
  const answers = [
    await upload(plant('secret'), 'export default {'),
    await upload(plant('secret'), `throw new Error('at load')`),
    await upload(plant('secret'), 'export default { fetch: () => new Response() };'),
    await annex.api('GET', '/v1/integrations/keeper'),
    await annex.api('GET', '/v1/tokens'),
  ];
  expect(found(JSON.stringify(answers))).toEqual([]);
  expect(found(logged())).toEqual([]);
});

test('an error is logged without its attached data', () => {
  const secret = plant('packet');
  const fault = Object.assign(new Error('Parse Error'), {
    code: 'HPE',
    rawPacket: Buffer.from(secret),
    bytes: secret,
  });
  const wrapped = new AnnexError('INTERNAL_ERROR', 'x', { cause: fault, detail: 'd', extra: { secret } });
  const text = JSON.stringify(loggableError(wrapped));
  expect(text).toContain('Parse Error');
  expect(found(text)).toEqual([]);
  expect(loggableError(secret)).toEqual({ type: 'string' });
});

test('the error of a parser is logged without the text that it quotes, and with its place', () => {
  let thrown: unknown;
  try {
    JSON.parse('secret {');
  } catch (cause) {
    thrown = cause;
  }
  expect(String(thrown)).toContain('secret');
  const logged = loggableError(new Error('outer', { cause: thrown }));
  expect(JSON.stringify(logged)).not.toContain('secret');
  expect(logged).toMatchObject({
    cause: { type: 'SyntaxError', stack: expect.stringMatching(/^at JSON\.parse/) },
  });
});

// Asserted by the function's name: its timing cannot be measured here.
test('signatures are compared in constant time, and one of another length is refused', () => {
  const body = Buffer.from('x');
  for (const digest of [
    '',
    '0',
    '0'.repeat(63),
    '0'.repeat(65),
    '0'.repeat(64),
    'g'.repeat(64),
    'A'.repeat(64),
  ])
    expect(verifySignature(`t=1,v1=${digest}`, body, ['secret'])).toBe(false);
  expect(matchingDigests.toString()).toContain('timingSafeEqual');
});

// Attack, or a mistake: the token of an install link in an unknown path. Messages quote paths and
// are logged.
test('the token of an install link in an unknown path is neither logged nor answered', async () => {
  const made = await annex.api('POST', '/v1/integrations/thrower/install-link');
  const token = String(made.body['token']);
  const before = log.length;
  for (const [method, path] of [
    ['DELETE', `/v1/install-links/${token}`],
    ['GET', `/v1/install-links/${token}/x`],
    ['GET', `/v1/install-link/${token}`],
  ] as const) {
    const { status, body } = await annex.api(method, path);
    expect([status, body['error']]).toMatchObject([404, { code: 'ROUTE_UNKNOWN' }]);
    expect(JSON.stringify(body)).not.toContain(token);
  }
  const lines = log.slice(before).join('');
  expect(lines).toContain('No route DELETE /v1/install-links/[redacted]. This path accepts GET.');
  expect(lines).not.toContain(token);
});
