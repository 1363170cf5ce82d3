/**
 * A request stays below the endpoint to which it was sent: by its path, by the URL in an envelope,
 * and by the ids of an envelope's event.
 */
import { request as send } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isOfAnotherEndpoint, leavesEndpoint } from '../../../src/host/http/public/endpoint-address.ts';
import { errorOf, exchange, statuses } from '../../support/http/raw-http.ts';
import { type Installed, TestService } from '../../support/service.ts';

const KEY = 'a'.repeat(32);
const OTHER = 'b'.repeat(32);
const SDK = `import { createIntegration } from '@annex/sdk';
  export default createIntegration({
    fetch: async (request) => Response.json([request.method, request.url, await request.text()]),
    events: { note: () => undefined },
  });`;
const WORKER = `export default { async fetch(request) {
    const form = await request.formData();
    return Response.json([await form.get('event'), form.has('fetch-body')]);
  } };`;

/** Notations of two dots between two slashes. */
const DOTS = ['..', '%2e%2e', '%2E.', '.%2e', '%2e%2E'];
const CLIMBS = [
  ...DOTS.flatMap((dots) => [`/${dots}/${OTHER}/x`, `/a/${dots}/${dots}/${OTHER}`, `/${dots}`, `/${dots}/`]),
  ...['/..\\x', '\\..\\x', '/a\\../..\\x', '/./..', '/../?q', '/a/../../b?/c', '/%2e/%2e%2e/x', '/..?'],
];
const STAYS = [
  ...['', '?', '?/../..', '/', '/x', '/a/../x', '/a/%2e%2e', '//../x', '/.../x', '/..x', '/x..', '/a\\..\\x'],
  ...[
    '/%2e%2e%2fx',
    '/%252e%252e/x',
    '/..;/x',
    '/.well-known/x',
    '/a/b/../../c',
    '/x?a=/../../y',
    '/.',
    '/./x',
  ],
];

describe('a path', () => {
  test.each(CLIMBS)('leaves its endpoint: %s', (path) => expect(leavesEndpoint(path)).toBe(true));
  test.each(STAYS)('stays below its endpoint: %s', (path) => expect(leavesEndpoint(path)).toBe(false));

  test('leaves its endpoint exactly if a URL parser decides so', () => {
    let seed = 11;
    const below = (count: number): number => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed % count;
    };
    const pieces = ['/', '/', '\\', '.', '..', '%2e', '%2E', 'x', '?', '#', ';', '%2f', '\t', '\f', '%252e'];
    // Deep enough that no path of this test reaches the top.
    const base = `http://h${'/base'.repeat(60)}`;
    for (let round = 0; round < 20_000; round += 1) {
      const count = below(9);
      const path = `/${Array.from({ length: count }, () => pieces[below(pieces.length)]).join('')}`;
      const { href } = new URL(base + path);
      // A path that has left the base cannot return: no other segment is called "base".
      const isBelow = href.startsWith(base) && /^(?:[/?#]|$)/.test(href.slice(base.length));
      expect([path, leavesEndpoint(path)]).toEqual([path, !isBelow]);
    }
  });
});

describe('a URL is below another endpoint', () => {
  const at = (publicEndpoint: string, publicContentEndpoint = publicEndpoint) => ({
    ...{ publicEndpoint, publicContentEndpoint, endpointKey: KEY },
  });
  const shared = at(`https://hooks.example/in/${KEY}`);
  const own = at(`https://${KEY}.apps.example`);
  test.each([
    `https://hooks.example/in/${OTHER}/x`,
    `https://hooks.example/in/${KEY}/../${OTHER}`,
    `https://hooks.example/in/${KEY}/%2e%2e/${OTHER}`,
    `https://hooks.example/in/${KEY}\\..\\${OTHER}`,
    `https://hooks.example/in/${KEY}x`,
    `HTTPS://HOOKS.example:443/in/${OTHER}`,
    `https://hooks.example./in/${OTHER}`,
    `http://hooks.example/in/${OTHER}`,
    `\thttps://hooks.example/in/${KEY}/.\t./${OTHER}`,
    'https://hooks.example/',
  ])('%s', (url) => expect(isOfAnotherEndpoint(url, shared)).toBe(true));

  test.each([
    shared.publicEndpoint,
    `${shared.publicEndpoint}/a/../x?y`,
    `${shared.publicEndpoint}?x=/../..`,
    'https://e.example/x',
    'https://hooks.example:8443/x',
    'no URL',
  ])('and is not: %s', (url) => expect(isOfAnotherEndpoint(url, shared)).toBe(false));

  test.each([
    ['https://Hooks.Example/in', 'https://hooks.example/in'],
    ['https://hooks.exämple/in', 'https://hooks.xn--exmple-cua/in'],
    ['http://0x7f.1/in', 'http://127.0.0.1/in'],
    ['https://hooks.example/in', 'https://other.test:1@hooks.example/in'],
  ])('in any notation: %s, %s', (configured, sent) => {
    const target = at(`${configured}/${KEY}`);
    expect(isOfAnotherEndpoint(`${sent}/${OTHER}`, target)).toBe(true);
    expect(isOfAnotherEndpoint(`${sent}/${KEY}/x`, target)).toBe(false);
  });

  test.each([
    [
      at(`https://hooks.example/in/${KEY}`, `https://content.example/in/${KEY}`),
      'https://content.example/in/',
    ],
    [at(`https://${KEY}.apps.example/i`, `https://${KEY}.content.example/i`), ''],
  ])('on the origin without cookies too: %j', (target, base) => {
    const other = base === '' ? `https://${OTHER}.content.example/i` : `${base}${OTHER}`;
    expect(isOfAnotherEndpoint(`${other}/x`, target)).toBe(true);
    expect(isOfAnotherEndpoint(`${target.publicContentEndpoint}/x`, target)).toBe(false);
    expect(isOfAnotherEndpoint(`${target.publicContentEndpoint}/../x`, target)).toBe(true);
  });

  test('with an origin for each endpoint', () => {
    expect(isOfAnotherEndpoint(`https://${OTHER}.apps.example/x`, own)).toBe(true);
    expect(isOfAnotherEndpoint(`https://${OTHER}.apps.example./x`, own)).toBe(true);
    expect(isOfAnotherEndpoint(`${own.publicEndpoint}/../x`, own)).toBe(false);
    expect(isOfAnotherEndpoint('https://www.apps.example/x', own)).toBe(false);
  });
});

describe.each([
  ['on an origin that all share', []],
  ['on an origin of its own', ['--public-url', 'https://{endpoint}.apps.example']],
])('%s', (_where, flags) => {
  let annex: TestService;
  let worker: Installed;
  let sdk: Installed;
  beforeAll(async () => {
    annex = await TestService.start({ flags });
    await annex.publish('worker', { 'index.js': WORKER });
    await annex.publish('sdk', { 'index.js': SDK });
    worker = await annex.install('worker');
    sdk = await annex.install('sdk');
  });
  afterAll(() => annex.stop());

  /** Raw HTTP, because a client would remove the dots. */
  const get = async ({ endpoint }: Installed, path: string): Promise<string> => {
    const { host, pathname } = new URL(endpoint);
    const target = `${pathname === '/' ? '' : pathname}${path}`;
    return exchange(
      annex.service.publicUrl,
      `GET ${target} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`,
    );
  };

  test.each(CLIMBS.filter((path) => path.startsWith('/')))(
    '%s is refused before an isolate is entered',
    async (path) => {
      const text = await get(sdk, path);
      expect([statuses(text), errorOf(text).code]).toEqual([[400], 'REQUEST_INVALID']);
    },
  );

  test.each(['/a/../x', '/%2e%2e%2fx', '/..;/x'])('%s is its own', async (path) => {
    expect(await get(sdk, path)).toContain(new URL(sdk.endpoint + path).href);
  });

  const request = (url: string, method = 'POST') => ({ method, url, headers: {} });
  /** To the listener's address, because the machine does not resolve the endpoint's own origin. */
  const envelope = async (to: Installed, event: unknown, { body }: { body?: string } = {}) => {
    const form = new FormData();
    form.append('event', typeof event === 'string' ? event : JSON.stringify(event));
    form.append('environment', '{}');
    if (body !== undefined) form.append('fetch-body', new Blob([body]), 'fetch-body');
    const encoded = new Response(form);
    const { host, pathname } = new URL(`${to.endpoint}/v1`);
    const headers = {
      host,
      authorization: `Bearer ${annex.platform}`,
      'content-type': encoded.headers.get('content-type') ?? '',
    };
    const bytes = new Uint8Array(await encoded.arrayBuffer());
    return new Promise<Response>((resolve, reject) => {
      const url = new URL(pathname, annex.service.publicUrl);
      const sent = send(url, { method: 'POST', headers }, (answered) => {
        const chunks: Buffer[] = [];
        answered.on('data', (chunk) => chunks.push(chunk));
        answered.on('end', () =>
          resolve(new Response(Buffer.concat(chunks), { status: answered.statusCode ?? 0 })),
        );
      });
      sent.on('error', reject).end(bytes);
    });
  };
  const answer = async (response: Promise<Response>) => {
    const settled = await response;
    const body = (await settled.json()) as { error?: { code: string; message: string } };
    return settled.ok ? body : [settled.status, body.error?.code, body.error?.message];
  };

  test('an envelope with a request to another endpoint is refused', async () => {
    for (const url of [worker.endpoint, `${worker.endpoint}/x`]) {
      const event = { type: 'fetch', request: request(url) };
      expect(await answer(envelope(sdk, event))).toEqual([
        400,
        'ENVELOPE_INVALID',
        expect.stringContaining('`request.url`'),
      ]);
    }
    const own = { type: 'fetch', request: request(`${sdk.endpoint}/a/../x`) };
    expect(await answer(envelope(sdk, own, { body: 'b' }))).toEqual(['POST', `${sdk.endpoint}/x`, 'b']);
    const elsewhere = { type: 'fetch', request: request('https://e.example/x') };
    expect(await answer(envelope(sdk, elsewhere))).toEqual(['POST', 'https://e.example/x', '']);
  });

  test('the event of an envelope is completed, and keeps its members', async () => {
    const [text] = (await answer(envelope(worker, ' {"type":"note","n":1e2}'))) as [string];
    expect(text).toMatch(/^\{"eventId":"[\w-]+","installationId":"ins_\w+","type":"note","n":1e2\}$/);
    expect(JSON.parse(text)).toMatchObject({ installationId: worker.id });
    const whole = JSON.stringify({ type: 'note', installationId: worker.id, eventId: 'evt-1', spaceId: 's' });
    expect(await answer(envelope(worker, whole))).toEqual([whole, false]);
  });

  test.each<[member: string, value: unknown]>([
    ['installationId', 'ins_another'],
    ['installationId', null],
    ['installationId', ['x']],
    ['eventId', ''],
    ['eventId', 'a b'],
    ['eventId', 7],
    ['eventId', 'x'.repeat(256)],
  ])('an event with the %s %j is refused', async (member, value) => {
    expect(await answer(envelope(worker, { type: 'note', [member]: value }))).toEqual([
      400,
      'ENVELOPE_INVALID',
      expect.stringContaining(`\`${member}\``),
    ]);
  });

  test('a space and a site have ids of their own', async () => {
    for (const level of ['space', 'site'] as const) {
      const below = await annex.installBelow('worker', worker, level, `${level}-1`);
      const id = `${level}Id`;
      const [text] = (await answer(envelope(below, { type: 'note' }))) as [string];
      expect(JSON.parse(text)).toMatchObject({ installationId: worker.id, [id]: `${level}-1` });
      const foreign = await answer(envelope(below, { type: 'note', [id]: `${level}-2` }));
      expect(foreign).toEqual([400, 'ENVELOPE_INVALID', expect.stringContaining(`\`${id}\``)]);
    }
  });

  test.each([
    ['post', 'POST'],
    ['patch', 'PATCH'],
    ['Delete', 'DELETE'],
    ['purge', 'purge'],
  ])(
    'the method %s of an envelope is %s to the SDK, and what it is to a plain worker',
    async (named, method) => {
      const event = { type: 'fetch', request: request('https://e.example/x', named) };
      expect(await answer(envelope(sdk, event, { body: 'b' }))).toEqual([method, 'https://e.example/x', 'b']);
      const [text] = (await answer(envelope(worker, event, { body: 'b' }))) as [string];
      expect(JSON.parse(text).request.method).toBe(named);
    },
  );

  test.each(['GET', 'get', 'HEAD', 'Head'])(
    'a %s request has no body, by an envelope either',
    async (method) => {
      const event = { type: 'fetch', request: request('https://e.example/x', method) };
      expect(await answer(envelope(worker, event, { body: 'b' }))).toEqual([expect.any(String), false]);
      const note = await answer(envelope(worker, { ...event, type: 'note' }, { body: 'b' }));
      expect(note).toEqual([expect.any(String), true]);
    },
  );
});
