/**
 * Bulk statements do the same on every engine, and the same for one row of values as for many.
 */
import { sql } from 'kysely';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  type BulkStatement,
  bulk,
  type ColumnValue,
  changeForEach,
  RowLock,
  runForEach,
  TEXT,
  WHOLE,
} from '../../../src/host/database/bulk.ts';
import type { Database } from '../../../src/host/database/tables.ts';
import { temporaryFolder } from '../../support/store/temporary-store.ts';
import { openTestDatabase } from '../../support/store/test-engine.ts';

/** A database with a table of three things. */
async function opened(): Promise<Database> {
  const database = await openTestDatabase(await temporaryFolder({ inMemory: true }));
  onTestFinished(() => database.destroy());
  const table = database.schema
    .createTable('things')
    .addColumn('id', 'text', (id) => id.primaryKey())
    .addColumn('n', 'bigint')
    .addColumn('note', 'text');
  await table.execute();
  await runForEach(database, INSERT, [
    ['a', 1, 'one'],
    ['b', 2, null],
    ['c', null, 'it’s "three", {x,\\y}'],
  ]);
  return database;
}

const INSERT = bulk`insert into things (id, n, note) values (${TEXT}, ${WHOLE}, ${TEXT})`;
const SELECT = bulk`select id, n from things where id = ${TEXT}${new RowLock('things')}`;
const UPDATE = bulk`update things set n = n + ${WHOLE} where id = ${TEXT} and n is not null`;
const DELETE = bulk`delete from things where id = ${TEXT}`;

const things = async (database: Database) =>
  (await sql<{ id: string; n: number | null }>`select id, n, note from things order by id`.execute(database))
    .rows;

const ids = async (database: Database) => (await things(database)).map(({ id }) => id);

const inOne = <Result>(database: Database, work: (transaction: Database) => Promise<Result>) =>
  database.transaction().execute(work);

test('values come back as they were: null, quotes, braces, backslashes, and whole numbers', async () => {
  const database = await opened();
  await runForEach(database, INSERT, [['d', Number.MAX_SAFE_INTEGER, 'null']]);
  expect(await things(database)).toEqual([
    { id: 'a', n: 1, note: 'one' },
    { id: 'b', n: 2, note: null },
    { id: 'c', n: null, note: 'it’s "three", {x,\\y}' },
    { id: 'd', n: Number.MAX_SAFE_INTEGER, note: 'null' },
  ]);
});

describe('a selection', () => {
  test.each([[['b']], [['c', 'a']], [['b', 'nothing', 'a', 'b']], [['nothing', 'nobody']]])(
    'of %j is in the order of its rows of values',
    async (asked) => {
      const database = await opened();
      const rows = asked.map((id) => [id]);
      const found = await inOne(database, (transaction) =>
        runForEach<{ id: string }>(transaction, SELECT, rows),
      );
      expect(found.map(({ id }) => id)).toEqual(asked.filter((id) => ['a', 'b', 'c'].includes(id)));
    },
  );
});

describe('a change', () => {
  const changed = async (statement: BulkStatement, rows: readonly (readonly ColumnValue[])[]) => {
    const database = await opened();
    const done = await inOne(database, (transaction) => changeForEach(transaction, statement, rows));
    return [done, await things(database)] as const;
  };

  test.each([
    [[[5, 'a']], [true], [6, 2, null]],
    [[[5, 'c']], [false], [1, 2, null]],
    [
      [
        [5, 'c'],
        [6, 'b'],
        [7, 'nothing'],
        [8, 'a'],
      ],
      [false, true, false, true],
      [9, 8, null],
    ],
    [[], [], [1, 2, null]],
  ] as const)('of %j tells of each row whether it changed one', async (rows, done, numbers) => {
    const [told, after] = await changed(UPDATE, rows);
    expect(told).toEqual(done);
    expect(after.map(({ n }) => n)).toEqual(numbers);
  });

  test.each([[['a']], [['nothing', 'c']]])('that deletes %j does so, too', async (gone) => {
    const rows = gone.map((id) => [id]);
    const [told, after] = await changed(DELETE, rows);
    expect(told).toEqual(gone.map((id) => id !== 'nothing'));
    expect(after.map(({ id }) => id)).toEqual(['a', 'b', 'c'].filter((id) => !gone.includes(id)));
  });
});

describe('an insert', () => {
  const COPY = bulk`
    insert into things (id, n, note) select ${TEXT}, n, note from things where id = ${TEXT}
    on conflict (id) do update set n = excluded.n`;

  test('of a selection inserts what is found, and writes over what is there', async () => {
    const database = await opened();
    const rows = [
      ['x', 'a'],
      ['y', 'nothing'],
      ['c', 'b'],
    ];
    expect(await inOne(database, (transaction) => changeForEach(transaction, COPY, rows))).toEqual([
      true,
      false,
      true,
    ]);
    const after = await things(database);
    expect(after.map(({ id, n }) => [id, n])).toEqual([
      ['a', 1],
      ['b', 2],
      ['c', 2],
      ['x', 1],
    ]);
  });

  test('of which one row is there already inserts none', async () => {
    const database = await opened();
    const rows = ['x', 'a', 'y'].map((id) => [id, 0, '']);
    await expect(inOne(database, (transaction) => runForEach(transaction, INSERT, rows))).rejects.toThrow();
    expect(await ids(database)).toEqual(['a', 'b', 'c']);
  });
});

test('attack: a value is never a part of the statement', async () => {
  const database = await opened();
  const hostile = ["'; drop table things; --", '$1', '{a,b}', '\\', '"', "a' or '1'='1"];
  await runForEach(
    database,
    INSERT,
    hostile.map((id) => [id, 0, id]),
  );
  expect(
    await changeForEach(
      database,
      DELETE,
      hostile.map((id) => [id]),
    ),
  ).toEqual(hostile.map(() => true));
  expect(await ids(database)).toEqual(['a', 'b', 'c']);
});
