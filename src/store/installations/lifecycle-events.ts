/**
 * Events of the life of targets, for those who deliver them and those who look at them (REFERENCE D4, D11).
 *
 * They are written with the changes they tell of (`lifecycle-event-rows.ts`). Here they are read in their order, one after the
 * other for each installation, and marked once they are over; what an event holds is then removed, because a configuration
 * may hold credentials. Who is told when, and what an answer means, is decided in `delivery/`.
 */
import type { ExpressionBuilder, Selectable } from 'kysely';
import { type Page, type PageRequest, page } from '../../database/page.ts';
import type { Database, LifecycleEventState, Tables } from '../../database/tables.ts';
import { DAY_MS, type Limits } from '../../limits.ts';
import { LEVELS, type TargetName } from '../../model/installation.ts';
import type { Vault } from '../vault/vault.ts';
import {
  type LifecycleEventRecord,
  lifecycleEventPlace,
  lifecycleEventType,
} from './lifecycle-event-rows.ts';

/** Rows that one pruning removes: each statement holds up the event loop for as long as it runs. */
const ROWS_PER_PRUNING = 500;
/** What is kept of how an attempt ended. */
const OUTCOME_CHARS_MAX = 200;

/** Types of events whose target is gone: that it was paused holds them back no more. */
const DELETED = LEVELS.map((level) => lifecycleEventType('deleted', level));

/** An event as it is looked at: without what is sealed. */
export interface LifecycleEventEntry {
  readonly eventId: string;
  /** Orders the events of one installation. */
  readonly position: number;
  readonly type: string;
  readonly target: TargetName;
  readonly integration: string;
  /** The organization that installed. */
  readonly organization: string;
  /** How many calls the change was made inside of. */
  readonly depth: number;
  readonly state: LifecycleEventState;
  /** Calls that were made for it. */
  readonly attempts: number;
  /** When it is to be tried next; milliseconds since 1970, as all times here. */
  readonly dueAt: number;
  /** How its last attempt ended. */
  readonly outcome?: string;
  readonly createdAt: number;
  readonly finishedAt?: number;
}

/** One that is to be told, opened. */
export interface WaitingLifecycleEvent extends LifecycleEventEntry {
  /** The organization that owns the integration; the integration itself, where that is gone. */
  readonly owner: string;
  readonly record: LifecycleEventRecord;
}

/** How an event is over. */
export interface LifecycleEventEnd {
  readonly state: Exclude<LifecycleEventState, 'pending'>;
  /** A word, or a few: never what the integration said. */
  readonly outcome: string;
  /** Whether a call was made for it. */
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
  /** Told after a commit that may have brought an event of this installation. */
  onWritten: ((installationId: string) => void) | undefined;

  constructor(parts: LifecycleEventsParts) {
    this.#parts = parts;
  }

  /** Installations with events that wait, in the order of their ids. */
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
   * The first event of an installation that its integration has yet to hear, and may hear now; undefined where there is none.
   * Those of a target that is paused, by itself or with its installation, wait until it is resumed, and let others pass.
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

  /** An event is over: what it held is removed. */
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

  /** An attempt came to nothing and says nothing of the integration: the event is tried again at `dueAt`. */
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

  /** Whose an installation is, or was, by its latest event; undefined where none is kept. */
  async latest(installationId: string): Promise<LifecycleEventEntry | undefined> {
    const { items } = await this.list({ installationId, limit: 1 });
    return items[0];
  }

  /** How many events wait. */
  async waiting(): Promise<number> {
    const { count } = await this.#parts.database
      .selectFrom('life_events')
      .select(({ fn }) => fn.countAll().as('count'))
      .where('state', '=', 'pending')
      .executeTakeFirstOrThrow();
    return Number(count);
  }

  /** Forgets, a bounded number of rows at a time, what is older than `lifeEventDays`. */
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

/** The target of an event, or the installation that it is in, where that is paused. */
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
