/**
 * Events that the product has posted: each is put down once, with a delivery for everybody it goes to, in one transaction
 * (REFERENCE D27). Whoever is told that it is accepted may forget it.
 *
 * Requests that come while a commit is on its way go into the next one together (`group-commit.ts`). An `eventId` that is there
 * already is answered as the first time, where the body is the same; where it is another, nothing of its request is put down, and the
 * requests beside it do not notice.
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

/** Requests that are looked at together. */
const REQUESTS_GATHERED = 500;
/** Rows that a page of one type is looked for in: where that is rare, a page is short, and says where to go on. */
const ROWS_LOOKED_AT = 5_000;

/** An event as it is looked at. */
export interface StoredEvent extends Pick<TargetName, 'place'> {
  /** Orders events as they came, and is what the ids of its deliveries begin with. */
  readonly id: string;
  readonly eventId: string;
  readonly organization: string;
  readonly type: string;
  readonly level: PostedEvent['level'];
  /** Where it is for one installation alone. */
  readonly installationId?: string;
  /** JSON, as handlers get it, without `installationId`. */
  readonly body: string;
  /** How many it came to when it was accepted. */
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
  readonly audience: Pick<RecipientResolver, 'known' | 'of'>;
  readonly clock: () => number;
  readonly randomBytes: RandomBytes;
}

/** Events that are accepted together or not at all. */
interface Request {
  readonly events: readonly PostedEvent[];
  /** Of each event. */
  readonly recipients: readonly Recipients[];
  readonly arrivedAt: number;
  /** Written with them. */
  readonly alongside?: Alongside;
}

/** What is put down in the same transaction, where events are accepted: who has asked for them, for instance. */
export type Alongside = (transaction: Database) => Promise<void>;

/** What has become of a request. */
type Outcome =
  | {
      readonly kind: 'accepted';
      readonly events: readonly AcceptedEvent[];
      readonly rows: readonly EventRow[];
    }
  | { readonly kind: 'conflict'; readonly index: number };

const NOBODY: Recipients = { addressees: [], absentees: [] };

export class AcceptedEvents {
  readonly #parts: AcceptedEventsParts;
  readonly #ids: Sequence;
  readonly #requests: Gathered<Request, Outcome>;
  /** Told after the commit, before it is answered. */
  onAccepted: ((made: readonly WaitingDelivery[]) => void) | undefined;

  constructor(parts: AcceptedEventsParts) {
    this.#parts = parts;
    this.#ids = new Sequence(parts.randomBytes);
    this.#requests = new Gathered(parts.commits, REQUESTS_GATHERED, (transaction, requests) =>
      this.#write(transaction, requests),
    );
  }

  /**
   * Puts down all of these events, or none.
   *
   * @param alongside is written in the same transaction, where they are accepted
   * @returns what has become of each, in their order, once that would outlive a power cut
   * @throws `EVENT_CONFLICT`, whose message and `extra.index` say which
   */
  async accept(events: readonly PostedEvent[], alongside?: Alongside): Promise<readonly AcceptedEvent[]> {
    // Before anybody is asked who hears of them: a target that is paused from here on is one that they came before.
    const arrivedAt = this.#parts.clock();
    const recipients: Recipients[] = [];
    for (const event of events)
      recipients.push(this.#parts.audience.known(event) ?? (await this.#parts.audience.of(event)));
    const request = { events, recipients, arrivedAt, ...(alongside && { alongside }) };
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

  /** Newest first. A page may be short, and is the last if it has no cursor. */
  async list({ limit, ...query }: EventsQuery): Promise<Page<StoredEvent>> {
    const { type } = query;
    // The attack: pages of a type that never came, each of which would read all there is.
    const end = type === undefined ? undefined : await this.#endOfLook(query);
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

  /** @param known all that is there, and what the requests before this one bring; what this one brings is added */
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
      const to = recipients[index] ?? NOBODY;
      const deliveries = to.addressees.length;
      own.set(eventId, { bodyHash, deliveries });
      accepted.push({ eventId, deliveries, isNew: true });
      rows.push({ id: this.#ids.next(at), event, ...to, armedAt: arrivedAt, createdAt: at });
    }
    for (const [eventId, event] of own) known.set(eventId, event);
    return { kind: 'accepted', events: accepted, rows };
  }

  /** The last row that a page looks at; undefined where there are no more than it may. */
  async #endOfLook(query: Omit<EventsQuery, 'limit'>): Promise<string | undefined> {
    const end = await this.#within(query)
      .select('id')
      .orderBy('id', 'desc')
      .limit(1)
      .offset(ROWS_LOOKED_AT - 1)
      .executeTakeFirst();
    return end?.id;
  }

  /** All of a query but its type, which no index knows. */
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
