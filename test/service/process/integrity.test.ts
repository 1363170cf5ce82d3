/** The integrity check of the database: its findings, its bounds, and its result on /healthz. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  Integrity,
  type IntegrityDeps,
  type IntegrityNote,
} from '../../../src/host/database/sqlite/integrity/integrity.ts';
import { HostProcess } from '../../support/host-process.ts';
import { temporaryFolder } from '../../support/store/temporary-store.ts';

const PAGE_BYTES = 4_096;
const ROWS = 2_000;

/** A database of two tables, of which the larger one has some hundred pages. */
async function database(): Promise<string> {
  const file = join(await temporaryFolder(), 'annex.db');
  const made = new DatabaseSync(file);
  made.exec(
    'create table large (id integer primary key, text text not null); create table small (id integer)',
  );
  made.exec('begin');
  for (let row = 0; row < ROWS; row++) made.exec(`insert into large (text) values (hex(randomblob(300)))`);
  made.exec('commit');
  made.close();
  return file;
}

async function damagePage(file: string, page: number): Promise<void> {
  const bytes = await readFile(file);
  bytes.fill(0xaa, page * PAGE_BYTES, (page + 1) * PAGE_BYTES);
  await writeFile(file, bytes);
}

function checker(file: string, parts: Partial<IntegrityDeps> = {}) {
  const notes: IntegrityNote[] = [];
  const integrity = new Integrity({ file, wallNow: () => 7, note: (note) => notes.push(note), ...parts });
  onTestFinished(() => integrity.stop());
  return { integrity, notes };
}

const BESIDE = { pagesAtOnce: 0 };

describe.each([
  ['at once', {}],
  ['in a process of its own', BESIDE],
] as const)('%s', (_how, parts) => {
  test('a sound database is found sound', async () => {
    const { integrity, notes } = checker(await database(), parts);
    expect(integrity.state.integrity).toBe('checking');
    await integrity.start();
    expect(integrity.state).toEqual({
      integrity: 'sound',
      checkedAt: 7,
      tables: { checked: 3, of: 3 },
      damagedTables: [],
    });
    expect(notes).toMatchObject([{ level: 'info' }]);
  });

  test('a damaged page is found, with its table, and reported until it is repaired', async () => {
    const file = await database();
    const intact = await readFile(file);
    await damagePage(file, 200);
    const { integrity, notes } = checker(file, parts);
    await integrity.start();
    expect(integrity.state).toMatchObject({ integrity: 'damaged', damagedTables: ['large'] });
    expect(notes).toMatchObject([{ level: 'error', details: { problems: { large: [expect.any(String)] } } }]);
    await integrity.check();
    expect(integrity.state.integrity).toBe('damaged');
    await writeFile(file, intact);
    await integrity.check();
    expect(integrity.state).toMatchObject({ integrity: 'sound', damagedTables: [] });
  });
});

test('a file that is no longer a database is found damaged', async () => {
  const file = await database();
  await damagePage(file, 0);
  const { integrity } = checker(file);
  await integrity.start();
  expect(integrity.state.integrity).toBe('damaged');
});

test('a check is ended when its time is over, and is reported as unfinished', async () => {
  const { integrity, notes } = checker(await database(), { ...BESIDE, checkMs: 1 });
  await integrity.start();
  expect(integrity.state).toMatchObject({ integrity: 'unfinished', checkedAt: 7 });
  expect(notes).toMatchObject([{ level: 'warn' }]);
});

test('a stopped check reports nothing, and leaves no process', async () => {
  const { integrity, notes } = checker(await database(), BESIDE);
  const over = integrity.start();
  await integrity.stop();
  await over;
  expect(notes).toEqual([]);
  expect(integrity.state.integrity).toBe('checking');
});

test('a service with a damaged database is reported on /healthz with status 503', async () => {
  const data = join(await temporaryFolder(), 'data');
  const first = await HostProcess.start({ data, flags: ['--cells', '1'] });
  const sound = await fetch(`${first.control}/healthz`);
  expect(sound.status).toBe(200);
  expect(await sound.json()).toMatchObject({ status: 'ok', database: { integrity: 'sound' } });
  await first.stop();

  const file = join(data, 'annex.db');
  const at = new DatabaseSync(file);
  // A page of a table that a start does not read.
  const page = Number(
    at.prepare(`select rootpage from sqlite_schema where name = 'delivery_attempts'`).get()?.rootpage,
  );
  at.close();
  await damagePage(file, page - 1);
  const second = await HostProcess.start({ data, flags: ['--cells', '1'] });
  onTestFinished(() => second.stop());
  const damaged = await fetch(`${second.control}/healthz`);
  expect(damaged.status).toBe(503);
  expect(await damaged.json()).toMatchObject({
    status: 'damaged',
    database: { integrity: 'damaged', damagedTables: ['delivery_attempts'] },
  });
});
