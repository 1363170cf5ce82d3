/**
 * Lists of targets in spaces and sites of all installations of an integration, and their numbers.
 * SQL only, as in `target-rows.ts`.
 */

import type { Level } from '../../../model/level.ts';
import { type Page, type PageRequest, page } from '../../database/page.ts';
import type { Database } from '../../database/tables.ts';
import { type Installation, installationOf } from './target-rows.ts';

export interface PlacesQuery extends PageRequest {
  readonly integration: string;
  readonly level: Exclude<Level, 'organization'>;
  /** Only this organization's. */
  readonly organization?: string | undefined;
  /** Only those of this installation. */
  readonly installationId?: string | undefined;
  /** Only this space or site. */
  readonly place?: string | undefined;
  /** Only those with this external id. */
  readonly externalId?: string | undefined;
}

/** Between the two ids of a key; no id contains it. */
const SEPARATOR = '/';

/** Form of the keys of `listPlaces`. */
export const PLACE_KEY = /^[A-Za-z0-9_-]+\/[A-Za-z0-9._-]+$/;

const keyOf = (installationId: string, place: string): string => `${installationId}${SEPARATOR}${place}`;

/** Targets of an integration in spaces, or in sites, sorted by installation and place. */
export async function listPlaces(database: Database, query: PlacesQuery): Promise<Page<Installation>> {
  const { integration, level, organization, installationId, place, externalId, cursor, limit } = query;
  let select = database
    .selectFrom('targets')
    .selectAll()
    .where('integration', '=', integration)
    .where('level', '=', level);
  if (organization !== undefined) select = select.where('organization', '=', organization);
  if (installationId !== undefined) select = select.where('installation_id', '=', installationId);
  if (place !== undefined) select = select.where('place', '=', place);
  if (externalId !== undefined) {
    select = select.where(({ exists, selectFrom }) =>
      exists(
        selectFrom('external_ids')
          .select('external_ids.place')
          .where('external_ids.integration', '=', integration)
          .where('external_ids.external_id', '=', externalId)
          .whereRef('external_ids.installation_id', '=', 'targets.installation_id')
          .whereRef('external_ids.level', '=', 'targets.level')
          .whereRef('external_ids.place', '=', 'targets.place'),
      ),
    );
    // Attack: an external id that nothing has, looked up in every place of the integration. The
    // few installations that carry it are found first.
    const carriers = database
      .selectFrom('external_ids')
      .select('installation_id')
      .where('integration', '=', integration)
      .where('external_id', '=', externalId);
    select = select.where('installation_id', 'in', carriers);
  }
  if (cursor !== undefined) {
    const [id = '', after = ''] = cursor.split(SEPARATOR);
    select = select.where(({ and, or, eb }) =>
      and([
        // Bounds the search of the index; the rest of the condition does not.
        eb('installation_id', '>=', id),
        or([eb('installation_id', '>', id), eb('place', '>', after)]),
      ]),
    );
  }
  const rows = await select
    .orderBy('installation_id')
    .orderBy('place')
    .limit(limit + 1)
    .execute();
  return page(rows, limit, (row) => keyOf(row.installation_id, row.place), installationOf);
}

/** Numbers of spaces of some installations. Those without spaces are left out. */
export async function countSpaces(
  database: Database,
  installationIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (installationIds.length === 0) return new Map();
  const rows = await database
    .selectFrom('targets')
    .select(({ fn }) => ['installation_id', fn.countAll().as('count')])
    .where('installation_id', 'in', installationIds)
    .where('level', '=', 'space')
    .groupBy('installation_id')
    .execute();
  return new Map(rows.map(({ installation_id: id, count }) => [id, Number(count)]));
}
