/**
 * A product that is slow, down or hostile: every call to it ends in time, within its bounds, with
 * an error that says whose fault it is, and a line in the log of the installation.
 */
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FakeProduct } from '../../support/http/fake-product.ts';
import { type Installed, TestService } from '../../support/service.ts';

const CALLER = `import { createIntegration } from '@annex/sdk';
export default createIntegration({ fetch: async (request, { environment }) => {
  const { path, method = 'GET', body } = await request.json();
  const headers = { authorization: 'Bearer ' + environment.apiTokens.installation };
  try {
    const answer = await fetch(environment.apiEndpoint + path,
      { method, headers, redirect: 'manual', ...(body && { body: 'x'.repeat(body) }) });
    const { status } = answer;
    const text = await answer.text();
    return Response.json({ status, location: answer.headers.get('location'), length: text.length,
      names: [...answer.headers.keys()], text: text.slice(0, 2000) });
  } catch (error) {
    return Response.json({ broke: error.message });
  }
} });`;

const LIMITS = {
  ...{ productFirstByteMs: 400, productMs: 800, productConnectMs: 300 },
  ...{ productRequestBodyBytes: 20_000, productResponseBodyBytes: 20_000 },
  ...{ productRequestsInFlight: 4, productRequestsInFlightPerInstallation: 2 },
};

interface Answer {
  readonly status?: number;
  readonly broke?: string;
  readonly location?: string;
  readonly length: number;
  readonly names: readonly string[];
  readonly text: string;
}

describe('a hostile product', () => {
  let product: FakeProduct;
  let elsewhere: string;
  let service: TestService;
  let own: Installed;
  /** Requests to a server that is not the product. */
  const strays: string[] = [];
  const other = createServer((request, response) => {
    strays.push(String(request.url));
    response.end();
  });

  const hostile: (...args: Parameters<RequestListener>) => boolean = (request, response) => {
    const path = String(request.url).slice('/v1/'.length);
    const answers: Record<string, () => void> = {
      silent: () => undefined,
      'half-answer': () => void response.writeHead(200).write('x'),
      endless: () => {
        response.writeHead(200);
        const more = () => {
          while (!response.destroyed && response.write('x'.repeat(4_000)));
        };
        response.on('drain', more);
        more();
      },
      announced: () => response.writeHead(200, { 'content-length': 20_001 }).end('x'.repeat(20_001)),
      exact: () => response.writeHead(200, { 'content-length': 20_000 }).end('x'.repeat(20_000)),
      'no-http': () => request.socket.end('SSH-2.0-hello\r\n'),
      gone: () => request.socket.destroy(),
      'large-head': () => response.writeHead(200, { 'x-large': 'x'.repeat(40_000) }).end(),
      interim: () => {
        for (let count = 0; count < 20; count += 1) request.socket.write('HTTP/1.1 100 Continue\r\n\r\n');
      },
      'status-999': () => request.socket.end('HTTP/1.1 999 Much\r\ncontent-length: 0\r\n\r\n'),
      redirect: () => response.writeHead(302, { location: `${elsewhere}/stray` }).end(),
      'for-the-origin': () => {
        const pages = {
          'access-control-allow-origin': '*',
          'content-security-policy': 'x',
          'set-cookie': 'a=1',
        };
        const origin = { 'clear-site-data': '"*"', 'alt-svc': 'h3=":1"' };
        response.setHeader('link', ['<a>', '<b>']);
        response.writeHead(200, { ...pages, ...origin }).end('fine');
      },
      missing: () => response.writeHead(404).end('{"error":{"code":404}}'),
      'no-content': () => response.writeHead(204).end(),
    };
    const answer = answers[path];
    answer?.();
    return answer !== undefined;
  };

  beforeAll(async () => {
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    elsewhere = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    product = await FakeProduct.start(hostile);
    service = await TestService.start({ flags: ['--product-api', product.url], limits: LIMITS });
    await service.publish('caller', { 'index.js': CALLER });
    own = await service.install('caller');
  });
  afterAll(async () => {
    await service.stop();
    await product.close();
    other.close();
  });

  const ask = async (path: string, rest: { method?: string; body?: number } = {}, from = own) =>
    (await (
      await fetch(`${from.endpoint}/`, {
        method: 'POST',
        body: JSON.stringify({ path: `/${path}`, ...rest }),
      })
    ).json()) as Answer;
  const errorOf = ({ text }: Answer) =>
    (JSON.parse(text) as { error: { code: string; limit?: { name: string; max: number } } }).error;
  const tokenOf = async (): Promise<string> => {
    const target = await service.service.targets.named({
      installationId: own.id,
      level: 'organization',
      place: '',
    });
    return String(target?.environment.apiTokens.installation);
  };

  test.each([
    ['silent', 504, 'PRODUCT_TIMED_OUT', 'productFirstByteMs'],
    ['announced', 502, 'PRODUCT_FAILED', 'productResponseBodyBytes'],
    ['large-head', 502, 'PRODUCT_FAILED', 'fetchHeaderBytes'],
    ['no-http', 502, 'PRODUCT_FAILED', undefined],
    ['gone', 502, 'PRODUCT_FAILED', undefined],
    ['interim', 502, 'PRODUCT_FAILED', undefined],
    ['status-999', 502, 'PRODUCT_FAILED', undefined],
  ])('that is "%s" is answered for with %i %s, in the log of the installation', async (path, ...expected) => {
    const [status, code, limit] = expected;
    const installed = await service.install('caller');
    const answer = await ask(path, {}, installed);
    expect(answer.status).toBe(status);
    const error = errorOf(answer);
    expect([error.code, error.limit?.name]).toEqual([code, limit]);
    expect(answer.text).not.toContain(`:${new URL(product.url).port}`);
    const lines = (await service.log(installed)).map(({ level, text }) => `${level}: ${text}`);
    expect(lines).toEqual([expect.stringMatching(`^warn: The product's API: GET /v1/${path}: ${code}\\. `)]);
    expect(lines.join()).not.toContain(`:${new URL(product.url).port}`);
  });

  test.each([
    ['endless', 'productResponseBodyBytes'],
    ['half-answer', 'productMs'],
  ])('whose answer is "%s" ends at its bound, and the log names %s once', async (path, limit) => {
    const installed = await service.install('caller');
    const { status, broke } = await ask(path, {}, installed);
    // Where the bound is met before the head is passed on, there is an answer yet.
    if (status === undefined) expect(broke).toBe('The connection ended before the answer was complete.');
    else expect(status).toBe(502);
    const lines = (await service.log(installed)).map(({ text }) => text);
    expect(lines.filter((text) => text.includes(`PRODUCT_`) && text.includes(limit))).toHaveLength(1);
    expect(await service.metric(`annex_limits_met_total{limit="${limit}"}`)).toBeGreaterThan(0);
  });

  test('productResponseBodyBytes, productRequestBodyBytes: what they allow passes, in full', async () => {
    expect(await ask('exact')).toMatchObject({ status: 200, length: 20_000 });
    expect(await ask('stored', { method: 'POST', body: 20_000 })).toMatchObject({ status: 200 });
    expect(product.last?.body).toHaveLength(20_000);
    const over = await ask('stored', { method: 'POST', body: 20_001 });
    expect([over.status, errorOf(over).limit]).toEqual([
      413,
      { name: 'productRequestBodyBytes', max: 20_000 },
    ]);
  });

  test('attack: a body in chunks, without a length, is bounded too', async () => {
    const authorization = `Bearer ${await tokenOf()}`;
    const body = new ReadableStream({
      start(controller) {
        for (let count = 0; count < 6; count += 1) controller.enqueue(new Uint8Array(4_000));
        controller.close();
      },
    });
    const request = { method: 'POST', headers: { authorization }, body, duplex: 'half' };
    const answer = await fetch(`${service.service.controlUrl}/v1/stored`, request as RequestInit);
    expect(answer.status).toBe(413);
    expect(((await answer.json()) as { error: { code: string } }).error.code).toBe('REQUEST_TOO_LARGE');
  });

  test('attack: a client that does not finish its body is at fault itself', async () => {
    const authorization = `Bearer ${await tokenOf()}`;
    const body = new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array(1)) });
    const request = { method: 'POST', headers: { authorization }, body, duplex: 'half' };
    const answer = await fetch(`${service.service.controlUrl}/v1/stored`, request as RequestInit);
    expect(answer.status).toBe(408);
  });

  test('a redirect is passed back as it is, and nothing follows it', async () => {
    expect(await ask('redirect')).toMatchObject({ status: 302, location: `${elsewhere}/stray` });
    expect(strays).toEqual([]);
  });

  test('its errors are its own: they pass as they are, and leave no line', async () => {
    const installed = await service.install('caller');
    expect(await ask('missing', {}, installed)).toMatchObject({
      status: 404,
      text: '{"error":{"code":404}}',
    });
    expect(await ask('no-content', {}, installed)).toMatchObject({ status: 204, length: 0 });
    expect(await ask('exact', { method: 'HEAD' }, installed)).toMatchObject({ status: 200, length: 0 });
    expect(await service.log(installed)).toEqual([]);
  });

  test('attack: headers that mean something for the origin of the API do not pass', async () => {
    const authorization = `Bearer ${await tokenOf()}`;
    const answer = await fetch(`${service.service.controlUrl}/v1/for-the-origin`, {
      headers: { authorization },
    });
    const names = ['access-control-allow-origin', 'set-cookie', 'clear-site-data', 'alt-svc'];
    expect(names.filter((name) => answer.headers.has(name))).toEqual([]);
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(answer.headers.get('link')).toBe('<a>, <b>');
  });

  test('productRequestsInFlightPerInstallation: one more is refused at once, others are not', async () => {
    const installed = await service.install('caller');
    const two = [ask('silent', {}, installed), ask('silent', {}, installed)];
    await expect.poll(() => service.metric('annex_product_requests_in_flight')).toBe(2);
    const third = await ask('fine', {}, installed);
    const { code, limit } = errorOf(third);
    expect([third.status, code, limit]).toEqual([
      ...[503, 'PRODUCT_BUSY', { name: 'productRequestsInFlightPerInstallation', max: 2 }],
    ]);
    expect((await ask('fine')).status).toBe(200);
    for (const { status } of await Promise.all(two)) expect(status).toBe(504);
  });

  test('productRequestsInFlight: of all together, one more is refused at once', async () => {
    const another = await service.install('caller');
    const others = [await service.install('caller'), await service.install('caller')];
    const four = [ask('half-answer', {}, another), ask('half-answer', {}, another)];
    await expect.poll(() => service.metric('annex_product_requests_in_flight')).toBe(2);
    four.push(...others.map((from) => ask('half-answer', {}, from)));
    await expect.poll(() => service.metric('annex_product_requests_in_flight')).toBe(4);
    const { code, limit } = errorOf(await ask('fine'));
    expect([code, limit]).toEqual(['PRODUCT_BUSY', { name: 'productRequestsInFlight', max: 4 }]);
    await Promise.all(four);
    await expect.poll(() => service.metric('annex_product_requests_in_flight')).toBe(0);
    expect((await ask('fine')).status).toBe(200);
  });

  test('attack: installations of one organization leave places for others', async () => {
    await service.publish('second', { 'index.js': CALLER });
    const [one, two] = [await service.install('caller', 'busy'), await service.install('second', 'busy')];
    const held = [ask('half-answer', {}, one), ask('half-answer', {}, two)];
    await expect.poll(() => service.metric('annex_product_requests_in_flight')).toBe(2);
    const { code, limit } = errorOf(await ask('fine', {}, one));
    expect([code, limit]).toEqual(['PRODUCT_BUSY', { name: 'productRequestsInFlight', max: 4 }]);
    expect((await ask('fine')).status).toBe(200);
    await Promise.all(held);
  });

  test('a caller that leaves ends its request to the product', async () => {
    const authorization = `Bearer ${await tokenOf()}`;
    const left = new AbortController();
    const asked = fetch(`${service.service.controlUrl}/v1/half-answer`, {
      ...{ headers: { authorization }, signal: left.signal },
    });
    await asked;
    left.abort();
    await expect.poll(() => service.metric('annex_product_requests_in_flight')).toBe(0);
    expect(await service.metric('annex_product_requests_total{result="canceled"}')).toBeGreaterThan(0);
  });

  test('attack: failures without end leave a bounded number of lines', async () => {
    const installed = await service.install('caller');
    for (let count = 0; count < 30; count += 1) await ask('gone', {}, installed);
    const lines = await service.log(installed);
    expect(lines.length).toBeLessThanOrEqual(20);
  });
});

test('productConnectMs: a product that accepts connections and says nothing is given up', async () => {
  // It accepts connections, and says nothing while TLS begins.
  const server = createTcpServer(() => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const base = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const service = await TestService.start({ flags: ['--product-api', base], limits: LIMITS });
  await service.publish('caller', { 'index.js': CALLER });
  const own = await service.install('caller');
  const asking = { method: 'POST', body: JSON.stringify({ path: '/spaces' }) };
  const answer = (await (await fetch(`${own.endpoint}/`, asking)).json()) as Answer;
  expect(answer.status).toBe(504);
  expect(answer.text).toContain('(productConnectMs)');
  await service.stop();
  server.close();
});

test('a product that is down is answered for with 502, and serves again as soon as it is up', async () => {
  const product = await FakeProduct.start();
  const service = await TestService.start({ flags: ['--product-api', product.url] });
  await service.publish('caller', { 'index.js': CALLER });
  const own = await service.install('caller');
  const asking = { method: 'POST', body: JSON.stringify({ path: '/spaces' }) };
  const ask = async () => (await (await fetch(`${own.endpoint}/`, asking)).json()) as Answer;
  expect((await ask()).status).toBe(200);
  await product.close();
  const down = await ask();
  expect([down.status, down.text.includes('PRODUCT_FAILED')]).toEqual([502, true]);
  const again = await FakeProduct.start(undefined, Number(new URL(product.url).port));
  expect((await ask()).status).toBe(200);
  await service.stop();
  await again.close();
});
