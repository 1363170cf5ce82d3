/** Compares what clients were told with what the receiver got, and counts answers. */
import type { Answered, EventLoad } from './event-load.ts';
import type { NodeGroup } from './node-group.ts';

export interface Verdict {
  readonly acknowledged: number;
  readonly requests: number;
  /** Acknowledged events that did not arrive. */
  readonly lost: readonly string[];
  /** Deliveries that arrived more than once, and were in flight at a failure. */
  readonly repeated: readonly string[];
  /** Deliveries that arrived more than once without that. */
  readonly doubled: readonly string[];
  /** Events that arrived as more than one delivery. */
  readonly forked: readonly string[];
  readonly badSignatures: number;
}

/** @param mayRepeat ids of deliveries that were in flight at a failure */
export async function verdictOn(
  { receiver }: NodeGroup,
  { acknowledged }: EventLoad,
  mayRepeat: ReadonlySet<string>,
): Promise<Verdict> {
  const ledger = await receiver.ledger();
  const arrived = new Set(ledger.map(({ eventId }) => eventId));
  const twice = ledger.filter(({ lives }) => lives.length > 1).map(({ deliveryId }) => deliveryId);
  const seen = new Set<string>();
  const forked = ledger.map(({ eventId }) => eventId).filter((id) => seen.size === seen.add(id).size);
  return {
    acknowledged: acknowledged.size,
    requests: ledger.reduce((sum, { lives }) => sum + lives.length, 0),
    lost: [...acknowledged].filter((eventId) => !arrived.has(eventId)),
    repeated: twice.filter((id) => mayRepeat.has(id)),
    doubled: twice.filter((id) => !mayRepeat.has(id)),
    forked,
    badSignatures: (await receiver.progress()).badSignatures,
  };
}

/** Answers while something failed. */
export interface Refusals {
  /** How many answers of each status; 0 is a connection that failed. */
  readonly statuses: Readonly<Record<number, number>>;
  readonly withoutRetryAfter: number;
  readonly slowestMs: number;
}

export function refusalsIn(answers: readonly Pick<Answered, 'status' | 'tookMs' | 'retryAfter'>[]): Refusals {
  const statuses: Record<number, number> = {};
  for (const { status } of answers) statuses[status] = (statuses[status] ?? 0) + 1;
  return {
    statuses,
    withoutRetryAfter: answers.filter(({ status, retryAfter }) => status === 503 && !retryAfter).length,
    slowestMs: Math.round(Math.max(0, ...answers.map(({ tookMs }) => tookMs))),
  };
}
