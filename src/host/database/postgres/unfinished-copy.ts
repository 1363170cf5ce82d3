/**
 * Whether a copy of another store into a database was begun and is not finished (`copy/`). Its
 * table of progress exists for as long.
 */
import { sql } from 'kysely';
import type { Database } from '../tables.ts';

export const COPY_PROGRESS = 'copy_progress';

export async function hasUnfinishedCopy(database: Database): Promise<boolean> {
  const { rows } = await sql<{ found: string | null }>`
    select to_regclass(${COPY_PROGRESS})::text as found`.execute(database);
  return rows.some(({ found }) => found !== null);
}
