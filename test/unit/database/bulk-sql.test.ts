/**
 * The texts of bulk statements for PostgreSQL, in every shape that the store writes.
 */
import { describe, expect, test } from 'vitest';
import { type BulkStatement, bulk, RowLock, TEXT, WHOLE } from '../../../src/host/database/bulk.ts';
import { bulkSql } from '../../../src/host/database/postgres/bulk-sql.ts';

/** A text in one line. */
const line = (sql: string): string => sql.replaceAll(/\s+/g, ' ').trim();

const texts = (statement: BulkStatement) => {
  const { forOne, forMany, forChanges } = bulkSql(statement);
  return { forOne: line(forOne), forMany: line(forMany), forChanges: line(forChanges) };
};

const ROWS_OF_ONE = 'unnest($1::text[]) with ordinality as bulk_rows (bulk_1, bulk_row)';
const ROWS_OF_TWO =
  'unnest($1::bigint[], $2::text[]) with ordinality as bulk_rows (bulk_1, bulk_2, bulk_row)';

describe('for one row', () => {
  test('each value is a parameter with its type', () => {
    const statement = bulk`update t set a = ${WHOLE} where id = ${TEXT}`;
    expect(texts(statement).forOne).toBe('update t set a = $1::bigint where id = $2::text');
  });

  test('rows are locked that nobody else has locked', () => {
    const statement = bulk`select id from t where id = ${TEXT}${new RowLock('t')}`;
    expect(texts(statement).forOne).toBe('select id from t where id = $1::text for update of t skip locked');
    expect(statement.sql).toBe('select id from t where id = ?');
  });
});

describe('for many rows', () => {
  test('a select runs for each row of values, in their order', () => {
    const statement = bulk`select a from t where id = ${TEXT} order by a limit 3`;
    expect(texts(statement).forMany).toBe(
      `select found.* from ${ROWS_OF_ONE} cross join lateral (select a from t where id = bulk_rows.bulk_1 order by a limit 3) as found order by bulk_rows.bulk_row`,
    );
  });

  test('an update joins the values', () => {
    const statement = bulk`update t set a = ${WHOLE} where id = ${TEXT} and b > 0`;
    const joined = `update t set a = bulk_rows.bulk_1 from ${ROWS_OF_TWO} where id = bulk_rows.bulk_2 and b > 0`;
    expect(texts(statement)).toMatchObject({
      forMany: joined,
      forChanges: `${joined} returning bulk_rows.bulk_row`,
    });
  });

  test('an update that returns rows returns its own columns only, or numbers if these are wanted', () => {
    const all = bulk`update t set a = ${WHOLE} where id = ${TEXT} returning *`;
    expect(texts(all).forMany).toMatch(/ where id = bulk_rows\.bulk_2 returning t\.\*$/);
    const some = bulk`update t set a = ${WHOLE} where id = ${TEXT} returning id`;
    expect(texts(some).forMany).toMatch(/ returning id$/);
    expect(texts(some).forChanges).toMatch(/ where id = bulk_rows\.bulk_2 returning bulk_rows\.bulk_row$/);
  });

  test('a delete joins the values', () => {
    const statement = bulk`delete from t where id = ${TEXT} returning *`;
    expect(texts(statement)).toMatchObject({
      forMany: `delete from t using ${ROWS_OF_ONE} where id = bulk_rows.bulk_1 returning t.*`,
      forChanges: `delete from t using ${ROWS_OF_ONE} where id = bulk_rows.bulk_1 returning bulk_rows.bulk_row`,
    });
  });

  test('an insert of values selects them', () => {
    const statement = bulk`insert into t (n, id, state) values (${WHOLE}, ${TEXT}, 'new')`;
    expect(texts(statement)).toMatchObject({
      forMany: `insert into t (n, id, state) select bulk_rows.bulk_1, bulk_rows.bulk_2, 'new' from ${ROWS_OF_TWO}`,
      forChanges:
        `with chosen (n, id, state, bulk_row) as materialized (select bulk_rows.bulk_1, bulk_rows.bulk_2, 'new', bulk_rows.bulk_row from ${ROWS_OF_TWO}), ` +
        'written as (insert into t (n, id, state) select n, id, state from chosen ) select bulk_row from chosen',
    });
  });

  test('an insert of a selection joins it, and keeps its clause for conflicts', () => {
    const statement = bulk`
      insert into kept (id, n) select t.id, ${WHOLE} from t where t.id = ${TEXT}
      on conflict (id) do update set n = excluded.n`;
    expect(texts(statement).forMany).toBe(
      `insert into kept (id, n) select t.id, bulk_rows.bulk_1 from ${ROWS_OF_TWO}, t where t.id = bulk_rows.bulk_2 on conflict (id) do update set n = excluded.n`,
    );
    expect(texts(statement).forChanges).toMatch(
      /written as \(insert into kept \(id, n\) select id, n from chosen on conflict \(id\) do update set n = excluded\.n\) select bulk_row from chosen$/,
    );
  });

  test('the text does not depend on the number of rows, and is written once', () => {
    const statement = bulk`delete from t where id = ${TEXT}`;
    expect(bulkSql(statement)).toBe(bulkSql(statement));
  });
});

describe('the outermost clause is found', () => {
  test('behind one in parentheses', () => {
    const statement = bulk`update t set a = (select max(b) from u where u.id = ${TEXT}) where id = ${TEXT}`;
    expect(texts(statement).forMany).toMatch(
      /u\.id = bulk_rows\.bulk_1\) from unnest.* where id = bulk_rows/,
    );
  });

  test.each([
    ['a quoted text', `'where from values'`],
    ['a quoted text with a quote', `'it''s where it was'`],
    ['a quoted text with a parenthesis', `'(where'`],
    ['a quoted name', `"where"`],
    ['a longer word', 'whereabouts'],
    ['a word with an ending', 'a_where'],
  ])('behind %s', (_, text) => {
    const statement = bulk`update t set a = ${text} where id = ${TEXT}`;
    expect(texts(statement).forMany).toBe(
      `update t set a = ${text} from ${ROWS_OF_ONE} where id = bulk_rows.bulk_1`,
    );
  });

  test('on a line of its own', () => {
    const statement = bulk`
      delete from t
      where id = ${TEXT}`;
    expect(texts(statement).forMany).toBe(`delete from t using ${ROWS_OF_ONE} where id = bulk_rows.bulk_1`);
  });
});

test.each(['with x as (select 1) select * from x', 'truncate t', 'UPDATE t set a = 1'])(
  '"%s" is refused: it is none of the shapes',
  (text) => {
    expect(() => bulkSql(bulk`${text}`)).toThrow('has to select, insert, update or delete');
  },
);

test.each(['update t set a = 1', 'delete from t'])(
  'attack on every row: "%s" without a condition is refused',
  (text) => {
    expect(() => bulkSql(bulk`${text}`)).toThrow('names no row');
  },
);
