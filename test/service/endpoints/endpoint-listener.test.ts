/**
 * Refusals of the public listener, all of them before an isolate is entered.
 */
import { request } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Installed, TestService } from '../../support/service.ts';

const LIMITS = { requestBodyBytes: 2_000, envelopePartBytes: 1_000 };
let annex: TestService;
let worker: Installed;
beforeAll(async () => {
  annex = await TestService.start({ limits: LIMITS });
  worker = await annex.deploy(
    'door',
    `export default { fetch() { console.log('entered'); return new Response('ok') } };`,
  );
});
afterAll(() => annex.stop());

/** Status and error code of a refusal; asserts that the integration did not run. */
async function refusal(response: Promise<Response>): Promise<unknown[]> {
  const settled = await response;
  const text = await settled.text();
  const lines = await annex.log(worker);
  expect(lines.filter(({ text }) => !text.startsWith('A request was refused. '))).toEqual([]);
  const { error } = text.startsWith('{')
    ? (JSON.parse(text) as { error: { code: string; message: string } })
    : { error: undefined };
  return error ? [settled.status, error.code, error.message] : [settled.status, text];
}

const multipart = (body: string, headers: Record<string, string> = {}) =>
  fetch(`${worker.endpoint}/v1`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${annex.platform}`,
      'content-type': 'multipart/form-data; boundary=b',
      ...headers,
    },
    body,
  });
const part = (name: string, value: string) =>
  `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;

test.each(['', '/', '/nothing-here', `/${'a'.repeat(32)}/x`, '/../../etc/passwd', '/%00'])(
  'an unknown endpoint, "%s", is 404',
  async (path) => {
    expect(await refusal(fetch(annex.service.publicUrl + path))).toEqual([
      404,
      'ENDPOINT_UNKNOWN',
      'There is no endpoint at this URL.',
    ]);
  },
);

test.each(['v0', 'v2', 'v99'])('version %s is refused as text, before the body is read', async (version) => {
  const response = await fetch(`${worker.endpoint}/${version}`, { method: 'POST', body: 'anything' });
  expect(response.headers.get('content-type')).toMatch(/^text\/plain/);
  expect(await refusal(Promise.resolve(response))).toEqual([400, `Unsupported version ${version}`]);
});

test('a refusal by the head of a request does not wait for its body', async () => {
  const { status, code } = await new Promise<{ status?: number | undefined; code: string }>(
    (resolve, reject) => {
      const url = new URL(`${worker.endpoint}/v1`);
      const outgoing = request(url, { method: 'POST', headers: { 'content-length': '1000' } }, (response) => {
        let text = '';
        response.on('data', (chunk) => (text += chunk));
        response.on('end', () => {
          resolve({ status: response.statusCode, code: JSON.parse(text).error.code });
          outgoing.destroy();
        });
      });
      outgoing.on('error', reject);
      outgoing.flushHeaders();
    },
  );
  expect([status, code]).toEqual([401, 'ENVELOPE_UNAUTHORIZED']);
});

test('an envelope without platform credentials is 401, and reveals nothing about the target', async () => {
  expect(await refusal(annex.envelope(worker, { type: 'fetch' }, { token: '' }))).toEqual([
    401,
    'ENVELOPE_UNAUTHORIZED',
    expect.any(String),
  ]);
  expect(
    (await refusal(annex.envelope(worker, { type: 'fetch' }, { token: 'annex_platform_wrong' })))[0],
  ).toBe(401);
});

test('an organization token is refused for envelopes', async () => {
  const { body } = await annex.api('POST', '/v1/tokens', {
    json: { kind: 'organization', organization: 'acme' },
  });
  const refused = await refusal(annex.envelope(worker, { type: 'fetch' }, { token: String(body['token']) }));
  expect(refused.slice(0, 2)).toEqual([403, 'TOKEN_FORBIDDEN']);
});

test.each([
  ['no multipart', () => multipart('{}', { 'content-type': 'application/json' }), 'multipart/form-data'],
  ['no boundary', () => multipart('{}', { 'content-type': 'multipart/form-data' }), 'boundary'],
  ['another boundary', () => multipart(part('event', '{}').replaceAll('--b', '--c')), 'boundary'],
  ['nothing at all', () => multipart(''), 'boundary'],
  ['no end', () => multipart(part('event', '{}')), 'boundary'],
  ['no event', () => multipart(`${part('environment', '{}')}--b--`), '`event` is missing'],
  ['no environment', () => multipart(`${part('event', '{"type":"x"}')}--b--`), '`environment` is missing'],
  [
    'an event that is no JSON',
    () => multipart(`${part('event', '{')}${part('environment', '{}')}--b--`),
    '`event` part is not JSON',
  ],
  [
    'an event that is a list',
    () => multipart(`${part('event', '[]')}${part('environment', '{}')}--b--`),
    '`event` part must be a JSON object',
  ],
  [
    'an event without type',
    () => multipart(`${part('event', '{}')}${part('environment', '{}')}--b--`),
    'no `type`',
  ],
  [
    'an environment that is no JSON',
    () => multipart(`${part('event', '{"type":"x"}')}${part('environment', '{')}--b--`),
    '`environment` part is not JSON',
  ],
  [
    'two events',
    () => multipart(`${part('event', '{}')}${part('event', '{}')}${part('environment', '{}')}--b--`),
    '`event` occurs twice',
  ],
  ['a nameless part', () => multipart('--b\r\ncontent-type: text/plain\r\n\r\nx\r\n--b--'), 'no name'],
  ['a flood of parts', () => multipart(`${part('x', '').repeat(20)}--b--`), 'more than 16 parts'],
])('a malformed envelope, %s, is 400 and names the fault', async (_what, send, said) => {
  expect(await refusal(send())).toEqual([400, 'ENVELOPE_INVALID', expect.stringContaining(said)]);
});

test('each part has its limit, met exactly and exceeded by one', async () => {
  const padded = (bytes: number) =>
    JSON.stringify({ type: 'fetch', pad: '' }).replace('""', `"${'x'.repeat(bytes - 25)}"`);
  const exact = padded(LIMITS.envelopePartBytes);
  expect(exact.length).toBe(LIMITS.envelopePartBytes);
  expect(await refusal(annex.envelope(worker, padded(1_001)))).toEqual([
    413,
    'REQUEST_TOO_LARGE',
    expect.stringContaining('`event`'),
  ]);
  const environment = padded(1_001);
  expect(await refusal(annex.envelope(worker, { type: 'fetch' }, { environment }))).toEqual([
    413,
    'REQUEST_TOO_LARGE',
    expect.stringContaining('`environment`'),
  ]);
  const big = annex.envelope(worker, { type: 'fetch' }, { body: 'x'.repeat(2_001) });
  expect(await refusal(big)).toEqual([413, 'REQUEST_TOO_LARGE', expect.stringContaining('`fetch-body`')]);
  expect((await fetch(worker.endpoint, { method: 'POST', body: 'x'.repeat(2_001) })).status).toBe(413);
  const streamed = new Blob(['x'.repeat(2_001)]).stream();
  const chunked = fetch(worker.endpoint, { method: 'POST', body: streamed, duplex: 'half' } as RequestInit);
  expect((await refusal(chunked)).slice(0, 2)).toEqual([413, 'REQUEST_TOO_LARGE']);

  const fits = await TestService.start({ limits: LIMITS });
  try {
    const { endpoint } = await fits.deploy('door', `export default { fetch: () => new Response('ok') };`);
    const within = await fits.envelope({ id: '', endpoint }, exact, { body: 'x'.repeat(2_000) });
    expect(await within.text()).toBe('ok');
    expect((await fetch(endpoint, { method: 'POST', body: 'x'.repeat(2_000) })).status).toBe(200);
  } finally {
    await fits.stop();
  }
});

test('a narrowed platform token sends envelopes with the right for them alone', async () => {
  const status = async (right: string) => {
    const json = { kind: 'platform', rights: [right] };
    const { body } = await annex.api('POST', '/v1/tokens', { json });
    return (await annex.envelope(worker, { type: 'fetch' }, { token: String(body['token']) })).status;
  };
  expect([await status('events:post'), await status('envelopes:send')]).toEqual([403, 200]);
});
