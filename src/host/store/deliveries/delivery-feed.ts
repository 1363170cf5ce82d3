/**
 * Hands changes of deliveries to their followers, after the commit.
 *
 * Without followers, nothing is written or read: the code that commits a change only asks
 * `isFollowed`. With followers, it hands over the steps that it committed; those of a followed
 * *set* (an installation, an organization, or everything) are read from the rows, a batch at a
 * time, beside the deliveries. The latest changes are remembered, also for a minute after the last
 * follower of a set, so that a client that reconnects misses none; beyond that,
 * `changesAfter` finds them in the rows.
 *
 * With many nodes, a node announces the sets that it follows, again and again; the others announce
 * the steps that they commit in them. Where steps were lost, because a connection broke or because
 * they came faster than they are read, followers start again after the last change that they
 * received.
 */
import { bulk, runForEach, TEXT, WHOLE } from '../../database/bulk.ts';
import { inNotices } from '../../database/notices.ts';
import type { Database, Tables } from '../../database/tables.ts';
import type { Delivery, RecordedAttempt } from './delivery.ts';
import {
  changeOf,
  changesOf,
  type DeliveryChange,
  type DeliveryStep,
  isChangeIn,
  type Step,
  timeOfChange,
} from './delivery-change.ts';
import { attemptOf, type DeliveryRow, deliveryOf } from './delivery-rows.ts';
import { type DeliveryFilter, searchDeliveries } from './delivery-search.ts';

/** How long the changes of a scope are remembered after its last follower. */
export const LINGER_MS = 60_000;
/** Between two announcements of the followed scopes to other nodes. */
const ANNOUNCE_MS = 15_000;
/** How long another node's announcement holds. */
const ANNOUNCED_MS = 50_000;
/** Steps are collected for this long before other nodes hear of them. */
const COLLECT_MS = 100;
/** Changes that are remembered. */
const RECENT_MAX = 5_000;
/** Steps that wait to be read. */
const STEPS_WAITING_MAX = 20_000;
/** Remembered changes that are handed on together. */
const CHANGES_AT_ONCE = 200;
/** Steps of one read. */
const STEPS_PER_READ = 200;
const EVERYTHING = '*';

const DELIVERY = bulk`select * from deliveries where id = ${TEXT}`;
/** Without the receiver's answer, which is long. */
const ATTEMPT = bulk`
  select delivery_id, number, at, duration_ms, result, outcome, destination, status, null as response, truncated, reason
  from delivery_attempts where delivery_id = ${TEXT} and number = ${WHOLE}`;
/** A step in a notice. */
const NOTED = /^(?<id>[\w.-]{1,128}) (?<step>accepted|redelivered|ended|\d{1,9})$/;

/** What writes changes of deliveries asks, and hands over. */
export type CommittedSteps = Pick<DeliveryFeed, 'isFollowed' | 'committed'>;

export interface DeliveryFollower {
  readonly filter: DeliveryFilter;
  /** Receives changes in the order of their commits. Must not throw. */
  changed(changes: readonly DeliveryChange[]): void;
  /** Changes were lost: those after the last one are in the rows. Must not throw. */
  lost(): void;
}

export interface DeliveryFeedDeps {
  readonly database: Database;
  /** Whether other nodes write to the same database. */
  readonly isShared: boolean;
  /** Monotonic clock, in milliseconds. */
  readonly monotonicNow: () => number;
  /** Milliseconds since 1970. */
  readonly wallNow: () => number;
  /** Tells the other nodes. */
  announce(change: 'deliveryFollowers' | 'deliverySteps', about: readonly string[]): Promise<void>;
  /** Receives failures of the store. */
  onError(error: unknown): void;
}

interface Scope {
  followers: number;
  /** Number of the first change that was handed on since it is followed. */
  readonly from: number;
  /** Without followers: until when changes are remembered. */
  until: number;
}

type Noted = Pick<DeliveryStep, 'id' | 'step'>;

export class DeliveryFeed {
  readonly #deps: DeliveryFeedDeps;
  readonly #followers = new Set<DeliveryFollower>();
  readonly #scopes = new Map<string, Scope>();
  /** Scopes that other nodes follow, and until when. */
  readonly #elsewhere = new Map<string, number>();
  #isFollowed = false;
  #waiting: Noted[] = [];
  #reading: Promise<void> | undefined;
  #recent: DeliveryChange[] = [];
  /** Number of the change after the last one in `#recent`. */
  #next = 0;
  #toAnnounce: string[] = [];
  #announceTimer: NodeJS.Timeout | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(deps: DeliveryFeedDeps) {
    this.#deps = deps;
  }

  /** Whether committed steps are of use to anybody. */
  get isFollowed(): boolean {
    return this.#isFollowed;
  }

  /** Steps that were committed by this node, in their order. Never throws, never waits. */
  committed(steps: readonly DeliveryStep[]): void {
    this.#take(steps.filter((step) => isIn(this.#scopes, step)));
    if (this.#elsewhere.size === 0) return;
    const { monotonicNow } = this.#deps;
    for (const [scope, until] of this.#elsewhere) if (until < monotonicNow()) this.#elsewhere.delete(scope);
    const others = steps.filter((step) => isIn(this.#elsewhere, step));
    if (others.length > 0) this.#announceLater(others);
    this.#count();
  }

  /**
   * Hands on changes from now on; those of other nodes within moments of the announcement.
   *
   * @returns a function that ends it
   */
  follow(follower: DeliveryFollower): () => void {
    const name = scopeOf(follower.filter);
    const scope = this.#scopes.get(name) ?? { followers: 0, from: this.#next, until: 0 };
    scope.followers += 1;
    this.#scopes.set(name, scope);
    this.#followers.add(follower);
    this.#count();
    if (scope.followers === 1) this.#announceScopes([name]);
    this.#timer ??= setInterval(() => this.#tick(), ANNOUNCE_MS).unref();
    return () => {
      if (!this.#followers.delete(follower)) return;
      scope.followers -= 1;
      scope.until = this.#deps.monotonicNow() + LINGER_MS;
    };
  }

  /** The changes of the newest deliveries, in the order of their time. */
  newest(filter: DeliveryFilter, limit: number): Promise<readonly DeliveryChange[]> {
    return newestChanges(this.#deps.database, filter, limit);
  }

  /**
   * The changes after the one with this id. Call it when the follower has begun: what is handed on
   * meanwhile may come twice, and none is missed.
   */
  async *changesAfter(filter: DeliveryFilter, after: string): AsyncGenerator<FoundChanges> {
    const recent = this.#recentAfter(filter, after);
    if (recent !== undefined) {
      for (let at = 0; at < recent.length; at += CHANGES_AT_ONCE)
        yield { items: recent.slice(at, at + CHANGES_AT_ONCE), isWhole: true };
      return;
    }
    const { database, wallNow } = this.#deps;
    yield* changesAfter(database, filter, { after, now: wallNow() });
  }

  /** Undefined if this node does not remember all of them. */
  #recentAfter(filter: DeliveryFilter, after: string): readonly DeliveryChange[] | undefined {
    const index = this.#recent.findLastIndex(({ id }) => id === after);
    const number = this.#next - this.#recent.length + index;
    const from = this.#scopes.get(scopeOf(filter))?.from ?? this.#next;
    if (index < 0 || number < from) return undefined;
    return this.#recent.slice(index + 1).filter((change) => isChangeIn(filter, change));
  }

  /** Another node follows these scopes. */
  followedElsewhere(scopes: readonly string[]): void {
    const until = this.#deps.monotonicNow() + ANNOUNCED_MS;
    for (const scope of scopes) this.#elsewhere.set(scope, until);
    this.#count();
  }

  /** Another node has committed these steps. */
  committedElsewhere(noted: readonly string[]): void {
    if (this.#scopes.size > 0) this.#take(noted.flatMap(notedIn));
  }

  /** Steps of other nodes may have been lost. */
  missed(): void {
    this.#announceScopes([...this.#scopes.keys()]);
    this.#lose();
  }

  /** @returns once nothing is read any more */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    clearTimeout(this.#announceTimer);
    this.#scopes.clear();
    this.#elsewhere.clear();
    this.#count();
    this.#waiting = [];
    await this.#reading;
  }

  #count(): void {
    this.#isFollowed = this.#scopes.size > 0 || this.#elsewhere.size > 0;
  }

  #take(steps: readonly Noted[]): void {
    if (steps.length === 0) return;
    // Attack: changes that come faster than their rows are read, until the memory of the host is
    // full of them.
    if (this.#waiting.length + steps.length > STEPS_WAITING_MAX) return this.#lose();
    for (const { id, step } of steps) this.#waiting.push({ id, step });
    this.#reading ??= this.#read();
  }

  /** Never rejects. */
  async #read(): Promise<void> {
    while (this.#waiting.length > 0) {
      const steps = this.#waiting.splice(0, STEPS_PER_READ);
      try {
        this.#handOn(await readSteps(this.#deps.database, steps));
      } catch (error) {
        this.#deps.onError(error);
        this.#lose();
      }
    }
    this.#reading = undefined;
  }

  #handOn(read: readonly DeliveryChange[]): void {
    const changes = read.filter(({ delivery }) => isIn(this.#scopes, scoped(delivery)));
    this.#recent.push(...changes);
    this.#next += changes.length;
    if (this.#recent.length > 2 * RECENT_MAX) this.#recent = this.#recent.slice(-RECENT_MAX);
    for (const follower of [...this.#followers]) {
      const own = changes.filter((change) => isChangeIn(follower.filter, change));
      if (own.length > 0) follower.changed(own);
    }
  }

  #lose(): void {
    this.#waiting = [];
    this.#recent = [];
    for (const follower of [...this.#followers]) follower.lost();
  }

  #announceLater(steps: readonly DeliveryStep[]): void {
    for (const { id, step } of steps) this.#toAnnounce.push(`${id} ${step}`);
    this.#announceTimer ??= setTimeout(() => {
      this.#announceTimer = undefined;
      const noted = this.#toAnnounce;
      this.#toAnnounce = [];
      for (const about of inNotices(noted)) this.#announce('deliverySteps', about);
    }, COLLECT_MS).unref();
  }

  #announceScopes(scopes: readonly string[]): void {
    for (const about of inNotices(scopes)) this.#announce('deliveryFollowers', about);
  }

  #announce(change: 'deliveryFollowers' | 'deliverySteps', about: readonly string[]): void {
    const { isShared, announce, onError } = this.#deps;
    if (isShared) announce(change, about).catch(onError);
  }

  /** Announces what is followed still, and forgets what is not. */
  #tick(): void {
    const now = this.#deps.monotonicNow();
    for (const [name, { followers, until }] of this.#scopes)
      if (followers === 0 && until < now) this.#scopes.delete(name);
    this.#announceScopes([...this.#scopes.keys()]);
    this.#count();
    if (this.#scopes.size > 0) return;
    this.#recent = [];
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

/** The narrowest scope that has all changes that a filter lets pass. */
const scopeOf = ({ installationId, organization }: DeliveryFilter): string => {
  if (installationId !== undefined) return `installation ${installationId}`;
  return organization === undefined ? EVERYTHING : `organization ${organization}`;
};

const isIn = (
  scopes: ReadonlyMap<string, unknown>,
  { installationId, organization }: Pick<DeliveryStep, 'installationId' | 'organization'>,
): boolean =>
  scopes.has(EVERYTHING) ||
  scopes.has(`installation ${installationId}`) ||
  scopes.has(`organization ${organization}`);

const scoped = ({ organization, target }: DeliveryChange['delivery']) => ({
  organization,
  installationId: target.installationId,
});

function notedIn(text: string): readonly Noted[] {
  const { id, step } = NOTED.exec(text)?.groups ?? {};
  if (id === undefined || step === undefined) return [];
  return [{ id, step: /^\d/.test(step) ? Number(step) : (step as Step) }];
}

/** The changes of these steps, in the order of the steps. */
async function readSteps(database: Database, steps: readonly Noted[]): Promise<DeliveryChange[]> {
  const ids = [...new Set(steps.map(({ id }) => id))];
  const rows = await runForEach<DeliveryRow>(
    database,
    DELIVERY,
    ids.map((id) => [id]),
  );
  const deliveries = new Map(rows.map((row) => [row.id, deliveryOf(row)]));
  const numbered = steps.flatMap(({ id, step }) => (typeof step === 'number' ? [[id, step]] : []));
  const attemptRows = await runForEach<Tables['delivery_attempts']>(database, ATTEMPT, numbered);
  const attempts = new Map<string, RecordedAttempt>(
    attemptRows.map((row) => [`${row.delivery_id} ${row.number}`, attemptOf(row)]),
  );
  return steps.flatMap(({ id, step }) => {
    const delivery = deliveries.get(id);
    return (delivery && changeOf(delivery, step, attempts.get(`${id} ${step}`))) ?? [];
  });
}

/** How much earlier than the client's change the search begins. */
const OVERLAP_MS = 10_000;
/** How long before that a delivery can have been accepted. */
const OLDER_MS = 3_600_000;
/** Searches for older deliveries, each of at most `ROWS_PER_SEARCH` rows. */
const OLDER_SEARCHES_MAX = 10;
/** Older deliveries that are found: they are held until they are sent. */
const OLDER_MAX = 1_000;
/** How far back a client can continue. */
const BACK_MS_MAX = 86_400_000;
/** Deliveries of one read. */
const DELIVERIES_PER_READ = 100;

/** Without the answers of receivers, which are long. */
const ATTEMPTS = bulk`
  select delivery_id, number, at, duration_ms, result, outcome, destination, status, null as response, truncated, reason
  from delivery_attempts where delivery_id = ${TEXT} order by number`;

/** Changes in the order of their time. */
interface FoundChanges {
  readonly items: readonly DeliveryChange[];
  /** False if changes before these may be missing. */
  readonly isWhole: boolean;
}

/**
 * Finds the changes of deliveries after one that a client has, from the rows: for clients that come
 * back to another node, after a restart, or later than a node remembers.
 *
 * Deliveries that were accepted since are a range of ids. Older ones that changed since have no
 * index: the search goes back a bounded time through a bounded number of rows, newest first, and
 * reports when it met the bound. Clocks and commits are not in step, so it begins a little before
 * the change that the client has: a change may be found that the client has, and none is missed.
 *
 * @param after id of the last change that the client has
 * @param now milliseconds since 1970
 */
async function* changesAfter(
  database: Database,
  filter: DeliveryFilter,
  { after, now }: { readonly after: string; readonly now: number },
): AsyncGenerator<FoundChanges> {
  const wanted = timeOfChange(after) - OVERLAP_MS;
  const since = Math.max(wanted, now - BACK_MS_MAX);
  const isNew = (change: DeliveryChange) => change.at >= since && change.id !== after;
  const read = async (deliveries: readonly Delivery[]) =>
    (await readChanges(database, filter, deliveries)).filter(isNew);
  const older = await olderThan(database, filter, since);
  let isWhole = older.isWhole && since === wanted;
  for (let at = 0; at < older.deliveries.length; at += DELIVERIES_PER_READ) {
    yield { items: await read(older.deliveries.slice(at, at + DELIVERIES_PER_READ)), isWhole };
    isWhole = true;
  }
  let cursor: string | undefined;
  do {
    const found = await searchDeliveries(database, {
      ...{ ...filter, state: undefined, from: since, to: undefined },
      ...{ newestFirst: false, limit: DELIVERIES_PER_READ, cursor },
    });
    cursor = found.next;
    yield { items: await read(found.items.map(deliveryOf)), isWhole };
    isWhole = true;
  } while (cursor !== undefined);
}

/** The changes of the newest deliveries. */
async function newestChanges(
  database: Database,
  filter: DeliveryFilter,
  limit: number,
): Promise<readonly DeliveryChange[]> {
  const { items } = await searchDeliveries(database, { ...filter, newestFirst: true, limit });
  return readChanges(database, filter, items.map(deliveryOf));
}

/** Deliveries accepted before `since` that are pending, or ended after it; oldest first. */
async function olderThan(database: Database, filter: DeliveryFilter, since: number) {
  const deliveries: Delivery[] = [];
  let cursor: string | undefined;
  for (let searches = 0; searches < OLDER_SEARCHES_MAX; searches += 1) {
    const found = await searchDeliveries(database, {
      ...{ ...filter, state: undefined, from: since - OLDER_MS, to: since, changedSince: since },
      ...{ newestFirst: true, limit: OLDER_MAX - deliveries.length, cursor },
    });
    deliveries.push(...found.items.map(deliveryOf));
    cursor = found.next;
    if (cursor === undefined || deliveries.length >= OLDER_MAX) break;
  }
  return { deliveries: deliveries.reverse(), isWhole: cursor === undefined };
}

/** The changes of these deliveries that a filter lets pass, in the order of their time. */
async function readChanges(
  database: Database,
  filter: DeliveryFilter,
  deliveries: readonly Delivery[],
): Promise<DeliveryChange[]> {
  const rows = await runForEach<Tables['delivery_attempts']>(
    database,
    ATTEMPTS,
    deliveries.map(({ id }) => [id]),
  );
  const attempts = Map.groupBy(rows, (row) => row.delivery_id);
  const inOrder = (one: RecordedAttempt, other: RecordedAttempt) => one.number - other.number;
  return deliveries
    .flatMap((delivery) =>
      changesOf(delivery, (attempts.get(delivery.id) ?? []).map(attemptOf).sort(inOrder)),
    )
    .filter((change) => isChangeIn(filter, change))
    .sort((one, other) => one.at - other.at);
}
