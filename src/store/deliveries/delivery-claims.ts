/**
 * Who has a delivery to itself, and what has become of it in their hands (REFERENCE D31).
 *
 * A claim is a lease and a number, its *fence*. Every later word about the delivery carries the number, and is heard only while
 * that claim is the latest and nobody has taken the lease away: a worker that was held up for longer than its lease changes
 * nothing any more. Thousands of these statements are run a second, so each is prepared once, runs for all rows that came
 * together (`runForEach`), and finds its row by the primary key.
 *
 * Whether something is tried again, and when, is decided by whoever delivers. Here it is counted how often nobody knows how a
 * claim has ended.
 */

import { type ColumnValue, changeForEach, runForEach } from '../../database/bulk.ts';
import { Gathered, type GroupCommit } from '../../database/group-commit.ts';
import type { Database } from '../../database/tables.ts';
import type { Limits } from '../../limits.ts';
import type { Backlog } from './backlog.ts';
import type { ClaimedDelivery, DeliveryPayload, Settlement, WaitingDelivery } from './delivery.ts';
import { type DeliveryRow, deliveryOf, keptOutcome } from './delivery-rows.ts';

/** Rows of one statement: it holds up the event loop for as long as it runs. */
const ROWS_PER_STATEMENT = 250;

/**
 * Attempts of one delivery that are kept, the latest. The attack: to order one anew in a loop, so that each time an answer of a
 * receiver's is added to what whoever reads the delivery is shown. In one order there are far fewer.
 */
export const ATTEMPTS_KEPT = 100;

/** What of a claim tells it from another of the same delivery. */
export type Claim = Pick<ClaimedDelivery, 'id' | 'fence'>;

/** The claim is the latest one, and nobody has taken its lease away. Values: id, fence. */
const IS_HELD = `id = ? and fence = ? and state = 'pending' and lease_until is not null`;

/** What can be claimed, with all that is needed to deliver it. Values: id, by when it is to be due. */
const CLAIMABLE = `
  select deliveries.*, (select body from events where events.id = deliveries.event) as body,
    kept.destination as kept_destination, kept.payload as kept_payload, kept.revision as kept_revision
  from deliveries left join delivery_payloads as kept on kept.delivery_id = deliveries.id
  where deliveries.id = ? and state = 'pending' and lease_until is null and due_at <= ?`;

/** Values: until when, id. */
const CLAIM = 'update deliveries set lease_until = ?, fence = fence + 1 where id = ?';

/** The payload that is there already stays: a receiver gets the same bytes at each attempt (REFERENCE D23). */
const KEEP_PAYLOAD = `
  insert into delivery_payloads (delivery_id, destination, payload, revision)
  select id, ?, ?, ? from deliveries where ${IS_HELD}
  on conflict (delivery_id) do update set destination = excluded.destination, revision = excluded.revision`;

const SETTLE = `
  update deliveries
  set state = ?, due_at = ?, retries = ?, unknowns = ?, faults = ?, outcome = ?, attempts = attempts + ?, finished_at = ?,
    lease_until = null
  where ${IS_HELD}`;

const ATTEMPT = `
  insert into delivery_attempts
    (delivery_id, number, at, duration_ms, result, outcome, destination, status, response, truncated)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

/** Values: id, the number of the latest that goes. */
const FORGET_ATTEMPT = 'delete from delivery_attempts where delivery_id = ? and number = ?';

const RELEASE = `update deliveries set lease_until = null where ${IS_HELD}`;

const RENEW = `update deliveries set lease_until = ? where ${IS_HELD} returning id`;

/**
 * Where nothing was posted yet because there was nothing to be posted, nobody can have got it: that is not counted. It goes
 * behind the others of its endpoint, in case it is what the process has died of. Values: now, by when a lease is over, and from
 * when on it is of before the clock was set back.
 */
const TAKE_BACK = `
  update deliveries
  set lease_until = null, due_at = ?,
    unknowns = unknowns + case
      when kind = 'webhook' and not exists (select 1 from delivery_payloads where delivery_id = deliveries.id) then 0
      else 1
    end
  where id in (
    select id from deliveries where lease_until is not null and (lease_until <= ? or lease_until > ?)
    order by lease_until limit ${ROWS_PER_STATEMENT}
  )
  returning id, endpoint, organization, integration`;

export interface DeliveryClaimsParts {
  readonly commits: GroupCommit;
  readonly backlog: Backlog;
  readonly clock: () => number;
  readonly limits: Pick<Limits, 'deliveryLeaseMs'>;
}

export class DeliveryClaims {
  readonly #parts: DeliveryClaimsParts;
  readonly #claims: Gathered<ClaimWish, ClaimedDelivery | undefined>;
  readonly #payloads: Gathered<PayloadOfClaim, boolean>;
  readonly #settlements: Gathered<Settlement, boolean>;

  constructor(parts: DeliveryClaimsParts) {
    this.#parts = parts;
    const { commits } = parts;
    this.#claims = new Gathered(commits, ROWS_PER_STATEMENT, (transaction, wishes) =>
      this.#claimAll(transaction, wishes),
    );
    this.#payloads = new Gathered(commits, ROWS_PER_STATEMENT, keepAll);
    this.#settlements = new Gathered(commits, ROWS_PER_STATEMENT, (transaction, settlements) =>
      settleAll(transaction, settlements, parts.clock()),
    );
  }

  /**
   * Takes deliveries for itself, for `deliveryLeaseMs`.
   *
   * @param dueBy leaves out what is not due until later: somebody else has tried it meanwhile
   * @returns those of them that wait and that nobody has, in the order of the ids
   * @throws where writing has failed and nothing was claimed. What was, is somebody's, whatever has become of the rest: nobody
   *   would have it until its lease is over.
   */
  async claim(ids: readonly string[], dueBy: number): Promise<ClaimedDelivery[]> {
    const answers = await Promise.allSettled(ids.map((id) => this.#claims.add({ id, dueBy })));
    const claimed = answers.flatMap((answer) => (answer.status === 'fulfilled' ? (answer.value ?? []) : []));
    const failed = answers.find(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected' && claimed.length === 0) throw failed.reason;
    return claimed;
  }

  /** Puts down what is to be posted, before it is. @returns false where the claim is lost */
  keepPayload({ id, fence }: Claim, payload: DeliveryPayload): Promise<boolean> {
    return this.#payloads.add({ id, fence, payload });
  }

  /** What has become of a claimed delivery. @returns false where the claim is lost; nothing is written then */
  async settle(settlement: Settlement): Promise<boolean> {
    const isHeard = await this.#settlements.add(settlement);
    if (isHeard && settlement.state !== 'pending') this.#parts.backlog.change(-1);
    return isHeard;
  }

  /** As if they had never been claimed. */
  async release(claims: readonly Claim[]): Promise<void> {
    await this.#parts.commits.run((transaction) => runForEach(transaction, RELEASE, claims.map(keyOf)));
  }

  /** From now for `deliveryLeaseMs`. @returns ids of those whose claim is not lost */
  async renew(claims: readonly Claim[]): Promise<string[]> {
    const { commits } = this.#parts;
    const until = this.#leaseUntil();
    const rows = claims.map((claim) => [until, ...keyOf(claim)]);
    const held = await commits.run((transaction) => runForEach<{ id: string }>(transaction, RENEW, rows));
    return held.map(({ id }) => id);
  }

  /**
   * Takes back the leases of those who will not be heard of again, and counts that nobody knows how far they came.
   *
   * @param all at the start, when every lease is of a process that is dead; otherwise those that are over, or that
   *   last for longer than any by a clock that was set back since
   * @throws where writing has failed and nothing was taken back. What was, has to be told of, whatever has become of the rest:
   *   that is found the next time, and this is not.
   */
  async recover({ all }: { readonly all: boolean }): Promise<WaitingDelivery[]> {
    const { commits, clock, limits } = this.#parts;
    const recovered: WaitingDelivery[] = [];
    for (;;) {
      const now = clock();
      // One that somebody keeps is renewed by the clock of now before it seems to last for that long.
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

  async #claimAll(transaction: Database, wishes: readonly ClaimWish[]) {
    const until = this.#leaseUntil();
    const found = await runForEach<ClaimableRow>(
      transaction,
      CLAIMABLE,
      wishes.map(({ id, dueBy }) => [id, dueBy]),
    );
    const claimOfId = new Map(found.map((row) => [row.id, claimedOf(row)]));
    await runForEach(
      transaction,
      CLAIM,
      Array.from(claimOfId.keys(), (id) => [until, id]),
    );
    return wishes.map(({ id }) => {
      const claim = claimOfId.get(id);
      // Whoever asks for it a second time has not got it.
      claimOfId.delete(id);
      return claim;
    });
  }

  #leaseUntil(): number {
    const { clock, limits } = this.#parts;
    return clock() + limits.deliveryLeaseMs;
  }
}

interface ClaimWish {
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
}

const keyOf = ({ id, fence }: Claim): [string, number] => [id, fence];

const claimedOf = (row: ClaimableRow): ClaimedDelivery => ({
  ...deliveryOf(row),
  fence: row.fence + 1,
  eventBody: row.body,
  ...payloadIn(row),
});

/** Its columns are all there, or none is. */
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
  const heard = await changeForEach(transaction, SETTLE, rows);
  const attempts = settlements.filter((_, index) => heard[index]).flatMap(attemptRows);
  await runForEach(transaction, ATTEMPT, attempts);
  await runForEach(transaction, FORGET_ATTEMPT, attempts.flatMap(displaced));
  return heard;
}

/** Nobody has added to the attempts of a delivery since it was claimed, where its claim still holds. */
function attemptRows({ claim, attempt }: Settlement): ColumnValue[][] {
  if (attempt === undefined) return [];
  const { at, durationMs, result, outcome, destination, status, response, truncated } = attempt;
  const answer = [destination ?? null, status ?? null, response ?? null, truncated === true ? 1 : 0];
  return [[claim.id, claim.attempts + 1, at, durationMs, result, keptOutcome(outcome), ...answer]];
}

/** The attempt that is one too many now, of the delivery that has got this one. */
function displaced([id = null, number]: readonly ColumnValue[]): ColumnValue[][] {
  return Number(number) > ATTEMPTS_KEPT ? [[id, Number(number) - ATTEMPTS_KEPT]] : [];
}
