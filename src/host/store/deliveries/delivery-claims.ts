/**
 * Claims of deliveries, and the outcomes written under them (docs/contract/webhooks.md#crashes).
 *
 * A claim is a lease and a number, its *fence*. Each later write carries the fence, and takes
 * effect only while that claim is the latest and holds its lease: a worker delayed beyond its lease
 * changes nothing any more. Thousands of these statements run each second, so each is prepared
 * once, runs for all rows of a batch (`runForEach`), and finds its row by the primary key.
 *
 * The delivery worker decides about retries. This file only counts claims with an unknown outcome.
 */

import type { Limits } from '../../../limits.ts';
import { installedName } from '../../../model/target.ts';
import { TASK } from '../../../model/task.ts';
import {
  bulk,
  type ColumnValue,
  changeForEach,
  RowLock,
  runForEach,
  TEXT,
  updateFound,
  WHOLE,
} from '../../database/bulk.ts';
import { Gathered, type GroupCommit } from '../../database/group-commit.ts';
import type { Database, WebhookState } from '../../database/tables.ts';
import type { NoticeWriter } from '../notice-writer.ts';
import {
  type DisablingRules,
  followSigns,
  noticeOf,
  type ReceiverSign,
  type WebhookChange,
} from '../webhooks/webhook-health-rows.ts';
import type { Backlog } from './backlog.ts';
import type { ClaimedDelivery, DeliveryPayload, Settlement, WaitingDelivery } from './delivery.ts';
import type { DeliveryStep } from './delivery-change.ts';
import type { CommittedSteps } from './delivery-feed.ts';
import { type DeliveryRow, deliveryOf, keptOutcome } from './delivery-rows.ts';
import { endTasks } from './task-rows.ts';

/** Rows of one bulk statement: it blocks the event loop while it runs. */
const ROWS_PER_STATEMENT = 250;

/**
 * Attempts kept of one delivery, the latest. Attack: to redeliver in a loop, so that each attempt
 * adds a stored answer to what a reader of the delivery gets. Without redelivery there are far
 * fewer.
 */
export const ATTEMPTS_KEPT = 100;

/**
 * Claims, payloads and outcomes are right in any order: only one that is not claimed is claimed,
 * and the others need a fence that the claim has returned.
 */
const PIPELINED = { isPipelined: true };

/** Identifies one claim of a delivery. */
export type Claim = Pick<ClaimedDelivery, 'id' | 'fence'>;

/** Two nodes never claim, or take back, the same delivery at once. */
const UNLESS_LOCKED = new RowLock('deliveries');

/**
 * The claim is the latest one and its lease was not taken back. Values: id, fence.
 *
 * `+` and `||` keep a planner from the partial indexes of leased and of pending deliveries: while
 * the tables are small it takes them for cheaper than the primary key, and PostgreSQL keeps that
 * plan while they grow.
 */
const IS_HELD = bulk`deliveries.id = ${TEXT} and fence = ${WHOLE} and state || '' = 'pending' and +lease_until is not null`;

/**
 * A claimable delivery with everything needed to attempt it. Values: id, time by which it must be
 * due.
 */
const CLAIMABLE = bulk`
  select deliveries.*, (select body from events where events.id = deliveries.event) as body,
    kept.destination as kept_destination, kept.payload as kept_payload, kept.revision as kept_revision,
    health.state as webhook_state, health.failing_since as webhook_failing_since
  from deliveries left join delivery_payloads as kept on kept.delivery_id = deliveries.id
    left join webhook_health as health on deliveries.kind = 'webhook' and health.state <> 'healthy'
      and health.installation_id = deliveries.installation_id
      and health.level = deliveries.level and health.place = deliveries.place
  where deliveries.id = ${TEXT} and deliveries.state || '' = 'pending' and +lease_until is null and due_at <= ${WHOLE}${UNLESS_LOCKED}`;

/** Values: end of the lease, id. */
const CLAIM = bulk`
  update deliveries set lease_until = ${WHOLE}, fence = deliveries.fence + 1 where deliveries.id = ${TEXT}`;

/**
 * An existing payload stays: a receiver gets the same bytes at each attempt
 * (docs/contract/webhooks.md#payload).
 */
const KEEP_PAYLOAD = bulk`
  insert into delivery_payloads (delivery_id, destination, payload, revision)
  select deliveries.id, ${TEXT}, ${TEXT}, ${TEXT} from deliveries where ${IS_HELD}
  on conflict (delivery_id) do update set destination = excluded.destination, revision = excluded.revision`;

const SETTLE = bulk`
  update deliveries
  set state = ${TEXT}, due_at = ${WHOLE}, retries = ${WHOLE}, unknowns = ${WHOLE}, faults = ${WHOLE}, outcome = ${TEXT},
    attempts = attempts + ${WHOLE}, finished_at = ${WHOLE}, lease_until = null
  where ${IS_HELD}`;

const ATTEMPT = bulk`
  insert into delivery_attempts
    (delivery_id, number, at, duration_ms, result, outcome, destination, status, response, truncated, reason)
  values (${TEXT}, ${WHOLE}, ${WHOLE}, ${WHOLE}, ${TEXT}, ${TEXT}, ${TEXT}, ${WHOLE}, ${TEXT}, ${WHOLE}, ${TEXT})`;

/** Values: id, number of the attempt to remove. */
const REMOVE_ATTEMPT = bulk`delete from delivery_attempts where delivery_id = ${TEXT} and number = ${WHOLE}`;

const RELEASE = bulk`update deliveries set lease_until = null where ${IS_HELD}`;

const RENEW = bulk`update deliveries set lease_until = ${WHOLE} where ${IS_HELD} returning id`;

/**
 * Takes back leases. A webhook without a stored payload was certainly not posted, so its outcome is
 * not counted as unknown. The delivery moves behind the others of its endpoint, in case it crashed
 * the process. For `not exists`, PostgreSQL may read all payloads. Values: now; the time by which a
 * lease must have expired; and the time beyond which no lease of the present clock can end.
 */
const TAKE_BACK = bulk`
  update deliveries
  set lease_until = null, due_at = ${WHOLE},
    unknowns = unknowns + case
      when kind = 'webhook' and (select revision from delivery_payloads where delivery_id = deliveries.id) is null then 0
      else 1
    end
  where id in (
    select id from deliveries where lease_until is not null and (lease_until <= ${WHOLE} or lease_until > ${WHOLE})
    order by lease_until limit ${ROWS_PER_STATEMENT}${UNLESS_LOCKED}
  )
  returning id, endpoint, organization, integration`;

export interface DeliveryClaimsDeps {
  readonly commits: GroupCommit;
  readonly backlog: Backlog;
  readonly deliveryFeed: CommittedSteps;
  readonly wallNow: () => number;
  readonly limits: Pick<Limits, 'deliveryLeaseMs'>;
  readonly webhookRules: DisablingRules;
  readonly productNotices: NoticeWriter;
  /** Called after a commit in which answers of receivers have changed states of webhooks. */
  webhooksChanged(changes: readonly WebhookChange[]): void;
}

export class DeliveryClaims {
  readonly #deps: DeliveryClaimsDeps;
  readonly #claims: Gathered<ClaimRequest, ClaimedDelivery | undefined>;
  readonly #payloads: Gathered<PayloadOfClaim, boolean>;
  readonly #settlements: Gathered<Settlement, Settled>;

  constructor(deps: DeliveryClaimsDeps) {
    this.#deps = deps;
    const { commits } = deps;
    this.#claims = new Gathered(
      commits,
      ROWS_PER_STATEMENT,
      (transaction, requests) => this.#claimAll(transaction, requests),
      PIPELINED,
    );
    this.#payloads = new Gathered(commits, ROWS_PER_STATEMENT, keepAll, PIPELINED);
    this.#settlements = new Gathered(
      commits,
      ROWS_PER_STATEMENT,
      (transaction, settlements) => this.#settleAll(transaction, settlements),
      PIPELINED,
    );
  }

  /**
   * Claims deliveries for `deliveryLeaseMs`.
   *
   * @param dueBy skips deliveries that are due later, because they were attempted meanwhile;
   * milliseconds since 1970, now if absent
   * @returns those that are pending and not claimed, in the order of the ids
   * @throws if writing failed and nothing was claimed. After a partial failure it returns what was
   * claimed, which would otherwise
   * wait until its leases end.
   */
  async claim(ids: readonly string[], dueBy = this.#deps.wallNow()): Promise<ClaimedDelivery[]> {
    const answers = await Promise.allSettled(ids.map((id) => this.#claims.add({ id, dueBy })));
    const claimed = answers.flatMap((answer) => (answer.status === 'fulfilled' ? (answer.value ?? []) : []));
    const failed = answers.find(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected' && claimed.length === 0) throw failed.reason;
    return claimed;
  }

  /** Stores the payload before it is posted. @returns false if the claim is lost */
  keepPayload({ id, fence }: Claim, payload: DeliveryPayload): Promise<boolean> {
    return this.#payloads.add({ id, fence, payload });
  }

  /**
   * Stores the outcome of a claimed delivery. @returns false if the claim is lost; nothing is
   * written then
   */
  async settle(settlement: Settlement): Promise<boolean> {
    const { isWritten, changes, told = [] } = await this.#settlements.add(settlement);
    if (!isWritten) return false;
    const { backlog, deliveryFeed, webhooksChanged, productNotices } = this.#deps;
    if (changes !== undefined) webhooksChanged(changes);
    productNotices.written(told);
    if (settlement.state !== 'pending') backlog.change(-1);
    if (deliveryFeed.isFollowed) deliveryFeed.committed(stepsOf(settlement));
    return true;
  }

  /** Undoes claims that were not attempted. */
  async release(claims: readonly Claim[]): Promise<void> {
    await this.#deps.commits.run((transaction) => runForEach(transaction, RELEASE, claims.map(keyOf)));
  }

  /**
   * Extends claims to `deliveryLeaseMs` from now. @returns ids of the deliveries whose claim still
   * holds
   */
  async renew(claims: readonly Claim[]): Promise<string[]> {
    const { commits } = this.#deps;
    const until = this.#leaseUntil();
    const rows = claims.map((claim) => [until, ...keyOf(claim)]);
    const held = await commits.run((transaction) => runForEach<{ id: string }>(transaction, RENEW, rows));
    return held.map(({ id }) => id);
  }

  /**
   * Takes back leases, and counts an unknown outcome for each.
   *
   * @param all true at a start, when all leases belong to dead processes; otherwise only leases
   * that have expired, or that end
   * later than any could unless the clock was set back
   * @throws if writing failed and nothing was taken back. After a partial failure it returns what
   * was taken back, because the next
   * run finds only the rest.
   */
  async recover({ all }: { readonly all: boolean }): Promise<WaitingDelivery[]> {
    const { commits, wallNow, limits } = this.#deps;
    const recovered: WaitingDelivery[] = [];
    for (;;) {
      const now = wallNow();
      // After the clock is set back, a live claim is renewed by the new clock before it exceeds
      // this bound.
      const row = [now, all ? Number.MAX_SAFE_INTEGER : now, now + 2 * limits.deliveryLeaseMs];
      const taking = commits.run((transaction) => runForEach<WaitingDelivery>(transaction, TAKE_BACK, [row]));
      const some = await taking.catch((cause) => {
        if (recovered.length === 0) throw cause;
        return [];
      });
      recovered.push(...some);
      if (some.length < ROWS_PER_STATEMENT) return recovered;
    }
  }

  async #claimAll(transaction: Database, requests: readonly ClaimRequest[]) {
    const until = this.#leaseUntil();
    const wanted = requests.map(({ id, dueBy }) => [id, dueBy]);
    const found = await updateFound<ClaimableRow>(transaction, [CLAIMABLE, wanted], [CLAIM, [until]]);
    const claimOfId = new Map(found.map((row) => [row.id, claimedOf(row)]));
    return requests.map(({ id }) => {
      const claim = claimOfId.get(id);
      // Only the first of two requests for the same delivery gets it.
      claimOfId.delete(id);
      return claim;
    });
  }

  /** Outcomes, and what follows from them for webhooks, which the product is told. */
  async #settleAll(transaction: Database, settlements: readonly Settlement[]): Promise<Settled[]> {
    const { webhookRules: rules, wallNow, productNotices } = this.#deps;
    const now = wallNow();
    const written = await settleAll(transaction, settlements, now);
    const signs = settlements.filter((_, index) => written[index]).flatMap(signsIn);
    const changes = await followSigns(transaction, signs, { rules, now });
    const told = await productNotices.write(transaction, changes.map(noticeOf), now);
    const first = written.indexOf(true);
    return written.map((isWritten, index) => ({
      isWritten,
      ...(index === first && changes.length > 0 && { changes, told }),
    }));
  }

  #leaseUntil(): number {
    const { wallNow, limits } = this.#deps;
    return wallNow() + limits.deliveryLeaseMs;
  }
}

interface ClaimRequest {
  readonly id: string;
  readonly dueBy: number;
}

interface PayloadOfClaim extends Claim {
  readonly payload: DeliveryPayload;
}

interface ClaimableRow extends DeliveryRow {
  readonly body: string;
  readonly kept_destination: string | null;
  readonly kept_payload: string | null;
  readonly kept_revision: string | null;
  readonly webhook_state: WebhookState | null;
  readonly webhook_failing_since: number | null;
}

/** Nothing to see where an attempt was not made, and the delivery is pending still. */
function stepsOf({ claim, state, attempt }: Settlement): DeliveryStep[] {
  if (attempt === undefined && state === 'pending') return [];
  const { id, organization, attempts, target } = claim;
  const step = attempt === undefined ? 'ended' : attempts + 1;
  return [{ id, step, organization, installationId: target.installationId }];
}

const keyOf = ({ id, fence }: Claim): [string, number] => [id, fence];

const claimedOf = (row: ClaimableRow): ClaimedDelivery => ({
  ...deliveryOf(row),
  fence: row.fence + 1,
  eventBody: row.body,
  generation: row.generation,
  ...payloadIn(row),
  ...(row.webhook_state !== null && {
    webhook: { state: row.webhook_state, failingSince: row.webhook_failing_since },
  }),
});

/** The columns of a payload are all set, or all null. */
function payloadIn({ kept_destination, kept_payload, kept_revision }: ClaimableRow) {
  if (kept_destination === null || kept_payload === null || kept_revision === null) return undefined;
  return { payload: { destination: kept_destination, payload: kept_payload, revision: kept_revision } };
}

function keepAll(transaction: Database, items: readonly PayloadOfClaim[]): Promise<boolean[]> {
  const rows = items.map(({ payload, ...claim }) => [
    payload.destination,
    payload.payload,
    payload.revision,
    ...keyOf(claim),
  ]);
  return changeForEach(transaction, KEEP_PAYLOAD, rows);
}

/** What a settlement has written. */
interface Settled {
  readonly isWritten: boolean;
  /** Of all settlements of the transaction, with the first that was written. */
  readonly changes?: readonly WebhookChange[];
  /** Deliveries of notices about them. */
  readonly told?: readonly WaitingDelivery[];
}

async function settleAll(
  transaction: Database,
  settlements: readonly Settlement[],
  now: number,
): Promise<boolean[]> {
  const rows = settlements.map(({ claim, state, dueAt, retries, unknowns, faults, outcome, attempt }) => {
    const finishedAt = state === 'pending' ? null : now;
    const counts = [retries, unknowns, faults, keptOutcome(outcome), attempt === undefined ? 0 : 1];
    return [state, dueAt, ...counts, finishedAt, ...keyOf(claim)];
  });
  const written = await changeForEach(transaction, SETTLE, rows);
  const attempts = settlements.filter((_, index) => written[index]).flatMap(attemptRows);
  await runForEach(transaction, ATTEMPT, attempts);
  await runForEach(transaction, REMOVE_ATTEMPT, attempts.flatMap(displaced));
  const ended = settlements.filter(({ state }, index) => written[index] && state !== 'pending');
  const tasks = ended.filter(({ claim }) => claim.type === TASK).map(({ claim }) => claim.id);
  if (tasks.length > 0) await endTasks(transaction, tasks);
  return written;
}

function signsIn({ claim, sign, outcome }: Settlement): ReceiverSign[] {
  const target = installedName(claim.target);
  if (sign === undefined || target === undefined) return [];
  const { organization, integration, webhook } = claim;
  const known = webhook && { known: webhook };
  return [{ ...target, organization, integration, sign, outcome: keptOutcome(outcome), ...known }];
}

/** The claim still holds, so no attempt was added since it was made. */
function attemptRows({ claim, attempt }: Settlement): ColumnValue[][] {
  if (attempt === undefined) return [];
  const { at, durationMs, result, outcome, destination, status, response, truncated, reason } = attempt;
  const bits = truncated === true ? 1 : 0;
  const answer = [destination ?? null, status ?? null, response ?? null, bits, reason ?? null];
  return [[claim.id, claim.attempts + 1, at, durationMs, result, keptOutcome(outcome), ...answer]];
}

/** The attempt to remove, now that this one is added. */
function displaced([id = null, number]: readonly ColumnValue[]): ColumnValue[][] {
  return Number(number) > ATTEMPTS_KEPT ? [[id, Number(number) - ATTEMPTS_KEPT]] : [];
}
