/** Redirects, as the Fetch standard follows them ("HTTP-redirect fetch"), hop by hop. */

import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { EgressError } from '../../../src/host/egress/egress.ts';
import { nextHop } from '../../../src/host/egress/redirect.ts';
import { failure, newEgress, send, serve } from '../../support/http/egress.ts';

interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: Record<string, unknown>;
  readonly body: string;
}

/** A server that redirects at `/<status>/<location>`, and records its requests. */
async function redirecting(): Promise<{ base: string; seen: Seen[] }> {
  const seen: Seen[] = [];
  const base = await serve(async (request, response) => {
    const { method = '', url = '', headers } = request;
    seen.push({ method, url, headers, body: await text(request) });
    const [, status, to] = /^\/(\d{3})\/(.*)$/.exec(url) ?? [];
    if (status !== undefined) response.writeHead(Number(status), { location: decodeURIComponent(to ?? '') });
    response.end('body');
  });
  return { base, seen };
}

const post = {
  method: 'POST',
  body: Buffer.from('data'),
  headers: [
    ['content-type', 'text/x'],
    ['x-own', '1'],
  ],
} as const;

describe('a redirect', () => {
  test.each([
    [301, 'POST', 'GET', ''],
    [302, 'POST', 'GET', ''],
    [303, 'POST', 'GET', ''],
    [303, 'PUT', 'GET', ''],
    [303, 'HEAD', 'HEAD', ''],
    [301, 'PUT', 'PUT', 'data'],
    [302, 'DELETE', 'DELETE', 'data'],
    [307, 'POST', 'POST', 'data'],
    [308, 'PUT', 'PUT', 'data'],
    [308, 'GET', 'GET', ''],
  ])('with %i after %s is followed with %s', async (status, method, then, body) => {
    const { base, seen } = await redirecting();
    const bodiless = method === 'GET' || method === 'HEAD';
    const { body: _, ...bare } = post;
    const response = await send(newEgress(), `${base}/${status}/%2Fend`, {
      ...(bodiless ? bare : post),
      method,
    });
    response.body.resume();
    expect(seen.map((request) => request.method)).toEqual([method, then]);
    expect(seen[1]?.body).toBe(body);
    const isRewritten = then !== method;
    expect(seen[1]?.headers['content-type']).toBe(isRewritten ? undefined : 'text/x');
    expect(seen[1]?.headers['x-own']).toBe('1');
    expect([response.status, response.redirected, response.url]).toEqual([200, true, `${base}/end`]);
  });

  test('keeps credentials within an origin, and drops them for another', async () => {
    const [here, there] = [await redirecting(), await redirecting()];
    const headers = [
      ['Authorization', 'Bearer t'],
      ['cookie', 'a=b'],
      ['x-own', '1'],
    ] as const;
    const within = `${here.base}/302/${encodeURIComponent('/302/%2Fend')}`;
    (await send(newEgress(), within, { headers })).body.resume();
    expect(here.seen.map((request) => request.headers['authorization'])).toEqual(Array(3).fill('Bearer t'));
    const across = `${here.base}/307/${encodeURIComponent(`${there.base}/302/${encodeURIComponent(`${here.base}/end`)}`)}`;
    (await send(newEgress(), across, { headers })).body.resume();
    const [elsewhere] = there.seen;
    const back = here.seen.at(-1);
    for (const request of [elsewhere, back]) {
      expect(request?.headers).toMatchObject({ 'x-own': '1' });
      expect(Object.keys(request?.headers ?? {})).not.toContain('authorization');
      expect(Object.keys(request?.headers ?? {})).not.toContain('cookie');
    }
    expect(elsewhere?.headers['host']).toBe(new URL(there.base).host);
  });

  test.each([
    ['https://a.example/', 'http://a.example/'],
    ['https://a.example/', 'https://a.example:8443/'],
    ['https://a.example/', 'https://b.a.example/'],
    ['http://a.example/', 'https://a.example/'],
  ])('from %s to %s drops credentials', (from, to) => {
    const headers = ['Authorization', 'COOKIE', 'Proxy-Authorization', 'X-Kept'].map(
      (name) => [name, 'x'] as const,
    );
    const hop = { method: 'GET', url: new URL(from), headers };
    const next = nextHop(hop, 302, [['location', to]], ({ origin }) => origin);
    expect(next?.headers).toEqual([['X-Kept', 'x']]);
  });

  test('may be relative, in UTF-8, and with a fragment, which is not sent', async () => {
    const base = await serve((request, response) => {
      if (request.url === '/a/b')
        response.writeHead(302, { location: Buffer.from('../☃?q=ü#part').toString('latin1') });
      response.end();
    });
    const { url, body } = await send(newEgress(), `${base}/a/b#first`);
    body.resume();
    expect(url).toBe(`${base}/%E2%98%83?q=%C3%BC`);
  });

  test('is followed five times and no more', async () => {
    const chain = (length: number): string =>
      length === 0 ? '/end' : `/302/${encodeURIComponent(chain(length - 1))}`;
    const { base } = await redirecting();
    const egress = newEgress();
    const { status, body } = await send(egress, `${base}${chain(5)}`);
    body.resume();
    expect(status).toBe(200);
    expect((await failure(send(egress, `${base}${chain(6)}`))).message).toBe(
      'The answer redirects too often; the limit is 5 (fetchRedirects).',
    );
  });

  test('in a circle ends', async () => {
    const base = await serve((_request, response) => response.writeHead(307, { location: '/' }).end());
    expect((await failure(send(newEgress(), base))).message).toMatch(/redirects too often/);
  });

  test('without a location is the answer; with two, it is an error', async () => {
    const none = await serve((_request, response) => response.writeHead(302).end('here'));
    const answer = await send(newEgress(), none);
    expect([answer.status, answer.redirected, await text(answer.body)]).toEqual([302, false, 'here']);
    const two = await serve((_request, response) =>
      response
        .writeHead(
          302,
          [
            ['location', '/a'],
            ['location', '/b'],
          ].flat(),
        )
        .end(),
    );
    expect((await failure(send(newEgress(), two))).message).toMatch(/several places/);
  });

  test('is passed to the tenant with redirect: manual', async () => {
    const { base, seen } = await redirecting();
    const url = `${base}/307/${encodeURIComponent('http://10.0.0.1/')}`;
    const response = await send(newEgress(), url, { ...post, redirect: 'manual' });
    expect([response.status, response.redirected, response.url, await text(response.body)]).toEqual([
      307,
      false,
      url,
      'body',
    ]);
    expect(response.headers).toContainEqual(['location', 'http://10.0.0.1/']);
    expect(seen).toHaveLength(1);
  });

  test('is an error with redirect: error', async () => {
    const { base, seen } = await redirecting();
    const error = await failure(send(newEgress(), `${base}/302/%2Fend`, { redirect: 'error' }));
    expect([error.message, seen.length]).toEqual([
      'The answer redirects, which the request does not allow.',
      1,
    ]);
    const plain = await send(newEgress(), `${base}/%2Fend`, { redirect: 'error' });
    expect([plain.status, await text(plain.body)]).toEqual([200, 'body']);
  });

  test('of a streamed body is an error, unless it drops the body', async () => {
    const { base, seen } = await redirecting();
    const stream = () => ({ method: 'POST', body: Readable.from([Buffer.from('data')]) });
    for (const status of [301, 302, 307, 308]) {
      const error = await failure(send(newEgress(), `${base}/${status}/%2Fend`, stream()));
      expect(error).toBeInstanceOf(EgressError);
      expect(error.message).toMatch(/was a stream and cannot be sent again/);
    }
    const { status, body } = await send(newEgress(), `${base}/303/%2Fend`, stream());
    expect([status, await text(body), seen.at(-1)?.method]).toEqual([200, 'body', 'GET']);
  });

  test('with an endless body of its own is followed, and its connection closed', async () => {
    const closed = Promise.withResolvers<void>();
    const base = await serve((request, response) => {
      if (request.url === '/end') return void response.end('there');
      response.writeHead(302, { location: '/end' }).write('x');
      response.once('close', closed.resolve);
    });
    const { body } = await send(newEgress(), base);
    expect(await text(body)).toBe('there');
    await closed.promise;
  });
});
