/**
 * The log of an installation, followed as server-sent events
 * (docs/contract/calls.md#following-a-log): from the code that logs to the client that reads.
 */
import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import type { Limits } from '../../../src/limits.ts';
import { integrationTenant } from '../../../src/model/target.ts';
import type { LogLevel } from '../../../src/protocol/wire.ts';
import { EventReader, type ServerSentEvent } from '../../support/http/event-reader.ts';
import { type Installed, startTestService, type TestService } from '../../support/service.ts';
import { OPERATOR } from '../../support/store/temporary-store.ts';

const COUNTER = `
  import { createIntegration } from '@annex/sdk';
  export default createIntegration({
    fetch(request) {
      const { searchParams } = new URL(request.url);
      const from = Number(searchParams.get('from'));
      for (let number = from; number < from + 250; number += 1) console.log(number);
      return new Response('counted');
    },
  });`;

interface Scene {
  readonly annex: TestService;
  readonly installed: Installed;
  follow(options?: Follow): Promise<EventReader>;
  /** Writes lines at once, as a call does within a quarter of a second. */
  write(texts: readonly string[], level?: LogLevel): Promise<void>;
}

interface Follow {
  readonly query?: string;
  readonly headers?: Record<string, string>;
  readonly token?: string;
  readonly id?: string;
}

async function scene(limits: Partial<Limits> = {}): Promise<Scene> {
  const annex = await startTestService({ limits });
  const installed = await annex.deploy('counter', COUNTER);
  return {
    annex,
    installed,
    async follow({ query = '&follow=true', headers = {}, token = annex.admin, id = installed.id } = {}) {
      const url = `${annex.service.controlUrl}/v1/logs?installation=${id}${query}`;
      const reader = await EventReader.open(url, { authorization: `Bearer ${token}`, ...headers });
      onTestFinished(() => reader.close());
      return reader;
    },
    write(texts, level = 'info') {
      const line = { tenant: installed.id, version: 1, requestId: 'r', level, at: Date.now() };
      for (const text of texts) annex.service.store.logs.append({ ...line, text });
      return annex.service.store.logs.pass();
    },
  };
}

const textIn = ({ data }: ServerSentEvent): string => JSON.parse(data).text;
const numbers = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => `${from + index}`);

test('10,000 lines arrive in order, and none is lost where the client reconnects', async () => {
  const { annex, installed, follow } = await scene({ logLinesPerInstallation: 10_000 });
  const call = async (first: number, end: number) => {
    for (let from = first; from < end; from += 250) {
      const answer = await fetch(`${installed.endpoint}/?from=${from}`);
      expect(answer.status).toBe(200);
      // A log that is written faster than a busy database takes it drops lines beyond its buffer.
      if (from % 1_000 === 0) await annex.service.store.logs.pass();
    }
  };
  // The first lines are written before the client follows.
  await call(0, 250);
  const first = await follow({ query: '&follow=true&limit=100' });
  // While no client follows, no more are written than the buffer of a log holds.
  const begun = call(250, 4_000);
  const early = await first.take(3_000);
  first.close();
  await annex.service.store.logs.pass();
  const second = await follow({ headers: { 'last-event-id': early.at(-1)?.id ?? '' } });
  const calls = begun.then(() => call(4_000, 10_000));
  const late = await second.take(10_000 - 1 - Number(textIn(early.at(-1) as ServerSentEvent)));
  await calls;
  const texts = [...early, ...late].map(textIn);
  expect(texts).toEqual(numbers(Number(texts[0]), texts.length));
  expect(texts.at(-1)).toBe('9999');
});

test('a log is followed by `Accept` or by `follow`, and listed otherwise', async () => {
  const { follow, write } = await scene();
  for (const how of [
    { query: '', headers: { accept: 'text/event-stream' } },
    { query: '&follow=true' },
    { query: '', headers: { accept: 'text/html;q=0.5, Text/Event-Stream;q=0.9' } },
  ]) {
    const reader = await follow(how);
    expect(reader.head.headers.get('content-type')).toBe('text/event-stream');
    await write(['here']);
    const event = await reader.next();
    expect([event?.type, JSON.parse(event?.data ?? '')]).toEqual([
      'message',
      expect.objectContaining({ id: event?.id, level: 'info', text: 'here', version: 1, requestId: 'r' }),
    ]);
    reader.close();
  }
  const listed = await follow({ query: '&follow=false', headers: { accept: 'text/event-stream' } });
  expect(listed.head.headers.get('content-type')).toContain('application/json');
});

test('lines below the level are left out, and earlier ones come first where `limit` asks for them', async () => {
  const { follow, write } = await scene();
  await write(['before 1', 'before 2', 'before 3'], 'warn');
  await write(['quiet']);
  const reader = await follow({ query: '&follow=true&level=warn&limit=2' });
  // What is written while they are read may be one of the newest lines.
  expect((await reader.take(2)).map(textIn)).toEqual(['before 2', 'before 3']);
  await write(['quiet too']);
  await write(['loud'], 'error');
  expect((await reader.take(1)).map(textIn)).toEqual(['loud']);
});

test('a stream begins with a hundred earlier lines at most', async () => {
  const { follow, write } = await scene();
  await write(numbers(1, 120));
  const reader = await follow({ query: '&follow=true&limit=1000' });
  expect((await reader.take(100)).map(textIn)).toEqual(numbers(21, 100));
  await write(['121']);
  expect((await reader.take(1)).map(textIn)).toEqual(['121']);
});

test('a client that comes back after its last line was removed gets `gap`, then what is kept', async () => {
  const { follow, write } = await scene({ logLinesPerInstallation: 3 });
  const reader = await follow();
  await write(['1']);
  const [seen] = await reader.take(1);
  reader.close();
  // A log that is followed keeps ten times as many.
  for (let number = 2; number <= 40; number += 3) await write(numbers(number, 3));
  const again = await follow({ headers: { 'last-event-id': seen?.id ?? '' } });
  expect((await again.next())?.type).toBe('gap');
  expect((await again.take(30)).map(textIn)).toEqual(numbers(11, 30));
});

test('a client that comes back to a log misses none of ten times the lines that others keep', async () => {
  const { follow, write } = await scene({ logLinesPerInstallation: 100 });
  const reader = await follow();
  await write(['0']);
  const [seen] = await reader.take(1);
  reader.close();
  // With the one that the client has, these are fewer than a thousand.
  for (let number = 1; number <= 901; number += 50) await write(numbers(number, 50));
  const again = await follow({ headers: { 'last-event-id': seen?.id ?? '' } });
  expect((await again.take(950)).map(textIn)).toEqual(numbers(1, 950));
});

test('a followed log is written before its buffer is full', async () => {
  const { annex, installed, follow } = await scene({ logLinesPerInstallation: 100 });
  const reader = await follow();
  const { logs } = annex.service.store;
  const line = { tenant: installed.id, version: 1, requestId: 'r', level: 'info', at: 0 } as const;
  for (const text of numbers(0, 1_000)) {
    logs.append({ ...line, text });
    // Lines of a call arrive over many turns of the event loop.
    if (Number(text) % 50 === 49) await logs.pass();
  }
  expect((await reader.take(1_000)).map(textIn)).toEqual(numbers(0, 1_000));
});

test.each([
  ['a cursor', '&follow=true&cursor=AAAAAAAA', {}],
  ['a Last-Event-ID that is none', '&follow=true', { 'last-event-id': "0' OR 1=1" }],
  ['another value of follow', '&follow=perhaps', {}],
])('%s is refused', async (_, query, headers) => {
  const { follow } = await scene();
  const { head } = await follow({ query, headers });
  expect([head.status, await head.json()]).toMatchObject([400, { error: { code: 'REQUEST_INVALID' } }]);
});

test('a log is followed by those who may list it, and by no other', async () => {
  const { annex, installed, follow } = await scene();
  const tokenOf = async (organization: string) =>
    (await annex.service.store.tokens.create({ kind: 'organization', organization }, OPERATOR)).token;
  expect((await follow({ token: await tokenOf('acme') })).head.status).toBe(200);
  expect((await follow({ token: await tokenOf('rival') })).head.status).toBe(404);

  // HEAD has no body that could end with its client.
  const url = `${annex.service.controlUrl}/v1/logs?installation=${installed.id}&follow=true`;
  const head = await fetch(url, { method: 'HEAD', headers: { authorization: `Bearer ${annex.admin}` } });
  expect(head.headers.get('content-type')).toContain('application/json');
});

test('a stream ends when its token is revoked, when the installation is removed, and when the service stops', async () => {
  const { annex, installed, follow } = await scene();
  const { body } = await annex.api('POST', '/v1/tokens', { json: { kind: 'platform' } });
  const revoked = await follow({ token: String(body['token']) });
  const other = await follow();
  expect((await annex.api('DELETE', `/v1/tokens/${body['id']}`)).status).toBe(204);
  const end = (reason: string) => ({ type: 'end', id: '', data: JSON.stringify({ reason }) });
  expect([await revoked.next(), await revoked.next()]).toEqual([end('revoked'), undefined]);
  const path = `/v1/integrations/counter/installations/${installed.id}`;
  expect((await annex.api('DELETE', path)).status).toBe(204);
  expect([await other.next(), await other.next()]).toEqual([end('removed'), undefined]);
  const second = await annex.install('counter');
  const stopped = await follow({ id: second.id });
  await annex.service.stop();
  expect([await stopped.next(), await stopped.next()]).toEqual([end('stopping'), undefined]);
});

test("the log of an integration's own endpoint is followed by its owner", async () => {
  const { annex } = await scene();
  const { tokens, registry, logs } = annex.service.store;
  const open = async (organization: string) => {
    const { token } = await tokens.create({ kind: 'organization', organization }, OPERATOR);
    const url = `${annex.service.controlUrl}/v1/logs?integration=counter&follow=true`;
    const reader = await EventReader.open(url, { authorization: `Bearer ${token}` });
    onTestFinished(() => reader.close());
    return reader;
  };
  expect((await open('rival')).head.status).toBe(404);
  const owner = await open('acme');
  const { endpointKey = '' } = (await registry.integration('counter')) ?? {};
  logs.append({
    ...{ tenant: integrationTenant(endpointKey), version: 1, requestId: 'r' },
    ...{ level: 'info', text: 'whole', at: Date.now() },
  });
  await logs.pass();
  const { data = '' } = (await owner.next()) ?? {};
  expect(JSON.parse(data)).toMatchObject({ integration: 'counter', text: 'whole' });
  expect(data).not.toContain(endpointKey);
});

test('followers are bounded: in all, for one installation, and for one token of an organization', async () => {
  const limits = { logFollowers: 7, logFollowersPerInstallation: 6, logFollowersPerToken: 2 };
  const { annex, follow } = await scene(limits);
  const { token } = await annex.service.store.tokens.create(
    { kind: 'organization', organization: 'acme' },
    OPERATOR,
  );
  const refusal = async ({ head }: EventReader) => {
    const { error } = (await head.json()) as { error: { code: string; limit: { name: string } } };
    return [head.status, error.code, error.limit.name, head.headers.get('retry-after')];
  };
  const first = await follow({ token });
  await follow({ token });
  expect(await refusal(await follow({ token }))).toEqual([503, 'LOG_BUSY', 'logFollowersPerToken', '5']);
  for (let more = 0; more < 4; more += 1) await follow();
  expect(await refusal(await follow())).toEqual([503, 'LOG_BUSY', 'logFollowersPerInstallation', '5']);
  const { id } = await annex.install('counter');
  expect((await follow({ id })).head.status).toBe(200);
  expect(await refusal(await follow({ id }))).toEqual([503, 'LOG_BUSY', 'logFollowers', '5']);
  // A client that hangs up frees its place.
  first.close();
  await expect.poll(async () => (await follow({ id })).head.status).toBe(200);
});

test('a client that does not read is dropped, and the last event says so', async () => {
  const { annex, installed, write } = await scene({ logFollowerBufferBytes: 1_000 });
  const { hostname, port } = new URL(annex.service.controlUrl);
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  socket.pause();
  const path = `/v1/logs?installation=${installed.id}&follow=true`;
  socket.write(
    `GET ${path} HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${annex.admin}\r\nconnection: close\r\n\r\n`,
  );
  // The sockets of both sides hold some of it.
  await expect
    .poll(async () => {
      await write(Array.from({ length: 30 }, () => 'x'.repeat(8_000)));
      return annex.metric('annex_limits_met_total{limit="logFollowerBufferBytes"}');
    })
    .toBe(1);
  let text = '';
  for await (const piece of socket.setEncoding('latin1').resume()) text += piece;
  expect(text).toContain('event: dropped\ndata: {"reason":"slow"}\n\n');
});
