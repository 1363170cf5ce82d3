/**
 * Deliveries followed as server-sent events (docs/contract/webhooks.md#following-deliveries): from
 * the event that is posted to the client that reads.
 */
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { EventReader, type ServerSentEvent } from '../../support/http/event-reader.ts';
import { type Installed, TestService } from '../../support/service.ts';
import { OPERATOR } from '../../support/store/temporary-store.ts';

const LISTENER = `
  import { createIntegration } from '@annex/sdk';
  export default createIntegration({
    events: {
      space_content_updated: () => {},
    },
  });`;

const MANIFEST = `name: listener
title: Listener
description: For a test.
organization: acme
visibility: public
scopes: [space:content:read, space:metadata:read]
script: index.js
`;

interface Change {
  readonly id: string;
  readonly change: string;
  readonly at: string;
  readonly delivery: Readonly<Record<string, unknown>> & { readonly id: string };
  readonly attempt?: Readonly<Record<string, unknown>>;
}

let annex: TestService;
let installed: Installed;
beforeAll(async () => {
  annex = await TestService.start({ limits: { logFollowersPerToken: 2 } });
  const form = new FormData();
  form.append('manifest', MANIFEST);
  form.append('files', new Blob([LISTENER]), 'index.js');
  expect((await annex.api('POST', '/v1/integrations', { form })).status).toBe(201);
  installed = await annex.install('listener', 'acme');
});
afterAll(() => annex?.stop());

async function follow({ query = '', token = annex.admin, headers = {}, service = annex } = {}) {
  const url = `${service.service.controlUrl}/v1/deliveries?follow=true${query}`;
  const reader = await EventReader.open(url, { authorization: `Bearer ${token}`, ...headers });
  onTestFinished(() => reader.close());
  return reader;
}

async function post(count: number, type = 'space_content_updated'): Promise<void> {
  const event = { organization: 'acme', type, spaceId: 'garden', revisionId: 'r1', visibility: 'public' };
  const events = Array.from({ length: count }, () => event);
  const { status } = await annex.api('POST', '/v1/events', { json: { events } });
  expect(status).toBe(202);
}

const changeIn = ({ data }: ServerSentEvent): Change => JSON.parse(data);
const tokenOf = async (organization: string) =>
  (await annex.service.store.tokens.create({ kind: 'organization', organization }, OPERATOR)).token;

test('each change of a delivery is an event, with the delivery and the attempt', async () => {
  const reader = await follow({ query: `&installation=${installed.id}` });
  expect(reader.head.headers.get('content-type')).toBe('text/event-stream');
  await post(1);
  const events = await reader.take(2);
  const [accepted, delivered] = events.map(changeIn);
  expect(events.map(({ id, type }) => [id, type])).toEqual([
    [accepted?.id, 'message'],
    [delivered?.id, 'message'],
  ]);
  expect(accepted).toMatchObject({ change: 'accepted', delivery: { type: 'space_content_updated' } });
  expect(delivered).toEqual({
    id: expect.any(String),
    change: 'delivered',
    at: expect.stringMatching(/Z$/),
    delivery: expect.objectContaining({ id: accepted?.delivery.id, state: 'delivered', attempts: 1 }),
    attempt: {
      ...{ number: 1, result: 'succeeded', outcome: delivered?.delivery['outcome'] },
      ...{ at: expect.stringMatching(/Z$/), durationMs: expect.any(Number) },
      ...(delivered?.attempt?.['status'] !== undefined && { status: delivered.attempt['status'] }),
    },
  });
});

test('10,000 changes arrive in order, and none is lost where the client reconnects', async () => {
  const COUNT = 5_000;
  const query = `&installation=${installed.id}`;
  const first = await follow({ query });
  const posted = (async () => {
    for (let batch = 0; batch < 5; batch += 1) await post(COUNT / 5);
  })();
  const early = await first.take(COUNT / 2);
  first.close();
  const second = await follow({ query, headers: { 'last-event-id': early.at(-1)?.id ?? '' } });
  const late = await second.take(2 * COUNT - early.length);
  await posted;
  const changes = [...early, ...late].map(changeIn);
  expect(new Set(changes.map(({ id }) => id)).size).toBe(2 * COUNT);
  const accepted = changes.filter(({ change }) => change === 'accepted').map(({ delivery }) => delivery.id);
  expect(accepted).toEqual(accepted.toSorted());
  const byDelivery = Map.groupBy(changes, ({ delivery }) => delivery.id);
  expect(byDelivery.size).toBe(COUNT);
  for (const [, own] of byDelivery)
    expect(own.map(({ change }) => change)).toEqual(['accepted', 'delivered']);
});

test('filters are those of the list, and `limit` brings the changes of the newest deliveries first', async () => {
  await post(2);
  await expect.poll(() => annex.metric('annex_deliveries_waiting')).toBe(0);
  const reader = await follow({ query: '&state=delivered&limit=2&organization=acme' });
  const before = (await reader.take(2)).map(changeIn);
  expect(before.map(({ change }) => change)).toEqual(['delivered', 'delivered']);
  await post(1);
  expect((await reader.take(1)).map(changeIn)).toMatchObject([{ change: 'delivered' }]);
});

test.each([
  ['a cursor', '&cursor=AAAAAAAA', {}],
  ['a time', '&from=2026-01-01T00:00:00Z', {}],
  ['a Last-Event-ID that is none', '', { 'last-event-id': 'nothing' }],
])('%s is refused', async (_, query, headers) => {
  const { head } = await follow({ query, headers });
  expect([head.status, await head.json()]).toMatchObject([400, { error: { code: 'REQUEST_INVALID' } }]);
});

test('an organization follows its own deliveries alone', async () => {
  expect((await follow({ token: await tokenOf('rival'), query: '&organization=acme' })).head.status).toBe(
    403,
  );
  const query = `&installation=${installed.id}`;
  expect((await follow({ token: await tokenOf('rival'), query })).head.status).toBe(404);
  const rival = await follow({ token: await tokenOf('rival') });
  const own = await follow({ token: await tokenOf('acme') });
  await post(1);
  expect(await own.take(2)).toHaveLength(2);
  rival.close();
  expect(rival.comments).toBeLessThanOrEqual(1);
});

test('followers are bounded for one token, together with those of logs', async () => {
  const token = await tokenOf('acme');
  await follow({ token });
  const url = `${annex.service.controlUrl}/v1/logs?installation=${installed.id}&follow=true`;
  const log = await EventReader.open(url, { authorization: `Bearer ${token}` });
  onTestFinished(() => log.close());
  const { head } = await follow({ token });
  expect([head.status, await head.json()]).toMatchObject([
    503,
    { error: { code: 'LOG_BUSY', limit: { name: 'logFollowersPerToken' } } },
  ]);
});

test('a stream ends when its token is revoked', async () => {
  const { body } = await annex.api('POST', '/v1/tokens', { json: { kind: 'platform' } });
  const reader = await follow({ token: String(body['token']) });
  expect((await annex.api('DELETE', `/v1/tokens/${body['id']}`)).status).toBe(204);
  expect(await reader.next()).toEqual({ type: 'end', id: '', data: '{"reason":"revoked"}' });
});

test('a client that does not read is dropped, and the last event says so', async () => {
  const { hostname, port } = new URL(annex.service.controlUrl);
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  socket.pause();
  socket.write(
    `GET /v1/deliveries?follow=true HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${annex.admin}\r\nconnection: close\r\n\r\n`,
  );
  // The sockets of both sides hold some of it.
  await expect
    .poll(
      async () => {
        await post(1_000);
        return annex.metric('annex_limits_met_total{limit="logFollowerBufferBytes"}');
      },
      { timeout: 100_000 },
    )
    .toBe(1);
  let text = '';
  for await (const piece of socket.setEncoding('latin1').resume()) text += piece;
  expect(text).toContain('event: dropped\ndata: {"reason":"slow"}\n\n');
});
