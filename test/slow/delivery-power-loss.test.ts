/**
 * Events and power failures: every acknowledged event is on the disk, whenever the power fails.
 *
 * The disk is simulated (`test/support/crash/power-cut.ts`); the host is real, as `npm start` runs
 * it, and so is the order in which it writes, syncs and answers, as the kernel saw it. At many
 * moments of that order the power fails; the remaining files are opened as any data folder is, and
 * must have every event whose 202 was written to its socket by then.
 *
 */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as passed } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { openDatabase } from '../../src/host/database/database.ts';
import { sqliteDialect } from '../../src/host/database/sqlite/sqlite-dialect.ts';
import { PowerCut, type Unsynced } from '../support/crash/power-cut.ts';
import { readTrace, strace, type TracedCall } from '../support/crash/traced-writes.ts';
import { EventClient } from '../support/deliveries/event-client.ts';
import { installWebhooks, shareSecrets, siteView } from '../support/deliveries/webhook-senders.ts';
import { HostProcess } from '../support/host-process.ts';
import { needs } from '../support/programs.ts';
import { LedgerReceiver } from '../support/receivers/ledger-receiver.ts';
import { memory } from '../support/store/temporary-store.ts';

const EVENTS = 1_500;
const BATCH = 10;
const WRITERS = 6;
const RECEIVERS = 10;
/** Power failures in each test. */
const MOMENTS = 16;
const POLL_EVERY_MS = 20;
const DATABASE = 'annex.db';

interface Traced {
  /** Files of the database before the first call. */
  readonly before: ReadonlyMap<string, Buffer>;
  readonly calls: readonly TracedCall[];
}

/** Posts events to a host under `strace` until all are delivered. */
async function trace(folder: string): Promise<Traced> {
  const receiver = await LedgerReceiver.start();
  const data = join(folder, 'data');
  const reach = ['--webhook-http', 'allow', '--egress-allow', `127.0.0.1:${receiver.port}`];
  const flags = ['--cells', '1', ...reach];
  try {
    const first = await HostProcess.start({ data, flags });
    const places = await installWebhooks(first, RECEIVERS, (index) => receiver.url(`o${index}`));
    await shareSecrets(first, places, receiver, { verifyEvery: 1, keepsLedger: true, answerWithinMs: 0 });
    await first.stop();
    const before = await filesOf(data);

    const out = join(folder, 'trace');
    // Writes of Node's compile cache would be in the trace.
    const env = { NODE_DISABLE_COMPILE_CACHE: '1' };
    const second = await HostProcess.start({ data, flags, env, under: strace(out) });
    const client = new EventClient(second, () => 0);
    let next = 0;
    const write = async () => {
      while (next < EVENTS) {
        const batch = Array.from({ length: BATCH }, () => {
          const eventId = `power-${next++}`;
          return { ...siteView(places[next % RECEIVERS] ?? never(), eventId), eventId };
        });
        await client.post(batch);
      }
    };
    await Promise.all(Array.from({ length: WRITERS }, write));
    await client.close();
    while ((await receiver.progress()).received < EVENTS) await passed(POLL_EVERY_MS);
    // An orderly stop: the log is written into the database now at the latest.
    await second.stop();
    return { before, calls: readTrace(await readFile(out, 'latin1')) };
  } finally {
    receiver.stop();
  }
}

function never(): never {
  throw new Error('There is no such site.');
}

async function filesOf(data: string): Promise<Map<string, Buffer>> {
  const names = (await readdir(data)).filter((name) => name.startsWith(DATABASE));
  return new Map(
    await Promise.all(names.map(async (name) => [name, await readFile(join(data, name))] as const)),
  );
}

const EVENT_ID = /"eventId":"([^"]+)"/g;
const idsIn = (bytes: Buffer): string[] =>
  [...bytes.toString('latin1').matchAll(EVENT_ID)].map(([, id = '']) => id);

const startsWith = (bytes: Buffer, text: string): boolean =>
  bytes.toString('latin1', 0, text.length) === text;

/** Ids of the events that an answer acknowledges. */
const acknowledgedBy = (call: TracedCall): string[] =>
  call.kind === 'send' && startsWith(call.bytes, 'HTTP/1.1 202') ? idsIn(call.bytes) : [];

/** Ids of the events in a request to a receiver. */
const postedBy = (call: TracedCall): string[] =>
  call.kind === 'send' && startsWith(call.bytes, 'POST /r/') ? idsIn(call.bytes) : [];

/** `MOMENTS` of these positions, evenly spread. */
const some = (all: readonly number[]): number[] =>
  Array.from(
    { length: Math.min(MOMENTS, all.length) },
    (_, index) => all[Math.floor((index * all.length) / MOMENTS)] ?? 0,
  );

const placesOf = (calls: readonly TracedCall[], is: (call: TracedCall) => boolean): number[] =>
  calls.flatMap((call, index) => (is(call) ? [index] : []));

interface Found {
  readonly integrity: string;
  /** Event → the number of its deliveries. */
  readonly events: ReadonlyMap<string, number>;
}

/** Opens the remaining files, as the service does at its start. */
async function open(files: ReadonlyMap<string, Buffer>): Promise<Found> {
  // In memory: the simulated disk has done its part.
  const folder = await mkdtemp(join(memory(), 'annex-after-'));
  try {
    for (const [name, content] of files) await writeFile(join(folder, name), content);
    const file = join(folder, DATABASE);
    const database = await openDatabase(sqliteDialect(file));
    await database.destroy();
    const raw = new DatabaseSync(file);
    const [{ integrity_check: integrity = '' } = {}] = raw.prepare('pragma integrity_check').all();
    const rows = raw
      .prepare(
        'select event_id, (select count(*) from deliveries where deliveries.event = events.id) as count from events',
      )
      .all();
    raw.close();
    return {
      integrity: String(integrity),
      events: new Map(rows.map(({ event_id, count }) => [String(event_id), Number(count)])),
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Cuts the power at each of the moments. @returns how many acknowledged or posted events were lost
 * at all of them
 */
async function cutAt(
  { before, calls }: Traced,
  moments: readonly number[],
  unsynced: Unsynced,
  syncs: 'count' | 'do nothing' = 'count',
): Promise<{ lost: number; broken: string[] }> {
  const disk = new PowerCut(before, Math.random);
  const durable = new Set<string>();
  const cuts = new Set(moments);
  const all = { lost: 0, broken: [] as string[] };
  for (const [index, call] of calls.entries()) {
    if (call.kind !== 'send') {
      const isOurs = basename(call.file).startsWith(DATABASE);
      if (isOurs && !(call.kind === 'sync' && syncs === 'do nothing'))
        disk.take({ ...call, file: basename(call.file) });
    }
    for (const id of [...acknowledgedBy(call), ...postedBy(call)]) durable.add(id);
    if (!cuts.has(index)) continue;
    const { integrity, events } = await open(disk.found(unsynced));
    all.lost += [...durable].filter((id) => events.get(id) !== 1).length;
    if (integrity !== 'ok') all.broken.push(integrity);
  }
  return all;
}

const NOTHING_LOST = { lost: 0, broken: [] };

describe('when the power fails', needs('strace'), () => {
  let traced: Traced;
  beforeAll(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'annex-power-'));
    try {
      traced = await trace(folder);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  test('the trace has every answer, every request, and the writes and syncs of the database', () => {
    const { calls } = traced;
    expect(new Set(calls.flatMap(acknowledgedBy)).size).toBe(EVENTS);
    expect(new Set(calls.flatMap(postedBy)).size).toBe(EVENTS);
    // The database is written at offsets only, which is all that the simulated disk knows.
    expect(calls.filter((call) => call.kind === 'send' && basename(call.to).startsWith(DATABASE))).toEqual(
      [],
    );
    const synced = new Set(calls.flatMap((call) => (call.kind === 'sync' ? [basename(call.file)] : [])));
    // The log is synced at each commit; the file itself when the full log is written into it; the
    // list of commits when it is made; that list and the shared memory before the log is emptied.
    expect([...synced].filter((name) => name.startsWith(DATABASE)).sort()).toEqual([
      DATABASE,
      `${DATABASE}-commits`,
      `${DATABASE}-shm`,
      `${DATABASE}-wal`,
    ]);
  });

  test.each(['lost', 'kept', 'torn'] as const)(
    'right after an answer, acknowledged events are on the disk; unsynced writes are %s',
    async (unsynced) => {
      const answers = placesOf(traced.calls, (call) => acknowledgedBy(call).length > 0);
      expect(await cutAt(traced, some(answers), unsynced)).toEqual(NOTHING_LOST);
    },
  );

  test.each(['lost', 'kept', 'torn'] as const)(
    'while the database file is written, too; unsynced writes are %s',
    async (unsynced) => {
      const writes = placesOf(
        traced.calls,
        (call) => call.kind === 'write' && basename(call.file) === DATABASE,
      );
      expect(await cutAt(traced, some(writes), unsynced)).toEqual(NOTHING_LOST);
    },
  );

  test('at any other moment, too', async () => {
    const { calls } = traced;
    const any = Array.from({ length: MOMENTS }, () => Math.floor(Math.random() * calls.length));
    expect(await cutAt(traced, any, 'torn')).toEqual(NOTHING_LOST);
  });

  test('a disk that ignores syncs loses events, and this test can see it', async () => {
    const { calls } = traced;
    const end = [calls.length - 1];
    expect((await cutAt(traced, end, 'lost', 'do nothing')).lost).toBe(EVENTS);
  });
});
