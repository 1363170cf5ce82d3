/**
 * Endpoints of one origin in a real Chromium (docs/contract/endpoints.md#a-shared-origin): what an
 * answer of one endpoint can do to the others. Scripts of pages are another matter: on one origin,
 * browsers do not keep them apart.
 */
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { signatureHeader } from '../../../src/model/signature.ts';
import { exchange, statuses } from '../../support/http/raw-http.ts';
import { needs } from '../../support/programs.ts';
import { startChromium } from '../../support/renderer/chromium.ts';
import { type Installed, TestService } from '../../support/service.ts';

/** Answers as the query asks; without `body`, with the headers of the request. */
const ANSWERS = `import { createIntegration } from '@annex/sdk';
export default createIntegration({ fetch: async (request, { environment }) => {
  const { searchParams, pathname } = new URL(request.url);
  const { type = 'text/html', body, headers = '[]' } = Object.fromEntries(searchParams);
  if (pathname.endsWith('/secret')) return Response.json(environment.signingSecrets);
  const text = body ?? JSON.stringify(Object.fromEntries(request.headers));
  return new Response(text, { headers: [...JSON.parse(headers), ['content-type', type]] });
} });`;

/** Takes over at once, and answers each request of its scope. */
const WORKER = `addEventListener('install', () => skipWaiting());
addEventListener('activate', (event) => event.waitUntil(clients.claim()));
addEventListener('fetch', (event) => event.respondWith(new Response('by the worker')));`;

interface Answer {
  readonly type?: string;
  readonly body?: string;
  readonly headers?: readonly [string, string][];
}

const SCRIPT: Answer = { type: 'text/javascript', body: WORKER };
/** Sets a cookie for the origin, clears what is kept for it, and marks its requests. */
const FOR_THE_ORIGIN: readonly [string, string][] = [
  ['set-cookie', 'a=1; Path=/'],
  ['clear-site-data', '"cookies", "storage", "cache"'],
  ['accept-ch', 'Sec-CH-UA-Arch'],
  ['use-as-dictionary', 'match="/*"'],
  ['cache-control', 'max-age=9999'],
];

describe('on a shared origin, in a browser', needs('chromium'), () => {
  let annex: TestService;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let attacker: Installed;
  let victim: Installed;
  beforeAll(async () => {
    annex = await TestService.start();
    await annex.publish('answers', { 'index.js': ANSWERS });
    [attacker, victim] = [await annex.install('answers'), await annex.install('answers')];
    browser = await startChromium();
  });
  afterAll(async () => {
    await browser?.close();
    await annex?.stop();
  });
  beforeEach(async () => {
    context = await browser.newContext();
    page = await context.newPage();
  });
  afterEach(() => context.close());

  const url = ({ endpoint }: Installed, path: string, { headers, ...rest }: Answer = {}) =>
    `${endpoint}${path}?${new URLSearchParams({ ...rest, ...(headers && { headers: JSON.stringify(headers) }) })}`;
  /** @returns the scope of the worker once it is active; `refused` if there is none */
  const register = (script: string, options: object): Promise<string> =>
    page.evaluate(`navigator.serviceWorker.register(${JSON.stringify(script)}, ${JSON.stringify(options)}).then(
      (made) => navigator.serviceWorker.ready.then(() => made.scope),
      () => 'refused',
    )`);
  const textAt = async (where: string): Promise<string | undefined> => {
    await page.goto(where);
    return page.evaluate('document.body.innerText');
  };
  /** Headers of a request that a page of the victim makes. */
  const sentToVictim = async (): Promise<Record<string, string>> => {
    await page.goto(url(victim, '/page', { body: 'victim' }));
    return page.evaluate(`fetch(${JSON.stringify(url(victim, '/asked'))}).then((got) => got.json())`);
  };

  // Attack: the default scope of a worker is the folder of its script: that of /KEY?sw is `/`.
  test.each<[how: string, path: string, options: object, headers: readonly [string, string][]]>([
    ['of the bare endpoint', '', {}, []],
    ['of the bare endpoint, as a module', '', { type: 'module' }, []],
    [
      'of the bare endpoint, out of the cache',
      '',
      { updateViaCache: 'all' },
      [['cache-control', 'max-age=9999']],
    ],
    ['below the endpoint, for the origin', '/sw', { scope: '/' }, []],
    ['below the endpoint, with leave', '/sw', { scope: '/' }, [['service-worker-allowed', '/']]],
  ])('attack: a worker %s does not serve another endpoint', async (_how, path, options, headers) => {
    await page.goto(url(attacker, '/page', { body: 'attacker' }));
    const script = url(attacker, path, { ...SCRIPT, headers });
    await page.evaluate(`fetch(${JSON.stringify(script)}).then((got) => got.text())`);
    expect(await register(script, options)).toBe('refused');
    expect(await textAt(url(victim, '/page', { body: 'victim' }))).toBe('victim');
  });

  test('a worker serves its own endpoint, and no other', async () => {
    await page.goto(url(attacker, '/page', { body: 'attacker' }));
    expect(await register(url(attacker, '/sw', SCRIPT), {})).toBe(`${attacker.endpoint}/`);
    expect(await textAt(url(attacker, '/page', { body: 'attacker' }))).toBe('by the worker');
    expect(await textAt(url(victim, '/page', { body: 'victim' }))).toBe('victim');
  });

  // Attack: cookies and relative URLs of a page at /KEY would be those of the whole origin.
  test('a page of the bare endpoint is one below it', async () => {
    await page.goto(url(attacker, '', { body: 'attacker' }));
    expect(page.url()).toBe(url(attacker, '/', { body: 'attacker' }));
    await page.evaluate("document.cookie = 'a=1'");
    expect((await sentToVictim())['cookie']).toBeUndefined();
  });

  test('attack: an answer sets no cookie, marks no request and clears nothing for another endpoint', async () => {
    await page.goto(url(victim, '/page', { body: 'victim', headers: [['set-cookie', 'own=1']] }));
    await page.evaluate("localStorage.setItem('own', '1')");
    const marks = { type: 'text/plain', body: 'attacker'.repeat(99), headers: FOR_THE_ORIGIN };
    const dictionary = url(attacker, '/page', marks);
    await page.goto(dictionary);
    await page.evaluate(`fetch(${JSON.stringify(`${dictionary}&again`)}).then((got) => got.text())`);
    const sent = await sentToVictim();
    expect(sent).toMatchObject({ cookie: 'own=1' });
    expect(Object.keys(sent).filter((name) => /^(available-dictionary|sec-ch-ua-arch)$/.test(name))).toEqual(
      [],
    );
    expect(await page.evaluate("localStorage.getItem('own')")).toBe('1');
  });

  // Attack: a page signs an envelope, with the secret that its code has: answers to envelopes are
  // sent as they are.
  test('attack: nor does the answer to an envelope that a page signs', async () => {
    await page.goto(url(victim, '/page', { body: 'victim', headers: [['set-cookie', 'own=1']] }));
    const secrets = await fetch(`${attacker.endpoint}/secret`);
    const { installation } = (await secrets.json()) as { installation: string };
    const answers = url(attacker, '/page', { body: 'taken', headers: FOR_THE_ORIGIN });
    const event = { type: 'fetch', request: { method: 'GET', url: answers, headers: {} } };
    const body = [
      ...['--x', 'content-disposition: form-data; name="event"', '', JSON.stringify(event)],
      ...['--x', 'content-disposition: form-data; name="environment"', '', '{}', '--x--', ''],
    ].join('\r\n');
    const signature = signatureHeader([installation], Math.floor(Date.now() / 1_000), Buffer.from(body));
    const headers = { 'content-type': 'multipart/form-data; boundary=x', 'x-platform-signature': signature };
    await page.goto(url(attacker, '/page', { body: 'attacker' }));
    const request = JSON.stringify({ method: 'POST', headers, body });
    const answered = `fetch(${JSON.stringify(`${attacker.endpoint}/v1`)}, ${request}).then((got) => got.text())`;
    expect(await page.evaluate(answered)).toBe('taken');
    expect((await sentToVictim())['cookie']).toBe('own=1');
  });
});

test('a program gets the answer of the bare endpoint, and never as a worker script', async () => {
  const annex = await TestService.start();
  try {
    const { endpoint } = await annex.deploy('answers', ANSWERS);
    const { host, pathname } = new URL(endpoint);
    /** Hand-written: clients decide on some of the headers themselves. */
    const ask = async (header: string, query = '') => {
      const lines = [`GET ${pathname}${query} HTTP/1.1`, `host: ${host}`, 'connection: close', header];
      const text = await exchange(endpoint, `${lines.filter(Boolean).join('\r\n')}\r\n\r\n`);
      const head = (name: string) => new RegExp(`^${name}: (.*)\r$`, 'm').exec(text)?.[1];
      return [statuses(text)[0], head('location') ?? head('content-type')];
    };
    const script = `?${new URLSearchParams({ type: 'text/html, Text/JavaScript', body: WORKER })}`;
    expect(await ask('')).toEqual([200, 'text/html']);
    expect(await ask('sec-fetch-mode: cors')).toEqual([200, 'text/html']);
    expect(await ask('', script)).toEqual([200, undefined]);
    expect(await ask('sec-fetch-mode: navigate', '?a')).toEqual([307, `${pathname.slice(1)}/?a`]);
    for (const worker of ['service-worker: script', 'sec-fetch-dest: serviceworker'])
      expect(await ask(worker)).toEqual([400, 'application/json; charset=utf-8']);
  } finally {
    await annex.stop();
  }
});
