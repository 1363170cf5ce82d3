/**
 * Transactional outbox: inserts each posted event once, with one delivery for each recipient, in
 * one transaction (docs/contract/events.md#posting). Once an event is acknowledged, the product
 * need not keep it.
 *
 * Requests that arrive during a commit share the next one (`group-commit.ts`). An `eventId` that is
 * stored already gets the first answer again if the body is the same. With another body its whole
 * request is refused; the requests that share the transaction are not affected.
 */
import type { Selectable } from 'kysely';
import { Gathered, type GroupCommit } from '../../database/group-commit.ts';
import { type Page, type PageRequest, page } from '../../database/page.ts';
import { Sequence } from '../../database/sequence.ts';
import type { Database, Tables } from '../../database/tables.ts';
import { AnnexError } from '../../errors.ts';
import type { RandomBytes } from '../../model/identifiers.ts';
import type { TargetName } from '../../model/installation.ts';
import type { Backlog } from '../deliveries/backlog.ts';
import type { AcceptedEvent, PostedEvent, WaitingDelivery } from '../deliveries/delivery.ts';
import { deliveryId, type EventRow, findEvents, insertEvents, type KnownEvent } from './event-rows.ts';
import type { RecipientResolver, Recipients } from './recipients.ts';

/** Requests of one transaction. */
const REQUESTS_GATHERED = 500;
/** Rows read for one page of one type: if the type is rare, a page is short and has a cursor. */
const ROWS_PER_SEARCH = 5_000;

/** An event as it is listed. */
export interface StoredEvent extends Pick<TargetName, 'place'> {
  /** Sorts in the order of acceptance; the ids of its deliveries begin with it. */
  readonly id: string;
  readonly eventId: string;
  readonly organization: string;
  readonly type: string;
  readonly level: PostedEvent['level'];
  /** Set if the event is for one installation only. */
  readonly installationId?: string;
  /** JSON as handlers receive it, without `installationId`. */
  readonly body: string;
  /** Number of deliveries at acceptance. */
  readonly deliveries: number;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
}

export interface EventsQuery extends PageRequest {
  readonly organization?: string | undefined;
  readonly type?: string | undefined;
  /** Accepted at this time or later, in milliseconds since 1970. */
  readonly from?: number | undefined;
  /** Accepted before this time. */
  readonly to?: number | undefined;
}

export interface AcceptedEventsParts {
  readonly database: Database;
  readonly commits: GroupCommit;
  readonly backlog: Pick<Backlog, 'change'>;
  readonly recipients: Pick<RecipientResolver, 'known' | 'of'>;
  readonly clock: () => number;
  readonly randomBytes: RandomBytes;
}

/** Events that are accepted together, all or none. */
interface Request {
  readonly events: readonly PostedEvent[];
  /** One for each event. */
  readonly recipients: readonly Recipients[];
  readonly arrivedAt: number;
  /** Runs in their transaction. */
  readonly alongside?: Alongside;
}

/** Writes in the transaction of accepted events, for instance their audit entry. */
export type Alongside = (transaction: Database) => Promise<void>;

/** Result of a request. */
type Outcome =
  | {
      readonly kind: 'accepted';
      readonly events: readonly AcceptedEvent[];
      readonly rows: readonly EventRow[];
    }
  | { readonly kind: 'conflict'; readonly index: number };

const NONE: Recipients = { addressees: [], absentees: [] };

export class AcceptedEvents {
  readonly #parts: AcceptedEventsParts;
  readonly #ids: Sequence;
  readonly #requests: Gathered<Request, Outcome>;
  /** Called after the commit, before the request is answered. */
  onAccepted: ((made: readonly WaitingDelivery[]) => void) | undefined;

  constructor(parts: AcceptedEventsParts) {
    this.#parts = parts;
    this.#ids = new Sequence(parts.randomBytes);
    this.#requests = new Gathered(parts.commits, REQUESTS_GATHERED, (transaction, requests) =>
      this.#write(transaction, requests),
    );
  }

  /**
   * Stores all of these events, or none.
   *
   * @param alongside runs in the same transaction if the events are accepted
   * @returns the result for each event, in order, once it is durable
   * @throws `EVENT_CONFLICT`; message and `extra.index` name the event
   */
  async accept(events: readonly PostedEvent[], alongside?: Alongside): Promise<readonly AcceptedEvent[]> {
    // Before recipients are resolved: a target paused after this moment is paused after the events
    // arrived.
    const arrivedAt = this.#parts.clock();
    const resolved: Recipients[] = [];
    const { recipients } = this.#parts;
    for (const event of events) resolved.push(recipients.known(event) ?? (await recipients.of(event)));
    const request = { events, recipients: resolved, arrivedAt, ...(alongside && { alongside }) };
    const outcome = await this.#requests.add(request);
    if (outcome.kind === 'conflict') throw conflict(events, outcome.index);
    const made = outcome.rows.flatMap(waitingOf);
    this.#parts.backlog.change(made.length);
    if (made.length > 0) this.onAccepted?.(made);
    return outcome.events;
  }

  async read(eventId: string): Promise<StoredEvent | undefined> {
    const row = await this.#parts.database
      .selectFrom('events')
      .selectAll()
      .where('event_id', '=', eventId)
      .executeTakeFirst();
    return row && storedEventOf(row);
  }

  /** Newest first. A page may be short; only one without a cursor is the last. */
  async list({ limit, ...query }: EventsQuery): Promise<Page<StoredEvent>> {
    const { type } = query;
    // Attack: requests for a type that never occurs, each of which would read the whole table.
    const end = type === undefined ? undefined : await this.#lastRowRead(query);
    let select = this.#within(query).selectAll();
    if (type !== undefined) select = select.where('type', '=', type);
    if (end !== undefined) select = select.where('id', '>=', end);
    const rows = await select
      .orderBy('id', 'desc')
      .limit(limit + 1)
      .execute();
    const found = page(rows, limit, (row) => row.id, storedEventOf);
    return found.next === undefined && end !== undefined ? { ...found, next: end } : found;
  }

  async #write(transaction: Database, requests: readonly Request[]): Promise<readonly Outcome[]> {
    const events = requests.flatMap((request) => request.events);
    const known = await findEvents(
      transaction,
      events.map(({ eventId }) => eventId),
    );
    const at = this.#parts.clock();
    const outcomes = requests.map((request) => this.#outcomeOf(request, known, at));
    const rows = outcomes.flatMap((outcome) => (outcome.kind === 'accepted' ? outcome.rows : []));
    await insertEvents(transaction, rows);
    for (const [index, { alongside }] of requests.entries())
      if (outcomes[index]?.kind === 'accepted') await alongside?.(transaction);
    return outcomes;
  }

  /**
   * @param known stored events, and those of earlier requests of the transaction; this request's
   * are added
   */
  #outcomeOf(
    { events, recipients, arrivedAt }: Request,
    known: Map<string, KnownEvent>,
    at: number,
  ): Outcome {
    const own = new Map<string, KnownEvent>();
    const accepted: AcceptedEvent[] = [];
    const rows: EventRow[] = [];
    for (const [index, event] of events.entries()) {
      const { eventId, bodyHash } = event;
      const before = known.get(eventId) ?? own.get(eventId);
      if (before !== undefined) {
        if (before.bodyHash !== bodyHash) return { kind: 'conflict', index };
        accepted.push({ eventId, deliveries: before.deliveries, isNew: false });
        continue;
      }
      const to = recipients[index] ?? NONE;
      const deliveries = to.addressees.length;
      own.set(eventId, { bodyHash, deliveries });
      accepted.push({ eventId, deliveries, isNew: true });
      rows.push({ id: this.#ids.next(at), event, ...to, armedAt: arrivedAt, createdAt: at });
    }
    for (const [eventId, event] of own) known.set(eventId, event);
    return { kind: 'accepted', events: accepted, rows };
  }

  /** Id of the last row that a page may read; undefined if there are fewer rows. */
  async #lastRowRead(query: Omit<EventsQuery, 'limit'>): Promise<string | undefined> {
    const end = await this.#within(query)
      .select('id')
      .orderBy('id', 'desc')
      .limit(1)
      .offset(ROWS_PER_SEARCH - 1)
      .executeTakeFirst();
    return end?.id;
  }

  /** The conditions of a query that an index serves: all but the type. */
  #within({ organization, from, to, cursor }: Omit<EventsQuery, 'limit'>) {
    let select = this.#parts.database.selectFrom('events');
    if (organization !== undefined) select = select.where('organization', '=', organization);
    if (from !== undefined) select = select.where('id', '>=', Sequence.first(from));
    if (to !== undefined) select = select.where('id', '<', Sequence.first(to));
    if (cursor !== undefined) select = select.where('id', '<', cursor);
    return select;
  }
}

function conflict(events: readonly PostedEvent[], index: number): AnnexError {
  const eventId = events[index]?.eventId ?? '';
  const isTwice = events.slice(0, index).some((event) => event.eventId === eventId);
  const what = isTwice
    ? 'is in this request twice, with two bodies'
    : 'was accepted before, with another body';
  const message = `${events.length > 1 ? `events[${index}]: an` : 'An'} event "${eventId}" ${what}.`;
  return new AnnexError('EVENT_CONFLICT', message, { extra: { eventId, index } });
}

const waitingOf = ({ id, event: { organization }, addressees }: EventRow): WaitingDelivery[] =>
  addressees.map(({ endpoint, integration }, index) => ({
    ...{ id: deliveryId(id, index), endpoint },
    ...{ organization, integration },
  }));

const storedEventOf = (row: Selectable<Tables['events']>): StoredEvent => ({
  id: row.id,
  eventId: row.event_id,
  organization: row.organization,
  type: row.type,
  level: row.level,
  place: row.place,
  ...(row.installation_id !== null && { installationId: row.installation_id }),
  body: row.body,
  deliveries: row.deliveries,
  createdAt: row.created_at,
});
