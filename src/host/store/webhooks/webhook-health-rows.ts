/**
 * Rows of the health of webhooks (docs/contract/webhooks.md#health): SQL only, in the caller's
 * transaction. A webhook without a row is healthy, and most never have one.
 *
 * Nothing is written for a delivery that succeeds at a healthy webhook, or fails at a failing one:
 * only a change of the state is, in the transaction that settles the delivery which made it. The
 * state is read with the claim. Of many deliveries that fail at once, on one node or several, one
 * changes the row; what it returns is told, and so each change is told once.
 */
import { type Selectable, sql } from 'kysely';
import type { TargetName } from '../../../model/installation.ts';
import type { ProductNotice } from '../../../model/product-notice.ts';
import { bulk, runForEach, TEXT, WHOLE } from '../../database/bulk.ts';
import type { Database, DisablingReason, Tables, WebhookState } from '../../database/tables.ts';
import { targetKey } from '../installations/target-rows.ts';

/**
 * Shortest time from a recovery to the next failure that counts. Attack: a receiver that answers
 * 200 and 500 in turn, so that each delivery changes a row and tells the product of it.
 */
export const STEADY_MS = 60_000;

/** State of a webhook. Times are milliseconds since 1970. */
export interface WebhookHealth {
  readonly state: WebhookState;
  /** When the state began; absent for a webhook that never failed. */
  readonly since?: number;
  /** When the receiver first failed, and how. */
  readonly failing?: { readonly since: number; readonly outcome: string };
  readonly disabled?: {
    /** `service`, or the kind of the principal. */
    readonly by: string;
    readonly reason: DisablingReason;
    readonly note?: string;
  };
}

const HEALTHY: WebhookHealth = { state: 'healthy' };

/** A change of the state of a webhook by its receiver's answers. */
export interface WebhookChange extends TargetName {
  readonly organization: string;
  readonly integration: string;
  readonly change: 'failing' | 'recovered' | 'disabled';
  readonly outcome?: string;
  readonly failingSince?: number;
  readonly reason?: DisablingReason;
  /** Kind of the token; absent for the service itself. */
  readonly by?: string;
}

/** What the product is told of a change. */
export const noticeOf = ({
  change,
  organization,
  integration,
  installationId,
  level,
  place,
  outcome,
  failingSince,
  reason,
  by,
}: WebhookChange): ProductNotice => ({
  type: `webhook.${change}`,
  ...{ organization, integration, target: { installationId, level, place } },
  details: {
    ...(outcome !== undefined && { outcome }),
    ...(failingSince !== undefined && { failingSince: new Date(failingSince).toISOString() }),
    ...(reason !== undefined && { reason, by: by ?? 'service' }),
  },
});

type Row = Selectable<Tables['webhook_health']>;
/** What a statement returns of the row that it changed. */
type Changed = Pick<Row, 'installation_id' | 'level' | 'place' | 'failing_since' | 'outcome'>;

const OF_TARGET = bulk`installation_id = ${TEXT} and level = ${TEXT} and place = ${TEXT}`;
const CHANGED = 'returning installation_id, level, place, failing_since, outcome';

/** Values: now twice, the outcome, and the target, which may be deleted by now. */
const FAIL = bulk`
  insert into webhook_health (installation_id, level, place, state, since, failing_since, outcome)
  select installation_id, level, place, 'failing', ${WHOLE}, ${WHOLE}, ${TEXT} from targets where ${OF_TARGET}
  on conflict (installation_id, level, place) do update
  set state = 'failing', since = excluded.since, failing_since = excluded.since, outcome = excluded.outcome
  where webhook_health.state = 'healthy'
    and (webhook_health.since <= excluded.since - ${STEADY_MS} or webhook_health.since > excluded.since)
  ${CHANGED}`;

/** Values: now, and the target. What it returns is of the failure that is over. */
const RECOVER = bulk`
  update webhook_health set state = 'healthy', since = ${WHOLE} where ${OF_TARGET} and state = 'failing' ${CHANGED}`;

/** Values: now, the target, and when it must have been failing since. */
const GIVE_UP = bulk`
  update webhook_health set state = 'disabled', since = ${WHOLE}, disabled_by = 'service', reason = 'failing', note = null
  where ${OF_TARGET} and state = 'failing' and failing_since <= ${WHOLE} ${CHANGED}`;

/** Since when a webhook is failing that becomes disabled; null if it is not. */
const STILL_FAILING = `case when webhook_health.state = 'failing' then webhook_health.failing_since end`;

/** Values: now, and the target. */
const GONE = bulk`
  insert into webhook_health (installation_id, level, place, state, since, disabled_by, reason)
  select installation_id, level, place, 'disabled', ${WHOLE}, 'service', 'gone' from targets where ${OF_TARGET}
  on conflict (installation_id, level, place) do update
  set state = 'disabled', since = excluded.since, disabled_by = 'service', reason = 'gone',
    note = null, failing_since = ${STILL_FAILING}
  where webhook_health.state <> 'disabled'
  ${CHANGED}`;

/**
 * What the answer of a receiver says of its webhook, with the state that was read with the claim.
 */
export interface ReceiverSign extends TargetName {
  readonly organization: string;
  readonly integration: string;
  readonly sign: 'accepted' | 'failed' | 'gone';
  readonly outcome: string;
  /** Absent for a healthy one. */
  readonly known?: { readonly state: WebhookState; readonly failingSince: number | null };
}

/** When the service itself disables a webhook; never, by default. */
export interface DisablingRules {
  /** A webhook that is failing for longer. */
  readonly afterMs?: number | undefined;
  /** One whose receiver answers 410. */
  readonly onGone: boolean;
}

/**
 * Writes what changes by these signs, in the order in which the attempts ended.
 *
 * @returns what was changed
 */
export async function followSigns(
  transaction: Database,
  signs: readonly ReceiverSign[],
  { rules, now }: { readonly rules: DisablingRules; readonly now: number },
): Promise<WebhookChange[]> {
  // One for each webhook, the last: a statement must not write a row twice.
  const last = new Map<string, { sign: ReceiverSign; steps: readonly Step[] }>();
  for (const sign of signs) {
    const steps = statementsOf(sign, rules, now);
    // Healthy webhooks that accept, and failing ones that fail, end here.
    if (steps.length > 0) last.set(JSON.stringify(targetValues(sign)), { sign, steps });
  }
  const changes: WebhookChange[] = [];
  // Sorted: transactions of two nodes lock the rows in the same order.
  for (const [, { sign, steps }] of [...last].sort(([one], [other]) => (one < other ? -1 : 1)))
    for (const [change, statement, values] of steps) {
      const [row] = await runForEach<Changed>(transaction, statement, [values]);
      if (row !== undefined) changes.push(changeOf(sign, change, row));
    }
  return changes;
}

type Step = readonly [WebhookChange['change'], statement: typeof FAIL, values: (string | number)[]];

/** The statements that a sign may need, in order; none where it says what is known. */
function statementsOf(sign: ReceiverSign, rules: DisablingRules, now: number): readonly Step[] {
  const { known, outcome } = sign;
  const target = targetValues(sign);
  if (known?.state === 'disabled') return [];
  if (sign.sign === 'accepted')
    return known?.state === 'failing' ? [['recovered', RECOVER, [now, ...target]]] : [];
  if (sign.sign === 'gone' && rules.onGone) return [['disabled', GONE, [now, ...target]]];
  if (known === undefined) return [['failing', FAIL, [now, now, outcome, ...target]]];
  const { failingSince } = known;
  const isOver = rules.afterMs !== undefined && (failingSince ?? now) <= now - rules.afterMs;
  return isOver ? [['disabled', GIVE_UP, [now, ...target, now - rules.afterMs]]] : [];
}

const targetValues = ({ installationId, level, place }: TargetName): [string, string, string] => [
  installationId,
  level,
  place,
];

function changeOf(
  { installationId, level, place, organization, integration, sign }: ReceiverSign,
  change: WebhookChange['change'],
  { failing_since: failingSince, outcome }: Changed,
): WebhookChange {
  const reason = sign === 'gone' ? 'gone' : 'failing';
  return {
    ...{ installationId, level, place, organization, integration, change },
    ...(outcome !== null && { outcome }),
    ...(failingSince !== null && { failingSince: Number(failingSince) }),
    ...(change === 'disabled' && { reason }),
  };
}

/** Disables a webhook by request. @returns false if it is disabled already */
export async function disableWebhook(
  transaction: Database,
  name: TargetName,
  { now, by, note }: { readonly now: number; readonly by: string; readonly note: string | null },
): Promise<boolean> {
  const values = { state: 'disabled', since: now, disabled_by: by, reason: 'request', note } as const;
  const row = await transaction
    .insertInto('webhook_health')
    .values({ ...targetKey(name), ...values, failing_since: null, outcome: null })
    .onConflict((conflict) =>
      conflict
        .columns(['installation_id', 'level', 'place'])
        .doUpdateSet({ ...values, failing_since: sql.raw<number | null>(STILL_FAILING) })
        .where('webhook_health.state', '<>', 'disabled'),
    )
    .returning('state')
    .executeTakeFirst();
  return row !== undefined;
}

/** Enables a webhook. Its next failure counts at once. @returns false if it is not disabled */
export async function enableWebhook(transaction: Database, name: TargetName): Promise<boolean> {
  const row = await transaction
    .deleteFrom('webhook_health')
    .where((row) => row.and(targetKey(name)))
    .where('state', '=', 'disabled')
    .returning('state')
    .executeTakeFirst();
  return row !== undefined;
}

export async function readWebhookHealth(database: Database, name: TargetName): Promise<WebhookHealth> {
  const row = await database
    .selectFrom('webhook_health')
    .selectAll()
    .where((row) => row.and(targetKey(name)))
    .executeTakeFirst();
  return row === undefined ? HEALTHY : healthOf(row);
}

export const healthOf = (row: Omit<Row, 'installation_id' | 'level' | 'place'>): WebhookHealth => {
  const { state, since, failing_since: failingSince, outcome, disabled_by: by, reason, note } = row;
  return {
    ...{ state, since },
    ...(state !== 'healthy' &&
      failingSince !== null && { failing: { since: failingSince, outcome: outcome ?? '' } }),
    ...(state === 'disabled' &&
      by !== null &&
      reason !== null && { disabled: { by, reason, ...(note !== null && { note }) } }),
  };
};
