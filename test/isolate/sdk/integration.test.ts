/**
 * `createIntegration` routes by the event's type, for envelopes in parts and as multipart
 * (docs/contract/calls.md#routing).
 */
import { describe, expect, test } from 'vitest';
import {
  createComponent,
  createIntegration,
  ExposableError,
  type RuntimeEvents,
} from '../../../sandbox/sdk/index.ts';
import { fixture, runScript, scriptOf } from '../../support/bundle/uploaded.ts';
import { call, envelope, offered, request } from '../../support/sdk/integration-call.ts';

const fetchEvent = (method = 'GET', url = 'https://e.example/key/a?b=1', headers = {}) => ({
  eventId: 'evt_1',
  type: 'fetch',
  request: { method, url, headers },
});
const empty = createIntegration({});
const bytes = (...values: number[]) => new Uint8Array(values).buffer;

describe('a fetch event', () => {
  test('reaches the handler as the original request, with the same bytes in its body', async () => {
    const integration = createIntegration({
      async fetch(received, context) {
        const body = new Uint8Array(await received.arrayBuffer());
        return Response.json({
          method: received.method,
          url: received.url,
          header: received.headers.get('x-signature'),
          body: [...body],
          installation: context.environment.installation?.id,
        });
      },
    });
    const event = fetchEvent('PUT', 'https://e.example/key/a?b=1', { 'X-Signature': 't=1' });
    const { text } = await call(integration, event, bytes(0, 255, 13, 10));
    expect(JSON.parse(text)).toEqual({
      method: 'PUT',
      url: 'https://e.example/key/a?b=1',
      header: 't=1',
      body: [0, 255, 13, 10],
      installation: 'inst_1',
    });
  });

  test.each(['GET', 'HEAD'])('of %s has no body, even if one was sent', async (method) => {
    const integration = createIntegration({ fetch: (received) => new Response(String(received.body)) });
    expect((await call(integration, fetchEvent(method), bytes(1))).text).toBe('null');
  });

  test.each([
    ['post', 'POST'],
    ['Patch', 'PATCH'],
    ['put', 'PUT'],
    ['delete', 'DELETE'],
    ['options', 'OPTIONS'],
    ['get', 'GET'],
    ['head', 'HEAD'],
    ['purge', 'purge'],
    ['Brew', 'Brew'],
  ])('with the method %s is a %s request', async (named, method) => {
    const integration = createIntegration({
      fetch: async (received) => new Response(`${received.method} ${(await received.bytes()).length}`),
    });
    const bodyless = ['GET', 'HEAD'].includes(method);
    const sent = `${method} ${bodyless ? 0 : 3}`;
    expect((await call(integration, fetchEvent(named), bytes(1, 2, 3))).text).toBe(sent);
    const multipart = {
      event: JSON.stringify(fetchEvent(named)),
      environment: '{}',
      'fetch-body': new Blob(['abc']),
    };
    expect((await request(integration, envelope(multipart))).text).toBe(sent);
  });

  test('is answered with the unchanged result of the handler', async () => {
    const answer = new Response('teapot', {
      status: 418,
      headers: [
        ['set-cookie', 'a=1'],
        ['set-cookie', 'b=2'],
      ],
    });
    const { response } = await call(createIntegration({ fetch: () => answer }), fetchEvent());
    expect(response).toBe(answer);
    expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2']);
  });

  test('without a handler is 400', async () => {
    const { response, text } = await call(empty, fetchEvent());
    expect([response.status, text]).toEqual([400, 'Integration does not handle HTTP requests']);
  });

  test.each([undefined, null, 'text', {}])(
    'whose handler returns %j is 500, and the log says why',
    async (returned) => {
      const { response, reported } = await call(
        createIntegration({ fetch: () => returned as never }),
        fetchEvent(),
      );
      expect(response.status).toBe(500);
      expect(String(reported[0])).toMatch(/must return a Response/);
    },
  );
});

describe('a throw', () => {
  test('answers 500 without its message, and is reported', async () => {
    const error = new Error('token sk_live_123 was refused');
    const { response, text, reported } = await call(
      createIntegration({ fetch: () => Promise.reject(error) }),
      fetchEvent(),
    );
    expect([response.status, response.headers.get('content-type')]).toEqual([500, 'application/json']);
    expect(text).toBe('{"error":"Internal server error"}');
    expect(reported).toEqual([error]);
  });

  test.each([
    [new ExposableError('no such page', 404), 404],
    [new ExposableError('no such page'), 400],
  ])(
    'of an ExposableError shows its message, with its status, and is not reported',
    async (error, status) => {
      const throwing = () => {
        throw error;
      };
      const { response, text, reported } = await call(createIntegration({ fetch: throwing }), fetchEvent());
      expect([response.status, text, reported]).toEqual([status, '{"error":"no such page"}', []]);
    },
  );

  test.each([undefined, null, 'text'])('of %j is 500 too', async (thrown) => {
    const { response, reported } = await call(
      createIntegration({ fetch: () => Promise.reject(thrown) }),
      fetchEvent(),
    );
    expect([response.status, reported]).toEqual([500, [thrown]]);
  });

  test.each([399, 600, 200, 400.5, Number.NaN])('cannot claim the status %d', (status) => {
    expect(() => new ExposableError('x', status)).toThrow(RangeError);
  });

  test.each([400, 599])('may have the status %d', (status) => {
    expect(new ExposableError('x', status).status).toBe(status);
  });
});

describe('any other event', () => {
  const event = { eventId: 'evt_1', type: 'space_view', spaceId: 's', extra: { passed: 'through' } };

  test('reaches its handler with everything in it, and is answered 200', async () => {
    let seen: RuntimeEvents['space_view'] | undefined;
    const integration = createIntegration({
      events: {
        space_view: (received) => {
          seen = received;
        },
      },
    });
    const { response, text } = await call(integration, event);
    expect([response.status, text]).toEqual([200, 'OK']);
    expect(seen).toEqual(event);
  });

  test('runs several handlers at the same time, each to its end although one fails', async () => {
    const order: string[] = [];
    const gate = Promise.withResolvers<void>();
    const first = new Error('first');
    const second = new Error('second');
    const integration = createIntegration({
      events: {
        space_view: [
          async () => {
            order.push('a starts');
            await gate.promise;
            order.push('a ends');
          },
          () => {
            order.push('b starts');
            throw first;
          },
          async () => {
            gate.resolve();
            throw second;
          },
        ],
      },
    });
    const { response, reported } = await call(integration, event);
    expect(response.status).toBe(500);
    expect(order).toEqual(['a starts', 'b starts', 'a ends']);
    expect(new Set(reported)).toEqual(new Set([first, second]));
  });

  test.each(['space_view', 'toString', '__proto__', 'constructor'])(
    'of type %s without a handler is 406',
    async (type) => {
      const { response, text } = await call(empty, { ...event, type });
      expect([response.status, text]).toEqual([406, `Integration does not handle "${type}" events`]);
    },
  );

  test('may continue work with waitUntil', async () => {
    const work = Promise.resolve('done');
    const integration = createIntegration({
      events: { space_view: (_, context) => context.waitUntil(work) },
    });
    expect((await call(integration, event)).waiting).toEqual([work]);
  });
});

describe('a definition', () => {
  const component = (componentId: string) =>
    createComponent({ componentId, render: () => ({ type: 'block' }) });
  test.each([
    [undefined, /expects an object/],
    [[], /expects an object/],
    [{ fetch: 1 }, /fetch must be a function/],
    [{ components: {} }, /components must be an array/],
    [
      { components: [component('a'), { componentId: 'b', render() {} }] },
      /components\[1\] must come from createComponent/,
    ],
    [{ components: [component('a'), component('a')] }, /componentId "a" is used twice/],
    [{ events: [] }, /events must be an object/],
    [{ events: { space_view: 'x' } }, /events\.space_view must be a function or an array/],
    [{ events: { space_view: [() => {}, 1] } }, /events\.space_view must be a function or an array/],
  ])('that is invalid is a TypeError that names the place: %j', (definition, message) => {
    const create = () => createIntegration(definition as never);
    expect(create).toThrow(TypeError);
    expect(create).toThrow(message);
  });

  test('exposes its components and events to the platform', () => {
    const integration = createIntegration({
      components: [component('a'), component('b')],
      events: { space_view: () => {}, site_view: [] },
    });
    expect(offered(integration)).toMatchObject({
      components: ['a', 'b'],
      events: ['space_view', 'site_view'],
    });
  });
});

describe('a multipart envelope', () => {
  const integration = createIntegration({
    fetch: async (received) => new Response(`${received.method} ${await received.text()}`),
  });
  const event = JSON.stringify(fetchEvent('POST'));

  test('is handled like an envelope in parts', async () => {
    const body = new Blob(['päyload'], { type: 'application/octet-stream' });
    expect(
      (await request(integration, envelope({ event, environment: '{}', 'fetch-body': body }))).text,
    ).toBe('POST päyload');
    expect((await request(integration, envelope({ event, environment: '{}' }))).text).toBe('POST ');
    expect((await request(integration, envelope({ event: new Blob([event]), environment: '{}' }))).text).toBe(
      'POST ',
    );
  });

  test.each([
    [{ environment: '{}' }, 'The envelope has no part "event"'],
    [{ event }, 'The envelope has no part "environment"'],
    [{ event: '{', environment: '{}' }, 'The part "event" of the envelope is not JSON'],
    [{ event, environment: '1' }, 'The part "environment" of the envelope is not a JSON object'],
  ])('that is malformed is 400: %j', async (parts, message) => {
    const { response, text } = await request(integration, envelope(parts as Record<string, string>));
    expect([response.status, text]).toEqual([400, message]);
  });

  test.each([
    [
      new Request('https://e.example/key/v1', { method: 'POST', body: 'x' }),
      'The envelope must be multipart/form-data',
    ],
    [new Request('https://e.example/key/v1'), 'The envelope must be sent with POST'],
    [envelope({ event, environment: '{}' }, 'https://e.example/key/v2'), 'Unsupported version v2'],
  ])('is the only request that fetch accepts', async (other, message) => {
    const { response, text } = await request(integration, other);
    expect([response.status, text]).toEqual([400, message]);
  });
});

describe('the example', () => {
  test('hello greets as configured and counts the requests of its isolate', async () => {
    const hello = await runScript<typeof empty>(await scriptOf(fixture('hello'), 'src/index.ts'));
    await call(hello, fetchEvent());
    expect(JSON.parse((await call(hello, fetchEvent())).text)).toEqual({
      greeting: 'Hi from test',
      method: 'GET',
      path: '/key/a',
      installation: 'inst_1',
      configuration: { greeting: 'Hi' },
      served: 2,
    });
  });

  test('confirmation confirms a POST and refuses the rest (docs/contract/calls.md#json-confirmation)', async () => {
    const confirmation = await runScript<typeof empty>(
      await scriptOf(fixture('confirmation'), 'src/index.ts'),
    );
    const posted = await call(confirmation, fetchEvent('POST'), bytes(1));
    expect([posted.response.status, posted.response.headers.get('content-type')]).toEqual([
      200,
      'application/json',
    ]);
    expect(JSON.parse(posted.text)).toEqual({ received: true });
    for (const method of ['GET', 'PUT', 'DELETE', 'HEAD']) {
      const other = await call(confirmation, fetchEvent(method));
      expect([other.response.status, other.text]).toEqual([405, 'Method not allowed']);
    }
  });

  test('plain-worker needs no SDK', async () => {
    const worker = await runScript<typeof empty>(await scriptOf(fixture('plain-worker'), 'worker.js'));
    const parts = {
      event: JSON.stringify(fetchEvent('POST')),
      environment: '{"installation":{"id":"inst_1"}}',
      'fetch-body': new Blob(['1234']),
    };
    expect(JSON.parse((await request(worker, envelope(parts))).text)).toMatchObject({
      method: 'POST',
      installation: 'inst_1',
      bodyBytes: 4,
    });
    const other = await request(worker, envelope({ event: '{"type":"space_view"}', environment: '{}' }));
    expect(other.response.status).toBe(406);
  });
});
