/**
 * Health of webhooks (docs/contract/webhooks.md#health), for the API and the metrics: reads it, and
 * disables and enables webhooks by request, each with its audit entry.
 *
 * Nothing is cached: a delivery reads the state with its claim, on every node. The changes that
 * answers of receivers make are written by `webhook-health-rows.ts` where deliveries are settled.
 */
import { sql } from 'kysely';
import { AnnexError } from '../../../errors.ts';
import type { Actor } from '../../../model/actor.ts';
import type { TargetName } from '../../../model/installation.ts';
import type { Level } from '../../../model/level.ts';
import { isPlatform, type Principal } from '../../../model/principal.ts';
import type { ProductNotice } from '../../../model/product-notice.ts';
import { unknownTarget } from '../../../model/unknown-name-errors.ts';
import { type Page, type PageRequest, page } from '../../database/page.ts';
import type { Sequence } from '../../database/sequence.ts';
import type { Database, WebhookState } from '../../database/tables.ts';
import { inTransaction } from '../../database/transaction.ts';
import { insertAudit } from '../audit-rows.ts';
import { holdInstallation, readTarget, type SealedInstallation } from '../installations/target-rows.ts';
import type { NoticeWriter } from '../notice-writer.ts';
import {
  disableWebhook,
  enableWebhook,
  healthOf,
  noticeOf,
  readWebhookHealth,
  type WebhookHealth,
} from './webhook-health-rows.ts';

/** Deliveries whose outcomes are counted. */
const OUTCOMES_SEARCHED = 1_000;
/** Held deliveries are counted so far. */
const HELD_MAX = 10_000;

/** A webhook that is failing or disabled. */
export interface UnwellWebhook extends TargetName {
  readonly organization: string;
  readonly integration: string;
  readonly health: WebhookHealth;
}

export interface WebhooksQuery extends PageRequest {
  readonly state?: Exclude<WebhookState, 'healthy'> | undefined;
  readonly organization?: string | undefined;
  readonly integration?: string | undefined;
}

/** What a webhook has done lately. */
export interface WebhookDetails {
  /**
   * How deliveries that were attempted since it is failing have ended so far, the most frequent
   * first.
   */
  readonly outcomes: readonly { readonly outcome: string; readonly deliveries: number }[];
  /** Deliveries that are held, up to a bound. */
  readonly held: number;
}

export interface WebhookHealthsDeps {
  readonly database: Database;
  readonly wallNow: () => number;
  /** Numbers the entries of the audit. */
  readonly auditIds: Sequence;
  readonly productNotices: NoticeWriter;
}

/** Form of the keys of the list. */
export const WEBHOOK_KEY = /^[A-Za-z0-9_-]+\/(?:organization|space|site)\/[A-Za-z0-9._-]+$/;

export class WebhookHealths {
  readonly #deps: WebhookHealthsDeps;

  constructor(deps: WebhookHealthsDeps) {
    this.#deps = deps;
  }

  read(name: TargetName): Promise<WebhookHealth> {
    return readWebhookHealth(this.#deps.database, name);
  }

  /** Webhooks that are failing or disabled, by installation and place. */
  async list(query: WebhooksQuery): Promise<Page<UnwellWebhook>> {
    const { state, organization, integration, cursor, limit } = query;
    let select = this.#deps.database
      .selectFrom('webhook_health')
      .innerJoin('targets', (join) =>
        join
          .onRef('targets.installation_id', '=', 'webhook_health.installation_id')
          .onRef('targets.level', '=', 'webhook_health.level')
          .onRef('targets.place', '=', 'webhook_health.place'),
      )
      .selectAll('webhook_health')
      .select(['targets.organization', 'targets.integration'])
      .where('webhook_health.state', '<>', sql.lit('healthy'));
    if (state !== undefined) select = select.where('webhook_health.state', '=', state);
    if (organization !== undefined) select = select.where('targets.organization', '=', organization);
    if (integration !== undefined) select = select.where('targets.integration', '=', integration);
    if (cursor !== undefined) {
      const [installationId = '', level = '', place = ''] = cursor.split('/');
      select = select.where(
        sql<boolean>`(webhook_health.installation_id, webhook_health.level, webhook_health.place) > (${installationId}, ${level}, ${place})`,
      );
    }
    const rows = await select
      .orderBy('webhook_health.installation_id')
      .orderBy('webhook_health.level')
      .orderBy('webhook_health.place')
      .limit(limit + 1)
      .execute();
    return page(
      rows,
      limit,
      (row) => `${row.installation_id}/${row.level}/${row.place}`,
      ({ installation_id: installationId, level, place, organization: of, integration: name, ...row }) => ({
        ...{ installationId, level, place, organization: of, integration: name },
        health: healthOf(row),
      }),
    );
  }

  /** Health of the webhooks of these installations that are failing or disabled. */
  async unwellOf(
    installationIds: readonly string[],
  ): Promise<readonly (TargetName & { readonly health: WebhookHealth })[]> {
    if (installationIds.length === 0) return [];
    const rows = await this.#deps.database
      .selectFrom('webhook_health')
      .selectAll()
      .where('installation_id', 'in', [...new Set(installationIds)])
      .where('state', '<>', sql.lit('healthy'))
      .execute();
    return rows.map(({ installation_id: installationId, level, place, ...row }) => ({
      ...{ installationId, level, place, health: healthOf(row) },
    }));
  }

  /** @param failingSince since when it is failing, if it is */
  async details(name: TargetName, failingSince: number | undefined): Promise<WebhookDetails> {
    return {
      outcomes: failingSince === undefined ? [] : await this.#outcomes(name, failingSince),
      held: await this.#held(name),
    };
  }

  /** Numbers of webhooks by state, without the healthy ones. */
  async counts(): Promise<Readonly<Record<Exclude<WebhookState, 'healthy'>, number>>> {
    const rows = await this.#deps.database
      .selectFrom('webhook_health')
      .select(({ fn }) => ['state', fn.countAll().as('count')])
      .where('state', '<>', sql.lit('healthy'))
      .groupBy('state')
      .execute();
    const of = (state: WebhookState) => Number(rows.find((row) => row.state === state)?.count ?? 0);
    return { failing: of('failing'), disabled: of('disabled') };
  }

  /**
   * Disables a webhook: what it would get from now on is held.
   *
   * @throws `INSTALLATION_UNKNOWN`, `WEBHOOK_DISABLED`
   */
  disable(name: TargetName, note: string | undefined, by: Actor): Promise<WebhookHealth> {
    return this.#change(name, by, async (transaction, now, { organization, integration }) => {
      const { kind } = by.principal;
      if (!(await disableWebhook(transaction, name, { now, by: kind, note: note ?? null })))
        throw new AnnexError('WEBHOOK_DISABLED', 'The webhook is disabled already.');
      const change = { change: 'disabled', reason: 'request', by: kind } as const;
      return {
        action: 'webhook.disable',
        notices: [noticeOf({ ...name, ...change, organization, integration })],
      };
    });
  }

  /**
   * Enables a disabled webhook.
   *
   * @throws `INSTALLATION_UNKNOWN`, `WEBHOOK_ENABLED`
   * @throws `TOKEN_FORBIDDEN` if the operator or the host product has disabled it, and the
   *   principal is neither
   */
  enable(name: TargetName, by: Actor): Promise<WebhookHealth> {
    return this.#change(name, by, async (transaction) => {
      const { disabled } = await readWebhookHealth(transaction, name);
      if (disabled === undefined) throw new AnnexError('WEBHOOK_ENABLED', 'The webhook is not disabled.');
      if (!mayEnable(by.principal, disabled.by)) {
        const message = `The webhook was disabled with a token of kind ${disabled.by}, and is enabled with one only.`;
        throw new AnnexError('TOKEN_FORBIDDEN', message);
      }
      await enableWebhook(transaction, name);
      return { action: 'webhook.enable' };
    });
  }

  /** Runs `work` and writes its audit entry in one transaction that locks the installation. */
  async #change(
    name: TargetName,
    by: Actor,
    work: (
      transaction: Database,
      now: number,
      target: SealedInstallation,
    ) => Promise<{
      readonly action: 'webhook.disable' | 'webhook.enable';
      readonly notices?: readonly ProductNotice[];
    }>,
  ): Promise<WebhookHealth> {
    const { database, wallNow, auditIds, productNotices } = this.#deps;
    const { health, told } = await inTransaction(database, async (transaction) => {
      const held = await holdInstallation(transaction, name.installationId);
      const found = held && (await readTarget(transaction, name));
      if (!found) throw unknownTarget(name);
      const now = wallNow();
      const { action, notices = [] } = await work(transaction, now, found);
      const { installationId, level, place, organization, integration } = found;
      const entry = { action, organization, integration, target: { installationId, level, place } };
      await insertAudit(transaction, { id: auditIds.next(now), at: now, by, entry });
      const written = await productNotices.write(transaction, notices, now);
      return { health: await readWebhookHealth(transaction, name), told: written };
    });
    productNotices.written(told);
    return health;
  }

  async #outcomes({ installationId, level, place }: TargetName, since: number) {
    const latest = this.#deps.database
      .selectFrom('deliveries')
      .select(['outcome', 'level', 'place', 'kind', 'state', 'due_at', 'finished_at'])
      .where('installation_id', '=', installationId)
      .orderBy('id', 'desc')
      .limit(OUTCOMES_SEARCHED)
      .as('latest');
    const rows = await this.#deps.database
      .selectFrom(latest)
      .select(({ fn }) => ['outcome', fn.countAll().as('count')])
      .where('level', '=', level)
      .where('place', '=', place)
      .where('kind', '=', 'webhook')
      .where('state', 'in', ['pending', 'failed'])
      .where('outcome', 'is not', null)
      .where(({ or, eb }) => or([eb('finished_at', 'is', null), eb('finished_at', '>=', since)]))
      .groupBy('outcome')
      .execute();
    return rows
      .map(({ outcome, count }) => ({ outcome: outcome ?? '', deliveries: Number(count) }))
      .sort((one, other) => other.deliveries - one.deliveries || (one.outcome < other.outcome ? -1 : 1));
  }

  async #held({ installationId, level, place }: TargetName): Promise<number> {
    const found = this.#deps.database
      .selectFrom('deliveries')
      .select('id')
      .where('installation_id', '=', installationId)
      .where('state', '=', sql.lit('held'))
      .where('level', '=', level as Level)
      .where('place', '=', place)
      .limit(HELD_MAX)
      .as('found');
    const { count } = await this.#deps.database
      .selectFrom(found)
      .select(({ fn }) => fn.countAll().as('count'))
      .executeTakeFirstOrThrow();
    return Number(count);
  }
}

/** Only the operator undoes what the operator did; and likewise for the host product. */
const mayEnable = (principal: Principal, disabledBy: string): boolean =>
  disabledBy === 'admin' ? principal.kind === 'admin' : disabledBy !== 'platform' || isPlatform(principal);
