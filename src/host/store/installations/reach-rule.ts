/**
 * The reach rule: the installations of an organization that cover a space or a site. Shared by
 * events and blocks.
 *
 * An active installation is in reach through its target in that place, which must be active, too.
 * Without a target there, it is in reach itself if its selection is `all`.
 */

import type { Level } from '../../../model/level.ts';
import type { Database } from '../../database/tables.ts';

/** A space or a site of an organization, or the organization itself. */
export interface Scene {
  readonly organization: string;
  readonly level: Level;
  /**
   * Id of the space or the site; if empty, only installations whose selection is `all` match. At
   * the level of the organization it is empty, and every installation is its own target there.
   */
  readonly place: string;
}

/**
 * Sorted by integration name. `whole`: the installation; `there`: its target in that place, or
 * null.
 */
export function inReach(database: Database, scene: Scene) {
  return inReachOnceActive(database, scene)
    .where('whole.status', '=', 'active')
    .where((where) => where.or([where('there.status', '=', 'active'), where('there.place', 'is', null)]));
}

/**
 * The same with inactive targets, which are in reach once they are active.
 *
 * One statement. Attack: an organization installs into a space of another one, whose id it has
 * seen, to receive events of that space. Only installations of the given organization count; the
 * space id selects among those.
 */
export function inReachOnceActive(database: Database, { organization, level, place }: Scene) {
  const selection = level === 'space' ? 'whole.space_selection' : 'whole.site_selection';
  return database
    .selectFrom('targets as whole')
    .innerJoin('integrations', 'integrations.name', 'whole.integration')
    .leftJoin('targets as there', (join) =>
      join
        .onRef('there.installation_id', '=', 'whole.installation_id')
        .on('there.level', '=', level)
        .on('there.place', '=', place),
    )
    .select(['whole.integration', 'whole.installation_id', 'integrations.active_version as number'])
    .where('whole.organization', '=', organization)
    .where('whole.level', '=', 'organization')
    .where((where) => where.or([where('there.place', 'is not', null), where(selection, '=', 'all')]))
    .orderBy('whole.integration');
}
