/**
 * The copy from SQLite to PostgreSQL: what it copies, that it changes nothing, how it goes on after
 * a kill, and what the comparison finds. Runs where the suite has a PostgreSQL server.
 */
import { createHash } from 'node:crypto';
import { copyFile, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { sql } from 'kysely';
import { Client } from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { copyStore } from '../../../src/host/database/copy/store-copy.ts';
import type { Database } from '../../../src/host/database/tables.ts';
import { openStore } from '../../../src/host/store/store.ts';
import {
  change,
  copyOf,
  fileIn,
  openSource,
  openTarget,
  runCopy,
  startCopy,
  stoppedStore,
} from '../../support/store/copy-command.ts';
import { addOddRows } from '../../support/store/odd-rows.ts';
import { storeOptions, temporaryFolder } from '../../support/store/temporary-store.ts';
import { postgresUrl, testEngine } from '../../support/store/test-engine.ts';

/** Tables of Kysely, and of the nodes of PostgreSQL. */
const NOT_COPIED = /^(kysely_|name_locks$|notice_channel$)/;

/** More than ten batches. */
const LINES = 30_000;

type Rows = Record<string, Record<string, unknown>[]>;

/** Rows by table, each value as the engine writes it. */
function rowsInSource(folder: string, tables: readonly string[]): Rows {
  const database = new DatabaseSync(fileIn(folder), { readOnly: true });
  const rowsOf = (table: string) => {
    const statement = database.prepare(`select * from "${table}"`);
    statement.setReadBigInts(true);
    return statement.all().map((row) => ({ ...row }));
  };
  try {
    return Object.fromEntries(tables.map((table) => [table, rowsOf(table)]));
  } finally {
    database.close();
  }
}

async function rowsInTarget(folder: string, tables: readonly string[]): Promise<Rows> {
  const asWritten = { getTypeParser: () => (text: string) => text };
  const client = new Client({ connectionString: postgresUrl(folder), types: asWritten });
  await client.connect();
  const rows: Rows = {};
  for (const table of tables) rows[table] = (await client.query(`select * from "${table}"`)).rows;
  await client.end();
  return rows;
}

/** The rows with the leases of the stopped service ended. */
const withoutLeases = (source: Rows): Rows =>
  Object.fromEntries(
    Object.entries(source).map(([table, rows]) => [
      table,
      table === 'credential_leases'
        ? []
        : rows.map((row) => (typeof row['lease_until'] === 'bigint' ? { ...row, lease_until: 0n } : row)),
    ]),
  );

const sorted = (rows: Rows) =>
  Object.entries(rows).map(([table, all]) => [
    table,
    all
      .map((row) =>
        JSON.stringify(
          Object.entries(row)
            .map(([name, value]) => [name, value === null ? null : String(value)])
            .sort(),
        ),
      )
      .sort(),
  ]);

/** Digests of the files of a folder, but those that SQLite makes for its readers. */
async function filesIn(folder: string): Promise<Record<string, string>> {
  const names = (await readdir(folder)).filter((name) => !/-(shm|lock)$/.test(name));
  const digests = names.map(async (name) => {
    const bytes = await readFile(join(folder, name));
    return [name, bytes.byteLength === 0 ? '' : createHash('sha256').update(bytes).digest('hex')] as const;
  });
  return Object.fromEntries((await Promise.all(digests)).filter(([, digest]) => digest !== ''));
}

const countOf = async (target: Database, table: string): Promise<number> => {
  const { rows } = await sql<{ count: number }>`select count(*) as count from ${sql.table(table)}`.execute(
    target,
  );
  return Number(rows[0]?.count);
};

describe('a copy of a store', () => {
  test('has every row of every table, with every value as it was', async () => {
    const folder = await stoppedStore();
    const tables = addOddRows(fileIn(folder));
    const { target, copied } = await copyOf(folder);
    const there = (await target.introspection.getTables()).map(({ name }) => name);
    expect(tables.toSorted()).toEqual(there.filter((name) => !NOT_COPIED.test(name)).sort());
    const source = rowsInSource(folder, tables);
    expect(Object.entries(source).filter(([, rows]) => rows.length < 4)).toEqual([]);
    expect(sorted(await rowsInTarget(folder, tables))).toEqual(sorted(withoutLeases(source)));
    expect(copied.map(({ table, rows, changed }) => ({ table, rows, changed }))).toEqual(
      copied.map(({ table }) => ({ table, rows: source[table]?.length, changed: 0 })),
    );
  });

  test('leaves every byte of the source as it was, with what a killed service left in its log', async () => {
    const folder = await temporaryFolder();
    const stopped = await stoppedStore();
    const writer = new DatabaseSync(fileIn(stopped));
    writer.exec("insert into tokens (id, kind, hash, created_at) values ('in the log', 'admin', 'h', 1)");
    for (const end of ['', '-wal']) await copyFile(`${fileIn(stopped)}${end}`, `${fileIn(folder)}${end}`);
    writer.close();
    const before = await filesIn(folder);
    expect(Object.keys(before).sort()).toEqual(['annex.db', 'annex.db-wal']);
    const { url, target } = await openTarget(folder);
    expect(await runCopy(folder, url)).toMatchObject({ code: 0 });
    expect(await filesIn(folder)).toEqual(before);
    const { rows } = await sql`select id from tokens where id = 'in the log'`.execute(target);
    expect(rows).toHaveLength(1);
  });

  test('killed again and again, goes on where it was, and no node starts before it is finished', async () => {
    const folder = await stoppedStore(LINES);
    const { url, target } = await openTarget(folder);
    const startNode = () => openStore({ ...storeOptions(folder), makeEngine: testEngine(folder) });
    /** Kills a copy as soon as this is true. @returns whether it was finished before */
    const killedOnce = async (isTime: (output: string) => Promise<boolean>): Promise<boolean> => {
      const copying = startCopy(folder, url);
      let isOver = false;
      void copying.ended.then(() => (isOver = true));
      while (!isOver && !(await isTime(copying.output()))) await new Promise(setImmediate);
      copying.kill();
      const { code, output } = await copying.ended;
      if (code === 0) return true;
      expect({ code, output }).toMatchObject({ code: null });
      await expect(startNode()).rejects.toThrow('a copy into it is not finished');
      return false;
    };
    let [rows, kills, isFinished] = [0, 0, false];
    while (rows < LINES / 2) {
      // A few batches further each time.
      const until = rows + 1 + Math.floor(Math.random() * 5_000);
      expect(await killedOnce(async () => (await copiedRows(target)) >= until)).toBe(false);
      rows = await copiedRows(target);
      expect(rows).toBeGreaterThanOrEqual(until);
      kills += 1;
    }
    expect(kills).toBeGreaterThan(1);
    for (const step of ['copying log_lines', 'verifying log_lines', 'verifying versions'])
      isFinished ||= await killedOnce(async (output) => output.includes(step));
    const { code, output } = await runCopy(folder, url);
    expect({ code, output }).toMatchObject(
      isFinished ? { code: 1 } : { code: 0, output: expect.stringContaining('The copy is complete') },
    );
    expect(await countOf(target, 'log_lines')).toBe(LINES + 1);
    const store = await startNode();
    onTestFinished(() => store.close());
    expect((await store.installations.list({ integration: 'hello', limit: 9 })).items).toHaveLength(1);
  });

  test.each([
    [
      "update log_lines set text = 'altered' where id = '00002500'",
      'the row of log_lines with installation_id, id = "inst","00002500" has another text',
    ],
    ["delete from log_lines where id = '00004999'", 'the target lacks the row of log_lines'],
    [
      "insert into log_lines values ('inst', '00009999', 1, 'r', 1, 't', 1)",
      'the target has the row of log_lines with installation_id, id = "inst","00009999", and the source has not',
    ],
    ["insert into built_ins values ('new', 'x')", 'the target has the row of built_ins with name = "new"'],
  ])('finds what something else has done: %s', async (statement, found) => {
    const folder = await stoppedStore(5_000);
    const { target } = await openTarget(folder);
    const source = await openSource(folder);
    const copying = copyStore({
      source,
      target,
      progress({ step }) {
        if (step === 'verifying') throw new Error('interrupted');
      },
    });
    await expect(copying).rejects.toThrow('interrupted');
    await sql.raw(statement).execute(target);
    await expect(copyStore({ source, target, progress: () => undefined })).rejects.toThrow(found);
  });

  test('ends the leases of the service, whose holders are gone', async () => {
    const folder = await stoppedStore();
    addOddRows(fileIn(folder));
    const { target } = await copyOf(folder);
    for (const table of ['deliveries', 'life_events'] as const) {
      const leased = target.selectFrom(table).where('lease_until', 'is not', null);
      const rows = await leased.select('lease_until').execute();
      expect(rows.length).toBeGreaterThan(0);
      expect(rows.filter(({ lease_until }) => lease_until !== 0)).toEqual([]);
    }
    expect(await countOf(target, 'credential_leases')).toBe(0);
  });

  test('is made by one of two copies that run at once, and the other one stops', async () => {
    const folder = await stoppedStore(LINES);
    const twin = await temporaryFolder({ inMemory: true });
    await copyFile(fileIn(folder), fileIn(twin));
    const { target } = await openTarget(folder);
    const sources = [await openSource(folder), await openSource(twin)];
    const copies = sources.map((source) => copyStore({ source, target, progress: () => undefined }));
    const states = (await Promise.allSettled(copies)).map(({ status }) => status);
    expect(states.toSorted()).toEqual(['fulfilled', 'rejected']);
    expect(await countOf(target, 'log_lines')).toBe(LINES + 1);
  });

  test('is read in batches of a few megabytes, however large the rows are', async () => {
    const folder = await stoppedStore(5_000);
    const large = 300_000;
    change(folder, `update log_lines set text = printf('%.${large}c', 'x') where id > '00004900'`);
    const source = await openSource(folder);
    const lines = source.tables.find(({ name }) => name === 'log_lines');
    if (lines === undefined) throw new Error('There is no table log_lines.');
    let [rows, largest] = [0, 0];
    for (let batch = source.next(lines); batch !== undefined; batch = source.next(lines, batch.last)) {
      rows += batch.rows.length;
      largest = Math.max(largest, JSON.stringify(batch.rows).length);
    }
    expect(rows).toBe(5_001);
    expect(largest).toBeLessThan(5 * 2 ** 20);
  });
});

/** 0 before the copy has begun. */
async function copiedRows(target: Database): Promise<number> {
  const { rows } = await sql<{ sum: number }>`select coalesce(sum(copied), 0) as sum from copy_progress`
    .execute(target)
    .catch(() => ({ rows: [] }));
  return Number(rows[0]?.sum ?? 0);
}
