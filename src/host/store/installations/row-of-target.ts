/**
 * Inserts a row that belongs to a target, if the target exists: the inserting statement selects the
 * target's row, so no row is left behind for a target that was just removed. The caller adds the
 * conflict clause to the same statement, so that one of two concurrent calls wins.
 */
import type { InsertQueryBuilder, InsertResult } from 'kysely';
import type { TargetName } from '../../../model/installation.ts';
import type { Database, Tables } from '../../database/tables.ts';
import { targetKey } from './target-rows.ts';

/** Tables whose rows belong to a target, each with its own column. */
interface OwnColumn {
  spent_states: 'digest';
  credential_leases: 'holder';
}

/** A row without the columns that name its target. */
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
