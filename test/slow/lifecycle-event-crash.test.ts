/**
 * Lifecycle events and crashes of the host: every committed change has its event after the restart,
 * and no other change has.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { HttpReceiver } from '../support/receivers/http-receiver.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

/** Handles events slowly, and answers requests with the ids that it has handled. */
const RECORDER = `
  import { createIntegration } from '@annex/sdk';
  const handled = [];
  export default createIntegration({
    fetch: async () => Response.json(handled),
    events: {
      async installation_setup(event) {
        await new Promise((done) => setTimeout(done, 30));
        handled.push(event.eventId);
        console.log(event.eventId);
      },
    },
  });`;

const MANIFEST = `
name: recorder
title: Recorder
description: Records events.
organization: acme
visibility: public
scopes: []
script: index.js
configurations:
  account:
    properties:
      count: { type: number, title: Count, description: How many, default: 0 }
`;

interface Host {
  readonly child: ChildProcess;
  readonly control: string;
  readonly token: string;
  readonly exited: Promise<unknown>;
}

async function start(data: string, more: readonly string[] = []): Promise<Host> {
  const flags = ['--data', data, '--control-port', '0', '--public-port', '0', '--public-host', '127.0.0.1'];
  const child = spawn(process.execPath, [MAIN, ...flags, '--cells', '1', ...more], { detached: true });
  onTestFinished(() => void child.kill('SIGKILL'));
  const { promise: ready, resolve } = Promise.withResolvers<{ control: string }>();
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      const line = output.split('\n').find((candidate) => candidate.includes('"annex is ready"'));
      if (line) resolve(JSON.parse(line));
    });
  }
  const exited = new Promise((done) => child.once('close', done));
  const early = exited.then(() => Promise.reject(new Error(`It ended before it was ready: ${output}`)));
  const { control } = await Promise.race([ready, early]);
  early.catch(() => undefined);
  const token = (await readFile(join(data, 'admin-token'), 'utf8')).trim();
  return { child, control, token, exited };
}

async function send(
  { control, token }: Host,
  method: string,
  path: string,
  body?: FormData | object,
): Promise<Record<string, unknown>> {
  const isForm = body instanceof FormData;
  const response = await fetch(`${control}/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body && !isForm && { 'content-type': 'application/json' }),
    },
    ...(body && { body: isForm ? body : JSON.stringify(body) }),
  });
  const answer = { ...((await response.json()) as object), etag: response.headers.get('etag') };
  if (!response.ok)
    throw new Error(`${method} ${path} answered ${response.status}: ${JSON.stringify(answer)}`);
  return answer;
}

interface LifecycleEvent {
  readonly id: string;
  readonly state: string;
}

/** All events of an installation, oldest first. */
async function eventsOf(host: Host, installation: string): Promise<LifecycleEvent[]> {
  const all: LifecycleEvent[] = [];
  let cursor = '';
  do {
    const page = await send(host, 'GET', `/events?installation=${installation}&limit=100${cursor}`);
    all.push(...(page['items'] as LifecycleEvent[]));
    cursor = page['next'] === undefined ? '' : `&cursor=${page['next']}`;
  } while (cursor !== '');
  return all.reverse();
}

async function dataFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'annex-life-events-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return join(folder, 'data');
}

interface Recorder {
  readonly id: string;
  readonly path: string;
}

async function installRecorder(host: Host, source = RECORDER): Promise<Recorder> {
  const form = new FormData();
  form.append('manifest', MANIFEST);
  form.append('files', new Blob([source]), 'index.js');
  await send(host, 'POST', '/integrations', form);
  const organization = 'acme';
  const installed = await send(host, 'POST', '/integrations/recorder/installations', { organization });
  const id = String(installed['id']);
  return { id, path: `/integrations/recorder/installations/${id}` };
}

/**
 * Edits from several clients, without pause, until the host has ended. @returns how many edits were
 * answered
 */
async function editUntilTheEnd(
  host: Host,
  { path }: Recorder,
  endIt: (answered: number) => void,
): Promise<number> {
  let answered = 0;
  const writers = Array.from({ length: 4 }, async (_, writer) => {
    for (let count = 1; ; count += 1) {
      await send(host, 'PATCH', path, { configuration: { count: writer * 100_000 + count } });
      answered += 1;
      endIt(answered);
    }
  });
  await Promise.allSettled(writers);
  await host.exited;
  return answered;
}

/** All events of an installation, oldest first, once each was delivered. */
async function allDelivered(host: Host, { id }: Recorder): Promise<LifecycleEvent[]> {
  const undelivered = async () => (await eventsOf(host, id)).filter(({ state }) => state !== 'delivered');
  await expect.poll(undelivered).toEqual([]);
  return eventsOf(host, id);
}

test('a host that is killed during edits delivers an event for every committed change, and no other', async () => {
  const data = await dataFolder();
  const first = await start(data);
  const recorder = await installRecorder(first);
  const answered = await editUntilTheEnd(
    first,
    recorder,
    (so) => void (so === 60 && first.child.kill('SIGKILL')),
  );

  const second = await start(data);
  const events = await allDelivered(second, recorder);
  const { etag, urls } = (await send(second, 'GET', recorder.path)) as {
    etag: string;
    urls: { publicEndpoint: string };
  };
  // One for the installation, and one for each committed edit: all that were answered, and some
  // that were not.
  expect(events).toHaveLength(Number(/-(\d+)"$/.exec(etag)?.[1]));
  expect(events.length).toBeGreaterThanOrEqual(1 + answered);
  expect(new Set(events.map((event) => event.id)).size).toBe(events.length);

  // The second process has delivered the last events of the list, in order, each once.
  const handled = (await (await fetch(urls.publicEndpoint)).json()) as string[];
  expect(handled.length).toBeGreaterThan(0);
  expect(handled).toEqual(events.slice(-handled.length).map((event) => event.id));
});

test('an orderly stop lets the handler in flight finish; the next process delivers the other events, each once', async () => {
  const data = await dataFolder();
  const first = await start(data);
  const recorder = await installRecorder(first);
  await editUntilTheEnd(first, recorder, (so) => void (so === 20 && first.child.kill('SIGTERM')));
  expect(first.child.exitCode).toBe(0);

  const second = await start(data);
  const events = await allDelivered(second, recorder);
  // Lines are readable a little after they are written.
  const logged = async () => {
    const { items } = await send(second, 'GET', `/logs?installation=${recorder.id}&limit=100`);
    return (items as { text: string }[]).map(({ text }) => text).reverse();
  };
  await expect.poll(logged).toEqual(events.map((event) => event.id));
});

/** Posts the id of each event to a ledger: `statement` decides when. */
const ledgerSource = (statement: string): string => `
  import { createIntegration } from '@annex/sdk';
  export default createIntegration({
    fetch: async () => new Response('Nothing here.'),
    events: {
      async installation_setup(event, context) {
        const post = () => fetch(LEDGER, { method: 'POST', body: event.eventId });
        ${statement}
      },
    },
  });`;

/** Ids of the events that are delivered according to the database of a killed host. */
function delivered(data: string): string[] {
  const database = new DatabaseSync(join(data, 'annex.db'), { readOnly: true });
  try {
    const rows = database
      .prepare(`select event_id, outcome from life_events where state = 'delivered'`)
      .all();
    return rows.map(({ event_id, outcome }) => {
      expect(outcome).toBe('answered 200');
      return String(event_id);
    });
  } finally {
    database.close();
  }
}

test('a delivered event was handled: work that its handler awaited is done, whenever the host is killed', async () => {
  const data = await dataFolder();
  const ledger = await HttpReceiver.start();
  const reach = ['--egress-allow', new URL(ledger.url).host];
  const posted = () => new Set(ledger.requests.map(({ body }) => body));
  let host = await start(data, reach);
  const source = ledgerSource('await post();').replace('LEDGER', JSON.stringify(ledger.url));
  const recorder = await installRecorder(host, source);
  for (let round = 1; round <= 4; round += 1) {
    const { child } = host;
    const before = ledger.requests.length;
    // The call for the second event begins when the first is settled.
    await editUntilTheEnd(host, recorder, (so) => {
      if (so >= 10 && ledger.requests.length >= before + 2) child.kill('SIGKILL');
    });
    const marked = delivered(data);
    expect(marked.length).toBeGreaterThan(0);
    expect(marked.filter((id) => !posted().has(id))).toEqual([]);
    host = await start(data, reach);
  }
  const events = await allDelivered(host, recorder);
  expect(events.filter(({ id }) => !posted().has(id))).toEqual([]);
});

test('work in waitUntil is not covered: the host may end between the answer and the work', async () => {
  const data = await dataFolder();
  const ledger = await HttpReceiver.start();
  const reach = ['--egress-allow', new URL(ledger.url).host];
  const first = await start(data, reach);
  const later = 'context.waitUntil(new Promise((done) => setTimeout(done, 20_000)).then(post));';
  const source = ledgerSource(later).replace('LEDGER', JSON.stringify(ledger.url));
  const recorder = await installRecorder(first, source);
  await allDelivered(first, recorder);
  first.child.kill('SIGKILL');
  await first.exited;
  expect(delivered(data)).toHaveLength(1);
  expect(ledger.requests).toEqual([]);
  // `delivered` is final: the next process does not deliver the event again.
  const second = await start(data, reach);
  expect((await allDelivered(second, recorder)).map(({ state }) => state)).toEqual(['delivered']);
  expect(ledger.requests).toEqual([]);
});
