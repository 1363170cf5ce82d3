/**
 * Rows of an integration's installations and their logs: SQL only, no decisions.
 */
import { setImmediate } from 'node:timers/promises';
import type { Database } from '../../database/tables.ts';

/** Tenants whose logs one statement deletes: each may have a thousand lines. */
const LOGS_AT_ONCE = 4;

/** Number of organizations that have installed it. */
export async function countInstallations(database: Database, integration: string): Promise<number> {
  const { count } = await database
    .selectFrom('targets')
    .select((row) => row.fn.countAll<number>().as('count'))
    .where('integration', '=', integration)
    .where('level', '=', 'organization')
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** An installation and its organization. */
interface Installed {
  readonly installationId: string;
  readonly organization: string;
}

/** Installations of an integration, sorted by id. */
export async function installationsOf(
  database: Database,
  integration: string,
): Promise<readonly Installed[]> {
  const rows = await database
    .selectFrom('targets')
    .select(['installation_id', 'organization'])
    .where('integration', '=', integration)
    .where('level', '=', 'organization')
    .orderBy('installation_id')
    .execute();
  return rows.map((row) => ({ installationId: row.installation_id, organization: row.organization }));
}

/** Removes the logs of tenants, a few at a time. */
export async function deleteLogs(database: Database, tenants: readonly string[]): Promise<void> {
  for (let at = 0; at < tenants.length; at += LOGS_AT_ONCE) {
    const ids = tenants.slice(at, at + LOGS_AT_ONCE);
    await database.deleteFrom('log_lines').where('installation_id', 'in', ids).execute();
    await setImmediate();
  }
}

/** Whether an organization has installed the integration. */
export async function isInstalledIn(
  database: Database,
  integration: string,
  organization: string,
): Promise<boolean> {
  const row = await database
    .selectFrom('targets')
    .select('installation_id')
    .where('integration', '=', integration)
    .where('organization', '=', organization)
    .where('level', '=', 'organization')
    .where('place', '=', '')
    .executeTakeFirst();
  return row !== undefined;
}
