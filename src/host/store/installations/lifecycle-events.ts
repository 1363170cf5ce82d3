/**
 * Reads, claims and finishes lifecycle events (docs/contract/configuration.md#lifecycle-events).
 *
 * `lifecycle-event-rows.ts` writes them. Here they are claimed in order, one at a time for each
 * installation, and finished. A finished event loses its record, because a configuration may hold
 * credentials. Scheduling and outcomes are decided in `delivery/lifecycle/`.
 *
 * Several nodes may share the database. A claim is a lease and a number, its *fence*, as for
 * deliveries (`deliveries/delivery-claims.ts`). The lease outlives the longest possible call, so it
 * is not renewed. No transaction: it would hold the rows of two events, in another order than a
 * change that cancels both.
 */
import type { Selectable, Updateable } from 'kysely';
import { DAY_MS, type Limits } from '../../../limits.ts';
import type { TargetName } from '../../../model/installation.ts';
import { type Page, type PageRequest, page } from '../../database/page.ts';
import type { Database, LifecycleEventState, Tables } from '../../database/tables.ts';
import type { Vault } from '../vault/vault.ts';
import {
  duePage,
  firstDeliverable,
  type LeaseBounds,
  otherLease,
  waitingPage,
} from './lifecycle-claim-rows.ts';
import { type LifecycleEventRecord, lifecycleEventPlace } from './lifecycle-event-rows.ts';

/** Rows that one pruning removes: a statement blocks the event loop while it runs. */
const ROWS_PER_PRUNING = 500;
/** Characters kept of an outcome. */
const OUTCOME_CHARS_MAX = 200;

/**
 * For the time of a claim beside its call: dispatch before it, the end of a call that is overdue,
 * its outcome written; and for clocks of nodes that differ by a little.
 */
const MARGIN_MS = 15_000;

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

/** The first event of an installation that can be delivered. Times are milliseconds since 1970. */
export interface FirstLifecycleEvent {
  readonly eventId: string;
  readonly installationId: string;
  readonly dueAt: number;
  /** The organization that owns the integration; the integration's name if it is deleted. */
  readonly owner: string;
  /** Number of claims so far. */
  readonly fence: number;
  /** End of the lease under which an event of the installation is in flight; absent if none is. */
  readonly leasedUntil?: number;
}

/** An event under a lease. */
export interface ClaimedLifecycleEvent extends LifecycleEventEntry {
  readonly fence: number;
  /** Opens its record. @throws if the record is damaged */
  record(): LifecycleEventRecord;
}

/** Identifies one claim of an event. */
type Claim = Pick<ClaimedLifecycleEvent, 'eventId' | 'fence'>;

/** Outcome of an event. */
export interface LifecycleEventEnd {
  readonly state: Exclude<LifecycleEventState, 'pending'>;
  /** A few words; never text from the integration. */
  readonly outcome: string;
  /** Whether a call was made. */
  readonly called: boolean;
}

export interface LifecycleEventsDeps {
  readonly database: Database;
  readonly vault: Vault;
  readonly wallNow: () => number;
  readonly limits: Pick<Limits, 'lifeEventDays' | 'callWallMs' | 'firstByteMs'>;
}

export class LifecycleEvents {
  readonly #deps: LifecycleEventsDeps;
  readonly #leaseMs: number;

  constructor(deps: LifecycleEventsDeps) {
    this.#deps = deps;
    const { callWallMs, firstByteMs } = deps.limits;
    // A call may wait for its place as long as for its first byte.
    this.#leaseMs = callWallMs + firstByteMs + MARGIN_MS;
  }

  /** Installations with pending events, sorted by id. */
  waitingInstallations(request: PageRequest): Promise<Page<string>> {
    return waitingPage(this.#deps.database, request);
  }

  /**
   * Of a page of `waitingInstallations`, those with an event to deliver now: it is due, its target
   * is not paused, and no event of the installation is in flight.
   */
  dueInstallations(request: PageRequest): Promise<Page<string>> {
    return duePage(this.#deps.database, request, this.#bounds());
  }

  /**
   * The first event of an installation that can be delivered, now or later; undefined if there is
   * none. Events of a target that is paused, by itself or through its installation, wait for the
   * end of the pause; events of other targets overtake them.
   */
  async first(installationId: string): Promise<FirstLifecycleEvent | undefined> {
    const row = await firstDeliverable(this.#deps.database, installationId, this.#bounds());
    if (row === undefined) return undefined;
    return {
      eventId: row.event_id,
      installationId,
      dueAt: row.due_at,
      owner: row.owner ?? row.integration,
      fence: row.fence,
      ...(row.leased_until !== null && { leasedUntil: row.leased_until }),
    };
  }

  /**
   * Claims an event that `first` has returned. Its lease outlives the longest call.
   *
   * @returns undefined, with nothing claimed, if the event was claimed, finished or replaced since,
   *   or another event of the installation is in flight
   */
  async claim(first: FirstLifecycleEvent): Promise<ClaimedLifecycleEvent | undefined> {
    const { database, vault, wallNow } = this.#deps;
    if (first.leasedUntil !== undefined) return undefined;
    const row = await database
      .updateTable('life_events')
      .set({ lease_until: wallNow() + this.#leaseMs, fence: first.fence + 1 })
      .where('event_id', '=', first.eventId)
      .where('state', '=', 'pending')
      .where('fence', '=', first.fence)
      .returningAll()
      .executeTakeFirst();
    if (row === undefined) return undefined;
    const claim = { eventId: row.event_id, fence: row.fence };
    try {
      // Two nodes can find another event first, while a target is resumed. The claim is
      // committed, so the one that looks later sees that of the other, and gives way.
      if (await otherLease(database, first, this.#bounds())) {
        await this.release(claim);
        return undefined;
      }
      const record = (): LifecycleEventRecord =>
        JSON.parse(vault.open(lifecycleEventPlace(row.event_id), row.sealed_record));
      return { ...entryOf(row), fence: row.fence, record };
    } catch (cause) {
      await this.release(claim).catch(() => undefined);
      throw cause;
    }
  }

  /** Gives a claim back without an outcome. Does nothing if it is lost. */
  async release({ eventId, fence }: Claim): Promise<void> {
    await this.#deps.database
      .updateTable('life_events')
      .set({ lease_until: null })
      .where('event_id', '=', eventId)
      .where('fence', '=', fence)
      .execute();
  }

  /**
   * Ends all leases. For a node that has the database to itself, before its first claim: every
   * lease is of a process that has ended.
   */
  async recover(): Promise<void> {
    await this.#deps.database
      .updateTable('life_events')
      .set({ lease_until: null })
      .where('lease_until', 'is not', null)
      .execute();
  }

  /**
   * Finishes a claimed event and removes its record.
   *
   * @returns false, with its state unchanged, if the claim is lost or the event was canceled
   */
  finish(event: ClaimedLifecycleEvent, { state, outcome, called }: LifecycleEventEnd): Promise<boolean> {
    return this.#settle(event, {
      state,
      outcome: outcome.slice(0, OUTCOME_CHARS_MAX),
      attempts: event.attempts + (called ? 1 : 0),
      sealed_record: '',
      finished_at: this.#deps.wallNow(),
    });
  }

  /**
   * Records an attempt that failed because of the platform; the next one is due at `dueAt`.
   *
   * @returns false as `finish` does
   */
  postpone(event: ClaimedLifecycleEvent, dueAt: number, outcome: string): Promise<boolean> {
    return this.#settle(event, {
      attempts: event.attempts + 1,
      due_at: dueAt,
      outcome: outcome.slice(0, OUTCOME_CHARS_MAX),
    });
  }

  /** Newest first. */
  async list(query: PageRequest & { readonly installationId: string }): Promise<Page<LifecycleEventEntry>> {
    const { installationId, cursor, limit } = query;
    let select = this.#deps.database
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
    const row = await this.#deps.database
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
    const { count } = await this.#deps.database
      .selectFrom('life_events')
      .select(({ fn }) => fn.countAll().as('count'))
      .where('state', '=', 'pending')
      .executeTakeFirstOrThrow();
    return Number(count);
  }

  /** Removes events finished more than `lifeEventDays` ago, a bounded number of rows. */
  async prune(): Promise<void> {
    const { database, wallNow, limits } = this.#deps;
    const rows = await database
      .selectFrom('life_events')
      .select('event_id')
      .where('finished_at', '<', wallNow() - limits.lifeEventDays * DAY_MS)
      .orderBy('finished_at')
      .limit(ROWS_PER_PRUNING)
      .execute();
    if (rows.length === 0) return;
    const ids = rows.map((row) => row.event_id);
    await database.deleteFrom('life_events').where('event_id', 'in', ids).execute();
  }

  /** Writes an outcome and ends the lease, in one statement. */
  async #settle(claim: Claim, outcome: Updateable<Tables['life_events']>): Promise<boolean> {
    const { numUpdatedRows } = await this.#deps.database
      .updateTable('life_events')
      .set({ ...outcome, lease_until: null })
      .where('event_id', '=', claim.eventId)
      .where('state', '=', 'pending')
      .where('fence', '=', claim.fence)
      .executeTakeFirst();
    if (Number(numUpdatedRows) > 0) return true;
    // A canceled event has its lease until its call has ended.
    await this.release(claim);
    return false;
  }

  #bounds(): LeaseBounds {
    const now = this.#deps.wallNow();
    return { now, latest: now + 2 * this.#leaseMs };
  }
}

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
