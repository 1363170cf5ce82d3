/**
 * Lowered limits of integrations, stored as JSON in their rows.
 *
 * Reading ignores names that this version of Annex does not know or no longer lets operators lower.
 */

import { LOWERABLE_LIMITS } from '../../../limits.ts';
import type { LoweredLimits } from '../../../model/lowered-limits.ts';
import type { Database } from '../../database/tables.ts';

/** @returns undefined if there is no such integration */
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

/** Replaces all lowered limits. @returns whether the integration exists */
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

/** Parses the column `lowered_limits`. */
export function loweredLimitsOf(json: string): LoweredLimits {
  const stored = JSON.parse(json) as Record<string, unknown>;
  const known = LOWERABLE_LIMITS.filter((name) => Number.isSafeInteger(stored[name]));
  return Object.fromEntries(known.map((name) => [name, stored[name]]));
}
