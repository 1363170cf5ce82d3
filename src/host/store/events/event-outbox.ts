/**
 * Transactional outbox: inserts each posted event once, with one delivery for each recipient, in
 * one transaction (docs/contract/events.md#posting). Once an event is acknowledged, the product
 * need not keep it.
 *
 * Requests that arrive during a commit share the next one (`group-commit.ts`). An `eventId` that is
 * stored already gets the first answer again if the body is the same. With another body its whole
 * request is refused; the requests that share the transaction are not affected. The recipients are
 * found in `delivery/accept/`.
 */

import type { Actor } from '../../../model/actor.ts';
import type { RandomBytes } from '../../../model/identifiers.ts';
import { Gathered, type GroupCommit } from '../../database/group-commit.ts';
import { Sequence } from '../../database/sequence.ts';
import type { Database } from '../../database/tables.ts';
import { type AuditEntry, insertAudit } from '../audit-rows.ts';
import type { Backlog } from '../deliveries/backlog.ts';
import type { AcceptedEvent, PostedEvent, WaitingDelivery } from '../deliveries/delivery.ts';
import type { DeliveryStep } from '../deliveries/delivery-change.ts';
import type { CommittedSteps } from '../deliveries/delivery-feed.ts';
import {
  deliveryId,
  type EventRow,
  findEvents,
  insertEvents,
  type KnownEvent,
  type Recipients,
} from './event-rows.ts';

/** Events of one transaction. A request with more has one of its own. */
const EVENTS_GATHERED = 1_000;

export interface EventOutboxDeps {
  readonly commits: GroupCommit;
  readonly backlog: Pick<Backlog, 'change'>;
  readonly deliveryFeed: CommittedSteps;
  readonly auditIds: Sequence;
  readonly wallNow: () => number;
  readonly randomBytes: RandomBytes;
}

/** An audit entry that is written in the transaction of the events that it is about. */
export interface AuditedAction {
  readonly by: Actor;
  readonly entry: AuditEntry;
}

/** Events that are inserted together, all or none. */
export interface OutboxRequest {
  readonly events: readonly PostedEvent[];
  /** One for each event. */
  readonly recipients: readonly Recipients[];
  /** Milliseconds since 1970. */
  readonly arrivedAt: number;
  readonly audit?: AuditedAction;
}

/** `index`: of the event whose id is stored with another body. */
export type Conflict = { readonly kind: 'conflict'; readonly index: number };

/** Result of a request. */
export type OutboxAnswer =
  | {
      readonly kind: 'accepted';
      /** One for each event. */
      readonly events: readonly AcceptedEvent[];
      /** The new deliveries. */
      readonly waiting: readonly WaitingDelivery[];
    }
  | Conflict;

/** Result of a request in its transaction. */
type Written =
  | {
      readonly kind: 'accepted';
      readonly events: readonly AcceptedEvent[];
      readonly rows: readonly EventRow[];
    }
  | Conflict;

const NONE: Recipients = { addressees: [], absentees: [] };

export class EventOutbox {
  readonly #deps: EventOutboxDeps;
  readonly #ids: Sequence;
  readonly #requests: Gathered<OutboxRequest, Written>;

  constructor(deps: EventOutboxDeps) {
    this.#deps = deps;
    this.#ids = new Sequence(deps.randomBytes);
    this.#requests = new Gathered(
      deps.commits,
      EVENTS_GATHERED,
      (transaction, requests) => this.#write(transaction, requests),
      {
        ownerOf: ({ events: [event] }) => event?.organization ?? '',
        weightOf: ({ events }) => events.length,
      },
    );
  }

  /** Inserts the events and their deliveries. @returns once they are durable */
  async insert(request: OutboxRequest): Promise<OutboxAnswer> {
    const written = await this.#requests.add(request);
    if (written.kind === 'conflict') return written;
    const waiting = written.rows.flatMap(waitingOf);
    const { backlog, deliveryFeed } = this.#deps;
    backlog.change(waiting.length);
    if (deliveryFeed.isFollowed) deliveryFeed.committed(written.rows.flatMap(stepsOf));
    return { kind: 'accepted', events: written.events, waiting };
  }

  async #write(transaction: Database, requests: readonly OutboxRequest[]): Promise<readonly Written[]> {
    const events = requests.flatMap((request) => request.events);
    const known = await findEvents(
      transaction,
      events.map(({ eventId }) => eventId),
    );
    const at = this.#deps.wallNow();
    const outcomes = requests.map((request) => this.#outcomeOf(request, known, at));
    const rows = outcomes.flatMap((outcome) => (outcome.kind === 'accepted' ? outcome.rows : []));
    await insertEvents(transaction, rows);
    for (const [index, { audit }] of requests.entries())
      if (audit !== undefined && outcomes[index]?.kind === 'accepted') await this.#audit(transaction, audit);
    return outcomes;
  }

  /**
   * @param known stored events, and those of earlier requests of the transaction; this request's
   * are added
   */
  #outcomeOf(
    { events, recipients, arrivedAt }: OutboxRequest,
    known: Map<string, KnownEvent>,
    at: number,
  ): Written {
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

  async #audit(transaction: Database, { by, entry }: AuditedAction): Promise<void> {
    const { auditIds, wallNow } = this.#deps;
    const at = wallNow();
    await insertAudit(transaction, { id: auditIds.next(at), at, by, entry });
  }
}

const waitingOf = ({ id, event: { organization }, addressees }: EventRow): WaitingDelivery[] =>
  addressees.map(({ endpoint, integration }, index) => ({
    ...{ id: deliveryId(id, index), endpoint },
    ...{ organization, integration },
  }));

const stepsOf = ({ id, event: { organization }, addressees, absentees }: EventRow): DeliveryStep[] =>
  [...addressees, ...absentees].map(({ installationId }, index) => ({
    ...{ id: deliveryId(id, index), step: index < addressees.length ? 'accepted' : 'ended' },
    ...{ organization, installationId },
  }));
