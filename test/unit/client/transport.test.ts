/** How the client sends a request again, and what its errors say. */
import { expect, test } from 'vitest';
import { AnnexError } from '../../../packages/client/src/annex-error.ts';
import type { RequestParts } from '../../../packages/client/src/request.ts';
import { Transport, type TransportSettings } from '../../../packages/client/src/transport.ts';
import { refusal, ScriptedService } from '../../support/client/scripted-service.ts';

const SETTINGS: TransportSettings = {
  base: 'http://annex.example',
  token: 'annex_admin_x',
  retries: 2,
  timeoutMs: 60_000,
  retryWaitMs: 30_000,
  userAgent: undefined,
};

const over = (service: ScriptedService, settings: Partial<TransportSettings> = {}) =>
  new Transport({ ...SETTINGS, ...settings }, service);

const BUSY = () => refusal(503, 'CALL_SHED', 2);
const LOST = () => new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED') });

test('a request that is safe to repeat is sent until it succeeds', async () => {
  const service = new ScriptedService([BUSY(), LOST(), Response.json({ a: 1 })]);
  const { body } = await over(service).send('GET', '/v1/x', {});
  expect(body).toEqual({ a: 1 });
  expect(service.waits).toEqual([2_000, 250]);
});

test('a request that is not safe to repeat is sent once', async () => {
  for (const answer of [BUSY(), LOST()]) {
    const service = new ScriptedService([answer]);
    await expect(over(service).send('POST', '/v1/x', { body: {} })).rejects.toBeInstanceOf(AnnexError);
    expect(service.waits).toEqual([]);
  }
});

test('an event gets an id before the first attempt, and has the same one at each', async () => {
  const parts: RequestParts = { body: { type: 'a' }, idempotentBy: ['events[].eventId', 'eventId'] };
  const service = new ScriptedService([LOST(), BUSY(), Response.json({}), Response.json({})]);
  await over(service).send('POST', '/v1/events', parts);
  await over(service).send('POST', '/v1/events', parts);
  const [first, second, third, other] = await service.bodies();
  expect(first).toEqual({ type: 'a', eventId: expect.stringMatching(/^[0-9a-f]{32}$/) });
  expect([second, third]).toEqual([first, first]);
  expect(other?.['eventId']).not.toBe(first?.['eventId']);
  expect(parts.body).toEqual({ type: 'a' });
});

test('each event of a batch gets an id, and an id that is given stays', async () => {
  const service = new ScriptedService([Response.json({})]);
  await over(service).send('POST', '/v1/events', {
    body: { events: [{ type: 'a' }, { type: 'a', eventId: 'mine' }] },
    idempotentBy: ['events[].eventId', 'eventId'],
  });
  const events = [
    { type: 'a', eventId: expect.stringMatching(/^[0-9a-f]{32}$/) },
    { type: 'a', eventId: 'mine' },
  ];
  expect(await service.bodies()).toEqual([{ events }]);
});

test('the caller ends the retries by a signal, and bounds them', async () => {
  const stop = new AbortController();
  const service = new ScriptedService([BUSY(), BUSY()]);
  stop.abort(new Error('enough'));
  await expect(over(service).send('GET', '/v1/x', { options: { signal: stop.signal } })).rejects.toThrow(
    'enough',
  );
  const once = new ScriptedService([BUSY()]);
  await expect(over(once).send('GET', '/v1/x', { options: { retries: 0 } })).rejects.toThrow('CALL_SHED');
});

test('all waits of a request together have a bound', async () => {
  const slow = () => refusal(503, 'INSTALLATION_COOLING', 6);
  const service = new ScriptedService([slow(), slow(), slow()]);
  await expect(over(service, { retries: 9, retryWaitMs: 15_000 }).send('GET', '/v1/x', {})).rejects.toThrow();
  expect(service.waits).toEqual([6_000, 6_000]);
});

test('the token is asked for at each attempt', async () => {
  let number = 0;
  const token = async () => {
    number += 1;
    return `t${number}`;
  };
  const service = new ScriptedService([BUSY(), Response.json({})]);
  await over(service, { token }).send('GET', '/v1/x', {});
  expect(service.requests.map(({ headers }) => headers.get('authorization'))).toEqual([
    'Bearer t1',
    'Bearer t2',
  ]);
});

test('an error has the members of the answer', async () => {
  const answer = Response.json(
    {
      error: {
        code: 'PUBLISH_INVALID',
        status: 422,
        message: 'Two problems.',
        requestId: 'r-7',
        problems: [{ severity: 'error', message: 'a' }],
        installation: 'i1',
      },
    },
    { status: 422 },
  );
  const service = new ScriptedService([answer]);
  const error = await over(service)
    .send('POST', '/v1/integrations', {})
    .catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(AnnexError);
  expect(error).toMatchObject({
    message: 'Two problems.',
    status: 422,
    code: 'PUBLISH_INVALID',
    requestId: 'r-7',
    problems: [{ severity: 'error', message: 'a' }],
    details: { installation: 'i1' },
  });
});

test.each([
  ['an HTML page', new Response('<h1>Welcome</h1>'), 200],
  ['an error of a proxy', new Response('Bad Gateway', { status: 502 }), 502],
  ['an error of another API', Response.json({ error: 'no' }, { status: 404 }), 404],
  ['an error that is a list', Response.json([1], { status: 404 }), 404],
])('%s is no answer of Annex', async (_name, answer, status) => {
  const service = new ScriptedService([answer]);
  await expect(over(service).send('GET', '/v1/x', {})).rejects.toMatchObject({
    code: 'ANSWER_INVALID',
    status,
  });
});

test('no connection is an error with the reason', async () => {
  const service = new ScriptedService([LOST()]);
  await expect(over(service, { retries: 0 }).send('GET', '/v1/x', {})).rejects.toMatchObject({
    code: 'NETWORK_FAILED',
    status: 0,
    message: `The service at ${SETTINGS.base} cannot be reached: connect ECONNREFUSED`,
  });
});

test('an attempt without an answer in time is given up', async () => {
  const service = new ScriptedService([]);
  const silent: typeof fetch = (_url, init) =>
    new Promise((_resolve, reject) => {
      init?.signal?.addEventListener('abort', () => reject(init.signal?.reason));
    });
  const transport = new Transport({ ...SETTINGS, retries: 0, timeoutMs: 5 }, { ...service, fetch: silent });
  await expect(transport.send('GET', '/v1/x', {})).rejects.toMatchObject({
    code: 'REQUEST_TIMED_OUT',
    message: 'The service did not answer within 5 ms.',
  });
});

test('names in a path cannot lead to another route', async () => {
  const service = new ScriptedService([Response.json({}), Response.json({})]);
  const transport = over(service);
  for (const name of ['..', '.', ''])
    await expect(transport.send('GET', '/v1/tokens/{id}', { path: { id: name } })).rejects.toThrow(TypeError);
  await transport.send('GET', '/v1/tokens/{id}', { path: { id: 'a/../b?c#d%2e' } });
  await transport.send('GET', '/v1/i/{name}/images/{path}', { path: { name: 'a', path: 'b/c d.png' } });
  expect(service.requests.map(({ url }) => new URL(url).pathname)).toEqual([
    '/v1/tokens/a%2F..%2Fb%3Fc%23d%252e',
    '/v1/i/a/images/b/c%20d.png',
  ]);
});
