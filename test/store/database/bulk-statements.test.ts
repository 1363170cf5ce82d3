/**
 * Bulk statements on the engine of this run: values arrive as they are, and a failed write is
 * reported although nothing waited for it.
 */
import { sql } from 'kysely';
import { expect, onTestFinished, test } from 'vitest';
import { bulk, runForEach, TEXT, updateFound, WHOLE } from '../../../src/host/database/bulk.ts';
import type { Database } from '../../../src/host/database/tables.ts';
import { temporaryFolder } from '../../support/store/temporary-store.ts';
import { openTestDatabase } from '../../support/store/test-engine.ts';

/** What an array would have to escape, and texts of more bytes than characters. */
const TEXTS = [
  '',
  ' ',
  'NULL',
  '{"a":"\\"}',
  "it's, {}",
  '\\',
  '"',
  'äöü – 日本語 🎈',
  'x'.repeat(100_000),
  null,
];
const NUMBERS = [
  0,
  1,
  -1,
  2 ** 31,
  -(2 ** 31) - 1,
  2 ** 32,
  Number.MAX_SAFE_INTEGER,
  Number.MIN_SAFE_INTEGER,
];

const ECHO = bulk`select ${TEXT} as text, ${WHOLE} as number`;
const INSERT = bulk`insert into things (id, number) values (${TEXT}, ${WHOLE})`;
const FIND = bulk`select id, number from things where id = ${TEXT}`;
const RAISE = bulk`update things set number = things.number + ${WHOLE} where things.id = ${TEXT}`;

async function opened(): Promise<Database> {
  const database = await openTestDatabase(await temporaryFolder({ inMemory: true }));
  onTestFinished(() => database.destroy());
  await sql`create table things (id text primary key, number bigint not null)`.execute(database);
  return database;
}

const things = async (database: Database) => {
  const { rows } = await sql<{ id: string; number: number }>`select * from things order by id`.execute(
    database,
  );
  return rows.map(({ id, number }) => [id, number]);
};

test('texts and numbers of many rows arrive as they are, in the order of the rows', async () => {
  const database = await opened();
  const rows = TEXTS.flatMap((text) => [...NUMBERS, null].map((number) => [text, number]));
  const found = await runForEach<{ text: string | null; number: number | null }>(database, ECHO, rows);
  expect(found.map(({ text, number }) => [text, number])).toEqual(rows);
});

test('the rows that a selection finds are returned as they were, and each is updated once', async () => {
  const database = await opened();
  const add = [
    ['a', 1],
    ['b', 2],
    ['c', 3],
  ];
  await runForEach(database, INSERT, add);
  const found = await database
    .transaction()
    .execute((transaction) =>
      updateFound<{ id: string; number: number }>(
        transaction,
        [FIND, [['c'], ['none'], ['a'], ['c']]],
        [RAISE, [10]],
      ),
    );
  expect(found.map(({ id, number }) => [id, number])).toEqual([
    ['c', 3],
    ['a', 1],
    ['c', 3],
  ]);
  expect(await things(database)).toEqual([
    ['a', 11],
    ['b', 2],
    ['c', 13],
  ]);
});

test.each([
  ['at the commit', async () => undefined],
  ['at a later statement', (transaction: Database) => runForEach(transaction, ECHO, [['x', 1]])],
])('a write that fails undoes its transaction and is reported %s, if not before', async (_, then) => {
  const database = await opened();
  await runForEach(database, INSERT, [['taken', 1]]);
  const failed = database.transaction().execute(async (transaction) => {
    await runForEach(transaction, INSERT, [
      ['new', 1],
      ['taken', 2],
    ]);
    await then(transaction);
  });
  await expect(failed).rejects.toThrow(/collided|unique/i);
  expect(await things(database)).toEqual([['taken', 1]]);
  // The connection is as good as before.
  await database.transaction().execute((transaction) => runForEach(transaction, INSERT, [['next', 3]]));
  expect(await things(database)).toEqual([
    ['next', 3],
    ['taken', 1],
  ]);
});
