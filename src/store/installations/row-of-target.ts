/**
 * Adds a row that belongs to a target, where there is such a target: its row is looked for by the statement that inserts, so
 * that none is left behind for a target that was removed a moment before. What becomes of a row that is there already is for
 * the caller to say, in the same statement: of two calls that come at once, one is the first.
 */
import type { InsertQueryBuilder, InsertResult } from 'kysely';
import type { Database, Tables } from '../../database/tables.ts';
import type { TargetName } from '../../model/installation.ts';
import { targetKey } from './target-rows.ts';

/** Tables whose rows belong to a target for a while, and their own column. */
interface OwnColumn {
  spent_states: 'digest';
  credential_leases: 'holder';
}

/** What such a row has beside the name of its target. */
interface Row<T extends keyof OwnColumn> {
  readonly table: T;
  readonly column: OwnColumn[T];
  readonly value: string;
  readonly expiresAt: number;
}

export function insertRowOfTarget<T extends keyof OwnColumn>(
  database: Database,
  name: TargetName,
  { table, column, value, expiresAt }: Row<T>,
): InsertQueryBuilder<Tables, T, InsertResult> {
  return database
    .insertInto<keyof OwnColumn>(table)
    .columns(['installation_id', 'level', 'place', column as never, 'expires_at'])
    .expression((query) =>
      query
        .selectFrom('targets')
        .select(({ val, lit }) => [
          'installation_id',
          'level',
          'place',
          val(value).as(column),
          lit(expiresAt).as('expires_at'),
        ])
        .where((row) => row.and(targetKey(name))),
    ) as never;
}
