/** A session of `annex dev` with something of everything, for the pictures of its page. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('../../src/local/annex.ts', import.meta.url));

const MANIFEST = `name: orders
title: Orders
description: Keeps orders and invoices in step.
organization: acme
target: space
scopes: [space:content:read]
script: index.tsx
blocks:
  - { id: open-orders, title: Open orders, description: What customers wait for. }
  - { id: order, title: Order, description: One order., urlUnfurl: ['https://shop.example.com'] }
calls: [{ name: owed, description: What a customer owes. }]
schedules: [{ id: report, cron: '0 9 * * 1', timezone: Europe/Berlin, task: { kind: report } }]
configurations:
  account:
    properties:
      greeting: { type: string, title: Greeting, description: The words before the name. }
      channel: { type: string, title: Channel, enum: [news, random] }
      loud: { type: boolean, title: Mention everyone }
  space:
    properties:
      tone: { type: string, title: Tone, enum: [formal, friendly] }
`;
const CODE = `import { createComponent, createIntegration } from '@annex/sdk';
const orders = createComponent({
  componentId: 'open-orders',
  initialState: () => ({ count: 3, name: '' }),
  action: ({ state }, { action }) => {
    if (action === 'break') throw new Error('The order 4711 has no lines');
    console.log('an order was added', { count: state.count + 1 });
    return { state: { count: state.count + 1 } };
  },
  render: ({ state }) => (
    <block>
      <card title={state.count + ' orders wait'} hint="Since this morning" icon="email" />
      <input label="Customer" hint="As on the invoice." element={<textinput state="name" />} />
      <hstack>
        <button label="Add" style="primary" onPress={{ action: 'add' }} />
        <button label="Break" onPress={{ action: 'break' }} />
      </hstack>
    </block>
  ),
});
const order = createComponent({ componentId: 'order', render: () => <block><text>Order 4711</text></block> });
export default createIntegration({
  components: [orders, order],
  calls: { owed: () => ({ owed: 1290, currency: 'EUR' }) },
  async fetch(request, { storage }) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname.endsWith('/missing')) return new Response('none', { status: 404 });
    if (pathname.endsWith('/broken')) throw new Error('The order 4711 has no lines');
    for (const to of searchParams.getAll('to')) await fetch(to).catch(() => undefined);
    for (let line = 1; line <= Number(searchParams.get('lines')); line += 1) console.log('read line', line);
    await storage.put('cursor', 4711);
    console.warn('the order has no customer');
    return Response.json({ ok: true });
  },
  events: { space_content_updated: ({ revisionId }) => console.info('updated', revisionId) },
  task: () => console.info('reported'),
});
`;

export interface DevSession {
  /** Address of the page. */
  readonly page: string;
  end(): Promise<void>;
}

/** @param isEmpty a session whose first save is refused */
export async function devSession(isEmpty = false): Promise<DevSession> {
  const upstream = createServer((request, response) => {
    response.writeHead(request.url?.startsWith('/gone') ? 410 : 200).end('{}');
  });
  await new Promise<void>((listening) => upstream.listen(0, '127.0.0.1', listening));
  const host = `127.0.0.1:${(upstream.address() as AddressInfo).port}`;
  const folder = await mkdtemp(join(tmpdir(), 'annex-'));
  await writeFile(join(folder, 'platform-manifest.yaml'), MANIFEST);
  await writeFile(join(folder, 'index.tsx'), isEmpty ? `${CODE}export const broken = ;\n` : CODE);
  const words = [PROGRAM, 'dev', folder, '--json', '--port', '0', '--page-port', '0'];
  const child = spawn(process.execPath, [...words, '--egress-allow', host], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const next = eventsOf(child);
  const page = String((await next('started'))['page']);
  if (isEmpty) await next('refused');
  else await traffic(String((await next('live'))['endpoint']), host);
  return {
    page,
    async end() {
      child.kill('SIGINT');
      await once(child, 'exit');
      upstream.close();
      upstream.closeAllConnections();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** What others ask of the endpoint. */
async function traffic(endpoint: string, host: string): Promise<void> {
  const reached = [`http://${host}/v2/orders?key=1`, `http://${host}/gone`, 'http://10.0.0.1/'];
  const to = reached.map((url) => `to=${encodeURIComponent(url)}`).join('&');
  await fetch(`${endpoint}/lines?lines=30`);
  await fetch(`${endpoint}/missing`);
  await fetch(new URL('/no-endpoint/hook', endpoint));
  await fetch(`${endpoint}/broken`);
  await fetch(`${endpoint}/hooks/orders?${to}`, { method: 'POST' });
}

type Event = Readonly<Record<string, unknown>>;

/** Waits for events in their order. */
function eventsOf({ stdout }: ChildProcess): (name: string) => Promise<Event> {
  const events: Event[] = [];
  let arrived = Promise.withResolvers<void>();
  createInterface({ input: stdout as NodeJS.ReadableStream }).on('line', (line) => {
    events.push(JSON.parse(line));
    arrived.resolve();
    arrived = Promise.withResolvers();
  });
  return async (name) => {
    for (;;) {
      const event = events.shift();
      if (event?.['event'] === name) return event;
      if (event === undefined) await arrived.promise;
    }
  };
}
