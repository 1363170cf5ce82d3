/**
 * EventSource of an integration: server-sent events of a server of the test, as the HTML standard
 * reads them.
 */
import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { originOf, serve } from '../../support/library.ts';
import { type Installed, TestService } from '../../support/service.ts';

let annex: TestService;
let server: Server;
let installed: Installed;
let handle: (request: IncomingMessage, response: ServerResponse) => void;

/** Answers with what an EventSource did until it has got `done`, or an error that closed it. */
const CODE = `
  const seen = (source) => new Promise((resolve) => {
    const log = [];
    const end = () => { source.close(); log.push(['end', source.readyState]); resolve(log); };
    source.onopen = () => log.push(['open', source.readyState]);
    source.onmessage = ({ data, lastEventId, origin }) => log.push(['message', data, lastEventId, origin]);
    source.addEventListener('named', ({ type, data, isTrusted }) => log.push([type, data, isTrusted]));
    source.addEventListener('done', end);
    source.onerror = () => {
      log.push(['error', source.readyState]);
      if (source.readyState === EventSource.CLOSED) end();
    };
  });
  let kept;
  export default { async fetch(request) {
    const form = await request.formData();
    const { event } = { event: JSON.parse(form.get('event')) };
    const url = new URL(event.request.url).searchParams.get('url');
    if (event.request.url.includes('keep')) {
      kept = new EventSource(url);
      await new Promise((resolve) => { kept.onopen = resolve; });
      return Response.json(kept.readyState);
    }
    if (event.request.url.includes('state')) return Response.json(kept.readyState);
    const source = new EventSource(url, { withCredentials: true });
    const { readyState, withCredentials } = source;
    return Response.json({ before: [readyState, withCredentials, source.url === url], log: await seen(source) });
  } };`;

beforeAll(async () => {
  annex = await TestService.start({ flags: ['--egress-allow', '127.0.0.1/32'] });
  server = await serve((request, response) => handle(request, response));
  await annex.publish('events-app', { 'index.js': CODE });
  installed = await annex.install('events-app');
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await annex.stop();
});

const call = async (path: string): Promise<unknown> =>
  (
    await fetch(`${installed.endpoint}/${path}?url=${encodeURIComponent(`${originOf(server)}/stream`)}`)
  ).json();

test('events come with their names, ids and lines, and after a break from the last id on', async () => {
  const asked: (string | undefined)[] = [];
  handle = (request, response) => {
    const id = request.headers['last-event-id'] as string | undefined;
    asked.push(id && Buffer.from(id, 'latin1').toString());
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
    if (asked.length === 1) {
      const text =
        ': hi\n\nretry: 1\ndata: größer\r\ndata:  b\r\rid: 7é€\nevent: named\ndata\n\nevent: none\n\ndata: cut';
      const bytes = Buffer.from(`\uFEFF${text}`);
      response.write(bytes.subarray(0, 25));
      response.end(bytes.subarray(25));
    } else response.end('data: again\n\nid\nevent: done\ndata: x\n\n');
  };
  const origin = originOf(server);
  expect(await call('events')).toEqual({
    before: [0, true, true],
    log: [
      ['open', 1],
      ['message', 'größer\n b', '', origin],
      ['named', '', true],
      ['error', 0],
      ['open', 1],
      ['message', 'again', '7é€', origin],
      ['end', 2],
    ],
  });
  expect(asked).toEqual([undefined, '7é€']);
});

test.each([
  ['another type', 200, 'text/plain'],
  ['another status', 204, 'text/event-stream'],
])('an answer of %s closes it for good', async (_what, status, type) => {
  handle = (_request, response) => response.writeHead(status, { 'content-type': type }).end();
  expect(await call('events')).toMatchObject({
    log: [
      ['error', 2],
      ['end', 2],
    ],
  });
});

test('it ends with its call, and so does its connection', async () => {
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  handle = async (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: a\n\n');
    await once(response, 'close');
    resolve();
  };
  expect(await call('keep')).toBe(1);
  await closed;
  expect(await call('state')).toBe(2);
});
