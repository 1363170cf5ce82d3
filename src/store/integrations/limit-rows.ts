/**
 * The limits that are lowered for an integration, as JSON in its row.
 *
 * What is read back is taken name by name: a limit that this version of Annex does not know, or no longer lets anybody
 * lower, is none.
 */

import type { Database } from '../../database/tables.ts';
import { LOWERABLE_LIMITS, type LoweredLimits } from '../../model/lowered-limits.ts';

/** @returns undefined where there is no such integration */
export async function readLoweredLimits(
  database: Database,
  integration: string,
): Promise<LoweredLimits | undefined> {
  const row = await database
    .selectFrom('integrations')
    .select('lowered_limits')
    .where('name', '=', integration)
    .executeTakeFirst();
  return row && loweredLimitsOf(row.lowered_limits);
}

/** Replaces all of them. @returns whether there is such an integration */
export async function writeLoweredLimits(
  database: Database,
  integration: string,
  lowered: LoweredLimits,
): Promise<boolean> {
  const row = await database
    .updateTable('integrations')
    .set({ lowered_limits: JSON.stringify(lowered) })
    .where('name', '=', integration)
    .returning('name')
    .executeTakeFirst();
  return row !== undefined;
}

/** What a row says. */
export function loweredLimitsOf(json: string): LoweredLimits {
  const stored = JSON.parse(json) as Record<string, unknown>;
  const known = LOWERABLE_LIMITS.filter((name) => Number.isSafeInteger(stored[name]));
  return Object.fromEntries(known.map((name) => [name, stored[name]]));
}
