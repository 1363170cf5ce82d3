/**
 * A damaged write-ahead log stops the start; a log left by a crash does not. No acknowledged data
 * is lost silently.
 */
import { copyFile, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { WalNote } from '../../../src/host/database/sqlite/files/damaged-wal.ts';
import { readWal } from '../../../src/host/database/sqlite/files/wal-file.ts';
import { backUp } from '../../../src/host/store/backup.ts';
import { openStore, type Store } from '../../../src/host/store/store.ts';
import { deliveriesOf, installHandler } from '../../support/deliveries/waiting-deliveries.ts';
import { storeOptions, temporaryFolder } from '../../support/store/temporary-store.ts';

const EVENTS = 60;
const HEADER_BYTES = 32;
const FRAME_BYTES = 24 + 4_096;

/**
 * A data folder as `kill -9` leaves it, with so many acknowledged events, the last of which are
 * only in the log.
 */
async function crashedFolder(): Promise<string> {
  const [alive, crashed] = [await temporaryFolder(), await temporaryFolder()];
  const store = await openStore(storeOptions(alive));
  await installHandler(store);
  for (let event = 0; event < EVENTS; event++) await deliveriesOf(store, 1);
  for (const name of ['annex.db', 'annex.db-wal', 'vault.key'])
    await copyFile(join(alive, name), join(crashed, name));
  await store.close();
  return crashed;
}

const wal = (folder: string): string => join(folder, 'annex.db-wal');

/** Flips one bit of the log. */
async function damage(folder: string, at: number): Promise<Buffer> {
  const bytes = await readFile(wal(folder));
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
  await writeFile(wal(folder), bytes);
  return bytes;
}

/** Opens a store, closed at the end of the test. @returns the store with its notes about the log */
async function opened(folder: string, acceptLoss = false): Promise<{ store: Store; notes: WalNote[] }> {
  const notes: WalNote[] = [];
  const store = await openStore({ ...storeOptions(folder), acceptLoss, onWal: (note) => notes.push(note) });
  onTestFinished(() => store.close());
  return { store, notes };
}

const waiting = async ({ store }: { store: Store }): Promise<number> => store.backlog.waiting;

/** What SQLite itself reads from a copy of the folder. */
async function eventsForSqlite(folder: string): Promise<number> {
  const copy = await temporaryFolder();
  for (const name of ['annex.db', 'annex.db-wal']) await copyFile(join(folder, name), join(copy, name));
  const database = new DatabaseSync(join(copy, 'annex.db'));
  try {
    return Number(
      database.prepare("select count(*) as count from events where organization <> ''").get()?.count,
    );
  } catch {
    // The tables themselves were only in the log.
    return 0;
  } finally {
    database.close();
  }
}

describe('a log left by a crash', () => {
  test('is read completely, without a note', async () => {
    const found = await opened(await crashedFolder());
    expect(await waiting(found)).toBe(EVENTS);
    expect(found.notes).toEqual([]);
  });

  test('may end within a frame: its transaction was never acknowledged', async () => {
    const folder = await crashedFolder();
    const bytes = await readFile(wal(folder));
    await writeFile(wal(folder), Buffer.concat([bytes, bytes.subarray(HEADER_BYTES, HEADER_BYTES + 1_000)]));
    const found = await opened(folder);
    expect(await waiting(found)).toBe(EVENTS);
    expect(found.notes).toEqual([]);
  });

  test('may have frames of an earlier reset behind its own', async () => {
    const folder = await temporaryFolder();
    const database = new DatabaseSync(join(folder, 'annex.db'));
    onTestFinished(() => database.close());
    database.exec('pragma journal_mode = wal; create table t (x)');
    for (let row = 0; row < 20; row++) database.exec(`insert into t values (hex(randomblob(4000)))`);
    const bytes = (await readFile(wal(folder))).length;
    database.exec('pragma wal_checkpoint(restart); insert into t values (1); insert into t values (2)');
    expect((await readFile(wal(folder))).length).toBe(bytes);
    expect(readWal(wal(folder)).state).toEqual({ kind: 'sound' });
  });

  test('may have a last transaction torn by a power cut: the start reports it once', async () => {
    const folder = await crashedFolder();
    const { length } = await readFile(wal(folder));
    await damage(folder, length - 100);
    const first = await openStore({
      ...storeOptions(folder),
      onWal: ({ level }) => expect(level).toBe('warn'),
    });
    expect(first.backlog.waiting).toBe(EVENTS - 1);
    await first.close();
    expect((await opened(folder)).notes).toEqual([]);
  });
});

describe('a damaged log', () => {
  test.each([
    ['in the first byte of its header', 0],
    ['in its page size', 9],
    ['in the salt of its header', 17],
    ['in the checksum of its header', 31],
    ['in a page of its first frame', HEADER_BYTES + 1_000],
    ['in a frame’s header', HEADER_BYTES + 3 * FRAME_BYTES + 9],
    ['in a frame’s size of the database', HEADER_BYTES + 3 * FRAME_BYTES + 5],
  ])('%s stops the start and changes nothing', async (_where, at) => {
    const folder = await crashedFolder();
    const bytes = await damage(folder, at);
    // SQLite alone starts silently and loses the transactions.
    expect(await eventsForSqlite(folder)).toBeLessThan(EVENTS);
    await expect(opened(folder)).rejects.toThrow(/annex\.db-wal.* is damaged: .*--accept-loss/);
    await expect(opened(folder)).rejects.toThrow(/is damaged/);
    expect((await readFile(wal(folder))).equals(bytes)).toBe(true);
  });

  test('shorter than a header, or of zeros, stops the start, too', async () => {
    const folder = await crashedFolder();
    const bytes = await readFile(wal(folder));
    await writeFile(wal(folder), bytes.subarray(0, HEADER_BYTES - 1));
    await expect(opened(folder)).rejects.toThrow(/ends after 31 bytes/);
    await writeFile(wal(folder), Buffer.alloc(bytes.length));
    await expect(opened(folder)).rejects.toThrow(/does not begin as/);
  });

  test('is detected in a slow copy of a log in use, whose later part is newer than its header', async () => {
    const folder = await temporaryFolder();
    const database = new DatabaseSync(join(folder, 'annex.db'));
    onTestFinished(() => database.close());
    database.exec('pragma journal_mode = wal; create table t (x)');
    const insert = () => {
      for (let row = 0; row < 40; row++) database.exec(`insert into t values (hex(randomblob(4000)))`);
    };
    insert();
    const early = (await readFile(wal(folder))).subarray(0, HEADER_BYTES + 10 * FRAME_BYTES);
    database.exec('pragma wal_checkpoint(restart)');
    insert();
    const late = (await readFile(wal(folder))).subarray(early.length);
    await writeFile(join(folder, 'copy'), Buffer.concat([early, late]));
    expect(readWal(join(folder, 'copy')).state).toMatchObject({ kind: 'damaged', lost: undefined });
    expect(readWal(wal(folder)).state).toEqual({ kind: 'sound' });
  });

  test('lets the service start if the loss is accepted: readable data is kept, and so is a copy of the log', async () => {
    const folder = await crashedFolder();
    const before = await readFile(wal(folder));
    const frames = Math.floor((before.length - HEADER_BYTES) / FRAME_BYTES);
    const bytes = await damage(folder, HEADER_BYTES + (frames - 40) * FRAME_BYTES + 2_000);
    const left = await eventsForSqlite(folder);
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThan(EVENTS);
    const found = await openStore({ ...storeOptions(folder), acceptLoss: true });
    expect(found.backlog.waiting).toBe(left);
    await deliveriesOf(found, 1);
    await found.close();
    const [kept = ''] = (await readdir(folder)).filter((name) => name.includes('damaged'));
    expect((await readFile(join(folder, kept))).equals(bytes)).toBe(true);
    // The next start has no loss to accept.
    const next = await opened(folder);
    expect(await waiting(next)).toBe(left + 1);
    expect(next.notes).toEqual([]);
  });

  test('is reported with the lost transactions', async () => {
    const folder = await crashedFolder();
    await damage(folder, 0);
    const { notes } = await opened(folder, true);
    expect(notes).toMatchObject([
      { level: 'error', message: expect.stringContaining('every transaction in that log') },
    ]);
  });
});

describe('a log of another database', () => {
  /**
   * A folder in which an operator has restored a backup over the database, beside the old log.
   */
  async function restoredOver(): Promise<string> {
    const folder = await temporaryFolder();
    const store = await openStore(storeOptions(folder));
    await installHandler(store);
    await deliveriesOf(store, 1);
    const to = join(folder, 'backup.db');
    await backUp({ database: join(folder, 'annex.db'), to, progress: () => {} });
    for (let event = 1; event < EVENTS; event++) await deliveriesOf(store, 1);
    const crashed = await temporaryFolder();
    for (const name of ['annex.db-wal', 'vault.key']) await copyFile(join(folder, name), join(crashed, name));
    await copyFile(to, join(crashed, 'annex.db'));
    await store.close();
    return crashed;
  }

  test('beside a restored backup stops the start, and the backup is not overwritten', async () => {
    const folder = await restoredOver();
    const restored = await readFile(join(folder, 'annex.db'));
    // SQLite alone starts silently with a mix of both.
    expect(await eventsForSqlite(folder)).toBe(EVENTS);
    await expect(opened(folder)).rejects.toThrow(/annex\.db-wal.* another database .*empty folder/);
    const backup = backUp({
      database: join(folder, 'annex.db'),
      to: join(folder, 'b.db'),
      progress: () => {},
    });
    await expect(backup).rejects.toThrow(/another database/);
    expect((await readFile(join(folder, 'annex.db'))).equals(restored)).toBe(true);
  });

  test('is kept under another name if the loss is accepted, and the service starts with the backup', async () => {
    const folder = await restoredOver();
    const bytes = await readFile(wal(folder));
    const found = await opened(folder, true);
    expect(await waiting(found)).toBe(1);
    expect(found.notes).toMatchObject([{ level: 'error', message: expect.stringContaining('kept as') }]);
    const [kept = ''] = (await readdir(folder)).filter((name) => name.includes('foreign'));
    expect((await readFile(join(folder, kept))).equals(bytes)).toBe(true);
  });

  test.each([
    ['an empty database file', (bytes: Buffer) => bytes.subarray(0, 0)],
    ['pages of another size', (bytes: Buffer) => bytes.fill(0x20, 16, 17)],
  ])('is detected by %s', async (_what, change) => {
    const folder = await crashedFolder();
    const file = join(folder, 'annex.db');
    await writeFile(file, change(await readFile(file)));
    const before = await readFile(wal(folder));
    await expect(opened(folder)).rejects.toThrow(/another database/);
    expect((await readFile(wal(folder))).equals(before)).toBe(true);
  });
});
