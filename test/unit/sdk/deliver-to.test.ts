/** `deliverTo`: only its result becomes a destination and a payload. */
import { describe, expect, test } from 'vitest';
import { createIntegration, deliverTo } from '../../../sandbox/sdk/index.ts';
import { call } from '../../support/sdk/integration-call.ts';

const event = { eventId: 'evt_1', type: 'site_view', siteId: 'site_1', url: 'https://docs.example/' };

/** The answer to an event whose handlers return these values. */
async function answered(...returned: readonly unknown[]) {
  const handlers = returned.map((value) => () => value);
  const { response, reported } = await call(createIntegration({ events: { site_view: handlers } }), event);
  const body = Buffer.from(await response.arrayBuffer()).toString('latin1');
  return { status: response.status, headers: Object.fromEntries(response.headers), body, reported };
}

describe('the result of a handler', () => {
  test('names the destination in the answer, with the payload as its body', async () => {
    const { status, headers, body } = await answered(deliverTo('https://in.example/hook?a=1', { n: 1 }));
    expect([status, body]).toEqual([200, '{"n":1}']);
    expect(headers).toEqual({
      'content-type': 'application/json',
      'annex-deliver-to': 'https://in.example/hook?a=1',
    });
  });

  test.each<[string, URL | string, string]>([
    ['a URL', new URL('https://in.example/a b'), 'https://in.example/a%20b'],
    ['a host that is not ASCII', 'https://bücher.example', 'https://xn--bcher-kva.example/'],
    ['blanks around it', ' https://in.example/\n', 'https://in.example/'],
  ])('is a destination that a header can hold: %s', async (_, url, href) => {
    expect((await answered(deliverTo(url, {}))).headers['annex-deliver-to']).toBe(href);
  });

  test.each<[string, object | string | Uint8Array, string]>([
    ['text, as it is', ' {"a":  1}\n', ' {"a":  1}\n'],
    ['bytes, as they are', new Uint8Array([0, 255, 13, 10]), '\u0000\u00ff\r\n'],
    ['a part of a buffer', new Uint8Array([1, 65, 66, 2]).subarray(1, 3), 'AB'],
    ['a list', [1, 2], '[1,2]'],
    ['what says itself what it is in JSON', new Date(0), '"1970-01-01T00:00:00.000Z"'],
    ['members without a value, which JSON does not have', { a: undefined, b: null }, '{"b":null}'],
  ])('is a payload: %s', async (_, payload, body) => {
    expect((await answered(deliverTo('https://in.example/', payload))).body).toBe(body);
  });

  test('is the payload as it was then, also if it is changed later', async () => {
    const given = { n: 1 };
    const bytes = new TextEncoder().encode('{"n":1}');
    const first = deliverTo('https://in.example/', given);
    const second = deliverTo('https://in.example/', bytes);
    given.n = 2;
    bytes.fill(0);
    expect([(await answered(first)).body, (await answered(second)).body]).toEqual(['{"n":1}', '{"n":1}']);
  });

  test.each([
    undefined,
    null,
    'https://in.example/',
    { url: 'https://in.example/', body: '{}' },
    new Response('x'),
  ])('posts nothing where it is anything else: %j', async (returned) => {
    const { status, headers, body } = await answered(returned);
    expect([status, body, headers['annex-deliver-to']]).toEqual([200, 'OK', undefined]);
  });

  test('may come from one of several handlers', async () => {
    const { headers } = await answered(undefined, deliverTo('https://in.example/', {}), 'done');
    expect(headers['annex-deliver-to']).toBe('https://in.example/');
  });

  test('is refused if there are two: one event goes to one destination', async () => {
    const one = deliverTo('https://in.example/', {});
    const { status, reported } = await answered(one, undefined, one);
    expect(status).toBe(500);
    expect(String(reported[0])).toBe(
      'TypeError: 2 handlers of "site_view" return deliverTo(): one event goes to one destination',
    );
  });

  test('is not posted if another handler of the event fails', async () => {
    const integration = createIntegration({
      events: {
        site_view: [() => deliverTo('https://in.example/', {}), () => Promise.reject(new Error('no'))],
      },
    });
    const { response } = await call(integration, event);
    expect([response.status, response.headers.has('annex-deliver-to')]).toEqual([500, false]);
  });
});

describe('deliverTo', () => {
  test.each(['', '/hook', 'in.example', 'https://', 'https://a b/'])(
    'refuses a destination that is not an absolute URL: %j',
    (url) => {
      expect(() => deliverTo(url, {})).toThrow('deliverTo: the destination must be an absolute URL');
    },
  );

  test.each([
    [undefined, 'nothing'],
    [null, 'nothing'],
    [7, 'a number'],
    [() => {}, 'a function'],
    [{ toJSON: () => undefined }, 'an object without JSON'],
  ])('refuses a payload that JSON cannot represent: %j', (payload, kind) => {
    expect(() => deliverTo('https://in.example/', payload as object)).toThrow(
      `deliverTo: the payload must be an object, text or bytes, not ${kind}`,
    );
  });

  test('throws for a cyclic payload, at the line of its call', () => {
    const loop: { self?: unknown } = {};
    loop.self = loop;
    expect(() => deliverTo('https://in.example/', loop)).toThrow(/circular/i);
  });
});
