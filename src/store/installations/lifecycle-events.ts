/**
 * Reads and finishes lifecycle events (docs/contract/configuration.md#lifecycle-events).
 *
 * `lifecycle-event-rows.ts` writes them. Here they are read in order, one after the other for each
 * installation, and finished. A finished event loses its record, because a configuration may hold
 * credentials. Scheduling and outcomes are decided in `delivery/lifecycle/`.
 */
import type { ExpressionBuilder, Selectable } from 'kysely';
import { type Page, type PageRequest, page } from '../../database/page.ts';
import type { Database, LifecycleEventState, Tables } from '../../database/tables.ts';
import { DAY_MS, type Limits } from '../../limits.ts';
import type { TargetName } from '../../model/installation.ts';
import { LEVELS } from '../../model/level.ts';
import type { Vault } from '../vault/vault.ts';
import {
  type LifecycleEventRecord,
  lifecycleEventPlace,
  lifecycleEventType,
} from './lifecycle-event-rows.ts';

/** Rows that one pruning removes: a statement blocks the event loop while it runs. */
const ROWS_PER_PRUNING = 500;
/** Characters kept of an outcome. */
const OUTCOME_CHARS_MAX = 200;

/** Event types of deletions: a pause does not hold them back. */
const DELETED = LEVELS.map((level) => lifecycleEventType('deleted', level));

/** An event as it is listed: without its record. Times are milliseconds since 1970. */
export interface LifecycleEventEntry {
  readonly eventId: string;
  /** Orders the events of one installation, from 1. */
  readonly position: number;
  readonly type: string;
  readonly target: TargetName;
  readonly integration: string;
  /** The organization that installed. */
  readonly organization: string;
  /** Call depth of the change. */
  readonly depth: number;
  readonly state: LifecycleEventState;
  /** Number of calls made for it. */
  readonly attempts: number;
  /** Time of the next attempt. */
  readonly dueAt: number;
  /** How the last attempt ended. */
  readonly outcome?: string;
  readonly createdAt: number;
  readonly finishedAt?: number;
}

/** A pending event, with its opened record. */
export interface WaitingLifecycleEvent extends LifecycleEventEntry {
  /** The organization that owns the integration; the integration's name if it is deleted. */
  readonly owner: string;
  readonly record: LifecycleEventRecord;
}

/** Outcome of an event. */
export interface LifecycleEventEnd {
  readonly state: Exclude<LifecycleEventState, 'pending'>;
  /** A few words; never text from the integration. */
  readonly outcome: string;
  /** Whether a call was made. */
  readonly called: boolean;
}

export interface LifecycleEventsParts {
  readonly database: Database;
  readonly vault: Vault;
  readonly clock: () => number;
  readonly limits: Pick<Limits, 'lifeEventDays'>;
}

export class LifecycleEvents {
  readonly #parts: LifecycleEventsParts;

  constructor(parts: LifecycleEventsParts) {
    this.#parts = parts;
  }

  /** Installations with pending events, sorted by id. */
  async waitingInstallations({ cursor, limit }: PageRequest): Promise<Page<string>> {
    let select = this.#parts.database
      .selectFrom('life_events')
      .select('installation_id')
      .distinct()
      .where('state', '=', 'pending');
    if (cursor !== undefined) select = select.where('installation_id', '>', cursor);
    const rows = await select
      .orderBy('installation_id')
      .limit(limit + 1)
      .execute();
    const id = (row: { installation_id: string }) => row.installation_id;
    return page(rows, limit, id, id);
  }

  /**
   * The first event of an installation that can be delivered now; undefined if there is none.
   * Events of a target that is paused, by itself or through its installation, wait for the end of
   * the pause; events of other targets overtake them.
   */
  async first(installationId: string): Promise<WaitingLifecycleEvent | undefined> {
    const { database, vault } = this.#parts;
    const row = await database
      .selectFrom('life_events')
      .leftJoin('integrations', 'integrations.name', 'life_events.integration')
      .selectAll('life_events')
      .select('integrations.organization as owner')
      .where('state', '=', 'pending')
      .where('life_events.installation_id', '=', installationId)
      .where((where) =>
        where.or([where('type', 'in', DELETED), where.not(where.exists(pausedTarget(where)))]),
      )
      .orderBy('position')
      .limit(1)
      .executeTakeFirst();
    if (row === undefined) return undefined;
    const record = JSON.parse(
      vault.open(lifecycleEventPlace(row.event_id), row.sealed_record),
    ) as LifecycleEventRecord;
    return { ...entryOf(row), owner: row.owner ?? row.integration, record };
  }

  /** Finishes a pending event and removes its record. */
  async finish(event: LifecycleEventEntry, { state, outcome, called }: LifecycleEventEnd): Promise<void> {
    await this.#parts.database
      .updateTable('life_events')
      .set({
        state,
        outcome: outcome.slice(0, OUTCOME_CHARS_MAX),
        attempts: event.attempts + (called ? 1 : 0),
        sealed_record: '',
        finished_at: this.#parts.clock(),
      })
      .where('event_id', '=', event.eventId)
      .where('state', '=', 'pending')
      .execute();
  }

  /** Records an attempt that failed because of the platform; the next one is due at `dueAt`. */
  async postpone(event: LifecycleEventEntry, dueAt: number, outcome: string): Promise<void> {
    await this.#parts.database
      .updateTable('life_events')
      .set({
        attempts: event.attempts + 1,
        due_at: dueAt,
        outcome: outcome.slice(0, OUTCOME_CHARS_MAX),
      })
      .where('event_id', '=', event.eventId)
      .where('state', '=', 'pending')
      .execute();
  }

  /** Newest first. */
  async list(query: PageRequest & { readonly installationId: string }): Promise<Page<LifecycleEventEntry>> {
    const { installationId, cursor, limit } = query;
    let select = this.#parts.database
      .selectFrom('life_events')
      .selectAll()
      .where('installation_id', '=', installationId);
    if (cursor !== undefined) select = select.where('position', '<', Number(cursor));
    const rows = await select
      .orderBy('position', 'desc')
      .limit(limit + 1)
      .execute();
    return page(rows, limit, (row) => String(row.position), entryOf);
  }

  async read(eventId: string): Promise<LifecycleEventEntry | undefined> {
    const row = await this.#parts.database
      .selectFrom('life_events')
      .selectAll()
      .where('event_id', '=', eventId)
      .executeTakeFirst();
    return row && entryOf(row);
  }

  /**
   * Latest event of an installation, from which its owners are known after deletion; undefined if
   * none is kept.
   */
  async latest(installationId: string): Promise<LifecycleEventEntry | undefined> {
    const { items } = await this.list({ installationId, limit: 1 });
    return items[0];
  }

  /** Number of pending events. */
  async waiting(): Promise<number> {
    const { count } = await this.#parts.database
      .selectFrom('life_events')
      .select(({ fn }) => fn.countAll().as('count'))
      .where('state', '=', 'pending')
      .executeTakeFirstOrThrow();
    return Number(count);
  }

  /** Removes events finished more than `lifeEventDays` ago, a bounded number of rows. */
  async prune(): Promise<void> {
    const { database, clock, limits } = this.#parts;
    const rows = await database
      .selectFrom('life_events')
      .select('event_id')
      .where('finished_at', '<', clock() - limits.lifeEventDays * DAY_MS)
      .orderBy('finished_at')
      .limit(ROWS_PER_PRUNING)
      .execute();
    if (rows.length === 0) return;
    const ids = rows.map((row) => row.event_id);
    await database.deleteFrom('life_events').where('event_id', 'in', ids).execute();
  }
}

/** The target of an event, or its installation, if paused. */
const pausedTarget = ({ selectFrom }: ExpressionBuilder<Tables, 'life_events'>) =>
  selectFrom('targets')
    .select('targets.place')
    .whereRef('targets.installation_id', '=', 'life_events.installation_id')
    .where('targets.status', '=', 'paused')
    .where(({ or, and, eb, ref }) =>
      or([
        eb('targets.level', '=', 'organization'),
        and([
          eb('targets.level', '=', ref('life_events.level')),
          eb('targets.place', '=', ref('life_events.place')),
        ]),
      ]),
    );

const entryOf = (row: Selectable<Tables['life_events']>): LifecycleEventEntry => ({
  eventId: row.event_id,
  position: row.position,
  type: row.type,
  target: { installationId: row.installation_id, level: row.level, place: row.place },
  integration: row.integration,
  organization: row.organization,
  depth: row.depth,
  state: row.state,
  attempts: row.attempts,
  dueAt: row.due_at,
  ...(row.outcome !== null && { outcome: row.outcome }),
  createdAt: row.created_at,
  ...(row.finished_at !== null && { finishedAt: row.finished_at }),
});
