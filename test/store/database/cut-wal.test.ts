/**
 * A write-ahead log that was cut, emptied or deleted after a kill: either every acknowledged event
 * is there after the start, or the start is refused with the number of lost transactions. SQLite
 * alone starts in silence, and puts pages of an earlier time over newer ones.
 */
import fs from 'node:fs';
import { copyFile, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import type { WalNote } from '../../../src/host/database/sqlite/files/damaged-wal.ts';
import { readWal } from '../../../src/host/database/sqlite/files/wal-file.ts';
import { backUp } from '../../../src/host/store/backup.ts';
import { openStore } from '../../../src/host/store/store.ts';
import { deliveriesOf, installHandler } from '../../support/deliveries/waiting-deliveries.ts';
import { storeOptions, temporaryFolder } from '../../support/store/temporary-store.ts';

const EVENTS = 60;
const HEADER_BYTES = 32;
const FRAME_BYTES = 24 + 4_096;
const FILES = ['annex.db', 'annex.db-wal', 'annex.db-shm', 'annex.db-commits', 'vault.key'];

const log = (folder: string) => join(folder, 'annex.db-wal');
const shared = (folder: string) => join(folder, 'annex.db-shm');

/** The frames of the log after each event, for each folder whose log was not begun anew. */
const ENDS = new Map<string, readonly number[]>();

/** How much of the log a checkpoint has put into the database file before the kill. */
type Checkpointed = 'wholly' | 'partly' | 'not';

/** A data folder as `kill -9` leaves it. Each event is one transaction, and acknowledged. */
async function killed(checkpointed: Checkpointed, { resets = 0 } = {}): Promise<string> {
  const [alive, folder] = [await temporaryFolder(), await temporaryFolder()];
  const store = await openStore(storeOptions(alive));
  await installHandler(store);
  const ends: number[] = [];
  ENDS.set(folder, ends);
  const other = new DatabaseSync(join(alive, 'annex.db'));
  // Whatever is lost, the schema and the installation are not.
  other.exec('pragma wal_checkpoint(truncate)');
  for (let reset = 0; reset < resets; reset++) {
    await deliveriesOf(store, 1);
    other.exec('pragma wal_checkpoint(passive)');
  }
  const accept = async (from: number, to: number) => {
    for (let event = from; event < to; event++) {
      await deliveriesOf(store, 1);
      ends.push(((await stat(log(alive))).size - HEADER_BYTES) / FRAME_BYTES);
    }
  };
  await accept(resets, EVENTS / 2);
  if (checkpointed === 'partly') {
    // A backup that reads keeps the checkpoint from what was written since it began.
    const reader = new DatabaseSync(join(alive, 'annex.db'), { readOnly: true });
    reader.exec('begin; select count(*) from events');
    reader.prepare('select count(*) from events').get();
    await accept(EVENTS / 2, (3 * EVENTS) / 4);
    other.exec('pragma wal_checkpoint(passive)');
    reader.close();
    await accept((3 * EVENTS) / 4, EVENTS);
  } else await accept(EVENTS / 2, EVENTS);
  if (checkpointed === 'wholly') other.exec('pragma wal_checkpoint(passive)');
  for (const name of FILES) await copyFile(join(alive, name), join(folder, name));
  other.close();
  await store.close();
  return folder;
}

const changed = (change: (bytes: Buffer) => Buffer) => async (folder: string) =>
  writeFile(log(folder), change(await readFile(log(folder))));

const CUTS: Record<string, (folder: string) => Promise<unknown>> = {
  'by 5 kB': changed((bytes) => bytes.subarray(0, -5_000)),
  'by half': changed((bytes) => bytes.subarray(0, bytes.length / 2)),
  'at a frame': changed((bytes) => {
    const frames = Math.floor((bytes.length - HEADER_BYTES) / FRAME_BYTES);
    return bytes.subarray(0, HEADER_BYTES + Math.floor(frames * 0.8) * FRAME_BYTES);
  }),
  'before its first frame': changed((bytes) => bytes.subarray(0, HEADER_BYTES)),
  'to nothing': changed((bytes) => bytes.subarray(0, 0)),
  'with zeros in place of its tail': changed((bytes) => bytes.fill(0, Math.floor(bytes.length * 0.7))),
  'in its header': changed((bytes) => bytes.fill(0, 8, 20)),
  'in a frame': changed((bytes) =>
    bytes.fill(7, HEADER_BYTES + 40 * FRAME_BYTES, HEADER_BYTES + 41 * FRAME_BYTES),
  ),
  'away whole': (folder) => rm(log(folder)),
};

/** What a start says, and how many events it has; `undefined` if it is refused. */
async function started(folder: string, acceptLoss = false) {
  const notes: WalNote[] = [];
  try {
    const store = await openStore({ ...storeOptions(folder), acceptLoss, onWal: (note) => notes.push(note) });
    const events = store.backlog.waiting;
    await deliveriesOf(store, 1);
    await store.close();
    return { events, words: notes.map(({ message }) => message).join() };
  } catch (failure) {
    return { events: undefined, words: (failure as Error).message };
  }
}

/** Whether the files of the folder are as they were. */
async function contentOf(folder: string): Promise<string[]> {
  const names = (await readdir(folder)).filter((name) => !name.endsWith('-lock')).sort();
  return Promise.all(
    names.map(async (name) => `${name} ${(await readFile(join(folder, name))).toString('base64')}`),
  );
}

/** Starts, and holds that nothing is lost in silence. @returns the words of the start */
async function holds(folder: string, counted: string): Promise<string> {
  const before = await contentOf(folder);
  const { events, words } = await started(folder);
  if (events !== undefined) {
    expect(events).toBe(EVENTS);
    return words;
  }
  expect(words).toMatch(
    /annex\.db-wal, the write-ahead log .* (is damaged: |is missing).* --accept-loss once/,
  );
  expect(await contentOf(folder)).toEqual(before);
  const backup = backUp({ database: join(folder, 'annex.db'), to: join(folder, 'b.db'), progress: () => {} });
  await expect(backup).rejects.toThrow(/A backup would lack/);
  const found = words.match(new RegExp(`acknowledged: ${counted}(\\d+) transaction`));
  const said = Number(found?.[1]);
  if (words.includes('may be inconsistent')) {
    const left = readWal(log(folder)).commits.at(-1) ?? 0;
    expect(said).toBe((ENDS.get(folder) ?? []).filter((end) => end > left).length);
    return words;
  }
  const accepted = await started(folder, true);
  if (accepted.events === undefined) throw new Error(accepted.words);
  const lost = EVENTS - accepted.events;
  if (counted === '') expect(said).toBe(lost);
  else expect(said).toBeGreaterThanOrEqual(lost);
  expect(accepted.words).toContain(`${counted}${said} transaction`);
  expect(await started(folder)).toEqual({ events: EVENTS - lost + 1, words: '' });
  return words;
}

describe.each(Object.entries(CUTS))('a log that was cut %s', (_how, cut) => {
  test('loses nothing where the database file had all of it', async () => {
    const folder = await killed('wholly');
    await cut(folder);
    expect(await started(folder)).toMatchObject({
      events: EVENTS,
      words: expect.stringContaining('Nothing is lost: the database file has every transaction of it.'),
    });
    expect(await started(folder)).toEqual({ events: EVENTS + 1, words: '' });
  });

  test.each(['partly', 'not'] as const)(
    'is refused with the number of lost transactions: %s checkpointed',
    async (checkpointed) => {
      const folder = await killed(checkpointed);
      await cut(folder);
      expect(await holds(folder, '')).toContain('To start all the same would lose');
    },
  );

  test('is refused with that number also in a log that was begun anew', async () => {
    const folder = await killed('not', { resets: 3 });
    await cut(folder);
    expect(await holds(folder, '')).toContain('To start all the same would lose');
  });

  test.each(['wholly', 'partly', 'not'] as const)(
    'without its shared memory: %s checkpointed',
    async (checkpointed) => {
      const folder = await killed(checkpointed);
      await cut(folder);
      await rm(shared(folder));
      expect(await holds(folder, 'up to ')).toContain('To start all the same would lose');
    },
  );
});

describe('a shared memory that says nothing of the log', () => {
  const garbage = async (folder: string) => {
    const bytes = await readFile(shared(folder));
    await writeFile(shared(folder), Buffer.from(bytes.map((_byte, at) => (at * 7) % 251)));
  };
  /** As a power cut may leave it: of the time before the log was begun anew. */
  const old = async (folder: string) => copyFile(shared(await killed('not')), shared(folder));

  /** Another program reads what is left of the log, and counts it anew. */
  const anew = async (folder: string) => {
    const database = new DatabaseSync(join(folder, 'annex.db'), { readOnly: true });
    database.prepare('select count(*) from events').get();
    database.close();
  };

  test.each([
    ['made anew', anew],
    ['garbage', garbage],
    ['of an earlier time', old],
  ])('%s: a whole log is taken without a word, and a cut one is refused', async (_what, change) => {
    const whole = await killed('not', { resets: 2 });
    await change(whole);
    expect(await started(whole)).toEqual({ events: EVENTS, words: '' });
    const cut = await killed('not', { resets: 2 });
    await CUTS['by half']?.(cut);
    await change(cut);
    expect(await holds(cut, 'up to ')).toContain('To start all the same would lose');
  });

  test('a cut log is refused by the header of a database file that is newer, if nothing else is known', async () => {
    const folder = await killed('wholly');
    await rm(shared(folder));
    await rm(join(folder, 'annex.db-commits'));
    await CUTS['by half']?.(folder);
    const { words } = await started(folder);
    expect(words).toMatch(/ends before the time of the database file\. .*an unknown number of transactions/);
    expect((await started(folder, true)).events).toBe(EVENTS);
  });
});

test('a service that was stopped leaves neither a log nor its list, and starts without them', async () => {
  const folder = await temporaryFolder();
  await (await openStore(storeOptions(folder))).close();
  expect((await readdir(folder)).sort()).toEqual(['annex.db', 'annex.db-lock', 'vault.key']);
});

describe('a log that was emptied, before a power cut', () => {
  /** @returns the shared memory as the disk has it after the work: its bytes at its last sync */
  async function syncedBy(work: () => Promise<unknown>): Promise<Buffer | undefined> {
    const { fsyncSync } = fs;
    let synced: Buffer | undefined;
    fs.fsyncSync = (file) => {
      fsyncSync(file);
      const path = fs.readlinkSync(`/proc/self/fd/${file}`);
      if (path.endsWith('-shm')) synced = fs.readFileSync(path);
    };
    syncBuiltinESMExports();
    try {
      await work();
      return synced;
    } finally {
      fs.fsyncSync = fsyncSync;
      syncBuiltinESMExports();
    }
  }

  test.each(['start', 'stop'] as const)('at a %s: nothing is lost', async (when) => {
    const folder = await killed('not');
    const before = await readFile(join(folder, 'annex.db-commits'));
    const stale = await readFile(shared(folder));
    const onDisk = (await syncedBy(async () => (await openStore(storeOptions(folder))).close())) ?? stale;
    if (when === 'start') await writeFile(join(folder, 'annex.db-commits'), before);
    await writeFile(shared(folder), onDisk);
    await writeFile(log(folder), '');
    expect(await started(folder)).toMatchObject({ events: EVENTS });
    expect(await started(folder)).toEqual({ events: EVENTS + 1, words: '' });
  });

  test('at a stop that another program outlasts, which puts the rest away', async () => {
    const folder = await temporaryFolder();
    const store = await openStore(storeOptions(folder));
    await installHandler(store);
    await deliveriesOf(store, EVENTS);
    const other = new DatabaseSync(join(folder, 'annex.db'));
    other.exec('begin; select count(*) from events');
    other.prepare('select count(*) from events').get();
    await store.close();
    other.exec('commit');
    other.close();
    expect(await readdir(folder)).not.toContain('annex.db-wal');
    expect(await started(folder)).toMatchObject({ events: EVENTS });
  });
});

describe('a whole log', () => {
  test.each(['wholly', 'partly', 'not'] as const)(
    'is taken without a word, with or without its shared memory: %s checkpointed',
    async (checkpointed) => {
      const folder = await killed(checkpointed);
      expect(await started(folder)).toEqual({ events: EVENTS, words: '' });
      const other = await killed(checkpointed);
      await rm(shared(other));
      await rm(join(other, 'annex.db-commits'));
      expect(await started(other)).toEqual({ events: EVENTS, words: '' });
    },
  );
});
