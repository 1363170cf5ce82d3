/**
 * The copy from SQLite to PostgreSQL: what it copies, how it goes on after a kill, and what it
 * refuses. Runs where the suite has a PostgreSQL server.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Kysely, sql } from 'kysely';
import { describe, expect, onTestFinished, test } from 'vitest';
import { copiedTables } from '../../../src/database/copy/copied-tables.ts';
import { type CopyNote, copyStore } from '../../../src/database/copy/store-copy.ts';
import { openDatabase } from '../../../src/database/database.ts';
import { openMigrated } from '../../../src/database/postgres/postgres-engine.ts';
import { sqliteDialect } from '../../../src/database/sqlite/sqlite-dialect.ts';
import type { Database } from '../../../src/database/tables.ts';
import { openStore } from '../../../src/store/store.ts';
import { fill, open as openFilled } from '../../support/store/store-changes.ts';
import { storeOptions, temporaryFolder } from '../../support/store/temporary-store.ts';
import { makeDatabase, testEngine } from '../../support/store/test-engine.ts';

const PROGRAM = fileURLToPath(new URL('../../../src/cli/copy.ts', import.meta.url));
const LINES = 30_000;

/** A SQLite store with rows in its tables, and thousands of log lines. */
async function source(lines = LINES): Promise<string> {
  const folder = await temporaryFolder({ inMemory: true });
  const store = await openFilled(folder, randomUUID());
  await fill(store);
  await store.close();
  const database = await openSource(folder);
  await sql`
    with recursive n (i) as (select 1 union all select i + 1 from n where i < ${lines})
    insert into log_lines (installation_id, id, version, request_id, level, text, at)
    select 'inst', printf('%08d', i), 1, 'r', 1, printf('line %d ünïcode', i), i from n`.execute(database);
  await database.destroy();
  return folder;
}

const openSource = (folder: string): Promise<Database> =>
  openDatabase(sqliteDialect(join(folder, 'annex.db')));

async function openTarget(folder: string): Promise<{ url: string; target: Database }> {
  const url = await makeDatabase(folder);
  const target = await openMigrated(url, 'test');
  onTestFinished(() => target.destroy());
  return { url, target };
}

interface Ended {
  readonly code: number | null;
  readonly output: string;
}

/** Runs the command. @param killAfter kills it after so many lines about rows */
function run(folder: string, url: string | undefined, killAfter = Number.POSITIVE_INFINITY): Promise<Ended> {
  const { ANNEX_DATABASE_URL: _, ...env } = process.env;
  const child = spawn(process.execPath, [PROGRAM, '--data', folder], {
    env: url === undefined ? env : { ...env, ANNEX_DATABASE_URL: url },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      if ((output.match(/^copying /gm) ?? []).length >= killAfter) child.kill('SIGKILL');
    });
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, output })));
}

const untyped = (database: Database) =>
  database as unknown as Kysely<Record<string, Record<string, unknown>>>;

describe('a copy of a store', () => {
  test('copies every table of the schema, and compares every row', async () => {
    const folder = await source(100);
    const { target } = await openTarget(folder);
    const from = await openSource(folder);
    onTestFinished(() => from.destroy());
    const copied = await copyStore({ source: from, target, progress: () => undefined });
    const tables = await target.introspection.getTables();
    const names = tables.map(({ name }) => name).filter((name) => !name.startsWith('kysely_'));
    expect(copied.map(({ table }) => table).sort()).toEqual(names.sort());
    for (const { name } of await copiedTables(from)) {
      const both = await Promise.all(
        [from, target].map((database) => untyped(database).selectFrom(name).selectAll().execute()),
      );
      expect(new Set(both[1]?.map((row) => JSON.stringify(row)))).toEqual(
        new Set(both[0]?.map((row) => JSON.stringify(row))),
      );
    }
    expect(copied.find(({ table }) => table === 'log_lines')?.rows).toBe(101);
  });

  test('killed again and again, goes on where it was, and a node starts on the finished copy', async () => {
    const folder = await source();
    const { url, target } = await openTarget(folder);
    let kills = 0;
    for (let lines = 1; lines <= 40; lines += 3) {
      const { code } = await run(folder, url, lines);
      if (code === 0) break;
      kills += 1;
      await expect(openStore({ ...storeOptions(folder), makeEngine: testEngine(folder) })).rejects.toThrow(
        'a copy into it is not finished',
      );
    }
    expect(kills).toBeGreaterThan(2);
    const { code, output } = await run(folder, url);
    // It may have finished before its last kill.
    if (code !== 0) expect(output).toContain('The target is not empty');
    const { rows } = await sql<{ count: number }>`select count(*) as count from log_lines`.execute(target);
    expect(Number(rows[0]?.count)).toBe(LINES + 1);
    const store = await openStore({ ...storeOptions(folder), makeEngine: testEngine(folder) });
    onTestFinished(() => store.close());
    expect((await store.installations.list({ integration: 'hello', limit: 9 })).items).toHaveLength(1);
  });

  test('finds a row that something else has changed, and names it', async () => {
    const folder = await source(5_000);
    const { target } = await openTarget(folder);
    const from = await openSource(folder);
    onTestFinished(() => from.destroy());
    const copy = (progress: (note: CopyNote) => void) => copyStore({ source: from, target, progress });
    const interrupted = copy(({ step }) => {
      if (step === 'verifying') throw new Error('interrupted');
    });
    await expect(interrupted).rejects.toThrow('interrupted');
    await sql`update log_lines set text = 'altered' where id = '00002500'`.execute(target);
    await expect(copy(() => undefined)).rejects.toThrow(
      'The copy of log_lines differs from the source at installation_id, id = inst, 00002500.',
    );
  });

  test('refuses a target that holds something else, a running service, and a folder without a store', async () => {
    const folder = await source(10);
    const { url, target } = await openTarget(folder);
    await sql`insert into tokens (id, kind, hash, created_at) values ('t', 'admin', 'h', 1)`.execute(target);
    expect(await run(folder, url)).toMatchObject({
      code: 1,
      output: expect.stringContaining('its table tokens has rows'),
    });
    const running = await openFilled(folder, randomUUID());
    onTestFinished(() => running.close());
    expect(await run(folder, url)).toMatchObject({ code: 1, output: expect.stringContaining('--data') });
    const empty = await temporaryFolder();
    expect(await run(empty, url)).toMatchObject({
      code: 1,
      output: expect.stringContaining('does not exist'),
    });
    expect(await run(folder, undefined)).toMatchObject({
      code: 2,
      output: expect.stringContaining('ANNEX_DATABASE_URL must name'),
    });
  });
});
