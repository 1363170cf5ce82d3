/**
 * What an organization has installed and is in reach of a space or a site: the one rule, for all who ask.
 *
 * An installation that is active is in reach by its target there, where it has one, which must be active, too; and by the one of
 * the organization where it has none there and speaks for all.
 */

import type { Database } from '../../database/tables.ts';
import type { Level } from '../../model/installation.ts';

/** Where something happens, or is shown. */
export interface Scene {
  readonly organization: string;
  readonly level: Exclude<Level, 'organization'>;
  /** Id of the space or the site; empty for those that speak for all. */
  readonly place: string;
}

/** By the names of their integrations: `whole` is the target of the organization, `there` the one that is there, or nothing. */
export function inReach(database: Database, scene: Scene) {
  return inReachOnceActive(database, scene)
    .where('whole.status', '=', 'active')
    .where((where) => where.or([where('there.status', '=', 'active'), where('there.place', 'is', null)]));
}

/**
 * The same with those that are not active, which are in reach once they are.
 *
 * One statement. The attack: an organization installs into a space of another one's, whose id it has seen, to hear what happens
 * there. So it is the organization that is asked for which counts, and the id only among what that has installed.
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
