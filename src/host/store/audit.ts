/**
 * Reads the audit: lists its entries, and removes entries by age.
 *
 * `audit-rows.ts` writes the entries, in the transactions of their changes. No entry is ever
 * changed or removed by itself.
 */
import { expressionBuilder, type Selectable } from 'kysely';
import { DAY_MS, type Limits } from '../../limits.ts';
import type { Level } from '../../model/level.ts';
import { type GoesOn, inBatches, ROWS_PER_BATCH } from '../database/batches.ts';
import { type Page, type PageRequest, page } from '../database/page.ts';
import { Sequence } from '../database/sequence.ts';
import type { Database, Tables } from '../database/tables.ts';
import type { AuditAction } from './audit-rows.ts';

/** Rows read for one page at most: a statement blocks the event loop while it runs. */
export const ROWS_PER_SEARCH = 5_000;

/** An entry as it is listed; `id` sorts in the order of changes. */
export interface AuditRecord {
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly action: string;
  /** Kind of the principal that made the change. */
  readonly actor: string;
  /** Organization of the principal's token; absent for tokens of no organization. */
  readonly actorOrganization?: string;
  /** Absent for runtime tokens. */
  readonly tokenId?: string;
  /** Absent for requests of an integration's own code, which come in process. */
  readonly address?: string;
  readonly requestId: string;
  readonly organization?: string;
  readonly integration?: string;
  readonly installationId?: string;
  readonly level?: Level;
  readonly place?: string;
  /** Names of what was changed, never values. */
  readonly details: Readonly<Record<string, unknown>>;
}

/** Each member narrows the list. */
export interface AuditQuery extends PageRequest {
  readonly organization?: string | undefined;
  readonly integration?: string | undefined;
  readonly installationId?: string | undefined;
  readonly action?: AuditAction | undefined;
}

export interface AuditDeps {
  readonly database: Database;
  readonly limits: Pick<Limits, 'auditDays'>;
  readonly wallNow: () => number;
}

export class Audit {
  readonly #deps: AuditDeps;

  constructor(deps: AuditDeps) {
    this.#deps = deps;
  }

  /**
   * Newest first. A page may be short; only one without a cursor is the last.
   *
   * Attack: requests for an action that never happened, each of which would read the whole table.
   * An index serves one member of the query; the other members are filtered within a bounded number
   * of its rows. They are filtered outside a subquery, so that the engine does not choose another
   * index.
   */
  async list(query: AuditQuery): Promise<Page<AuditRecord>> {
    const { cursor, limit } = query;
    const { database } = this.#deps;
    const { range, filter } = conditions(query);
    let inRange = database.selectFrom('audit').orderBy('id', 'desc');
    if (range !== undefined) inRange = inRange.where(range);
    if (cursor !== undefined) inRange = inRange.where('id', '<', cursor);
    if (filter.length === 0) {
      const rows = await inRange
        .selectAll()
        .limit(limit + 1)
        .execute();
      return page(rows, limit, (row) => row.id, recordOf);
    }
    const last = await inRange
      .select('id')
      .offset(ROWS_PER_SEARCH - 1)
      .limit(1)
      .executeTakeFirst();
    const rows = await database
      .selectFrom(inRange.selectAll().limit(ROWS_PER_SEARCH).as('searched'))
      .selectAll()
      .where(eb.and(filter))
      .orderBy('id', 'desc')
      .limit(limit + 1)
      .execute();
    const found = page(rows, limit, (row) => row.id, recordOf);
    return found.next === undefined && last !== undefined ? { ...found, next: last.id } : found;
  }

  /** Removes entries older than `auditDays`. */
  async prune(goesOn?: GoesOn): Promise<void> {
    const { database, limits, wallNow } = this.#deps;
    const kept = Sequence.first(wallNow() - limits.auditDays * DAY_MS);
    await inBatches(async () => {
      const oldest = database
        .selectFrom('audit')
        .select('id')
        .where('id', '<', kept)
        .orderBy('id')
        .limit(ROWS_PER_BATCH);
      const result = await database.deleteFrom('audit').where('id', 'in', oldest).executeTakeFirst();
      return Number(result.numDeletedRows);
    }, goesOn);
  }
}

const eb = expressionBuilder<Tables, 'audit'>();

/**
 * `range`: the most selective member that has an index. `filter`: the other members, checked row by
 * row.
 */
function conditions({ organization, integration, installationId, action }: AuditQuery) {
  const [range, ...others] = [
    ...(installationId === undefined ? [] : [eb('installation_id', '=', installationId)]),
    ...(organization === undefined ? [] : [eb('organization', '=', organization)]),
    ...(integration === undefined ? [] : [eb('integration', '=', integration)]),
  ];
  return { range, filter: action === undefined ? others : [...others, eb('action', '=', action)] };
}

function recordOf(row: Selectable<Tables['audit']>): AuditRecord {
  const { token_id: tokenId, installation_id: installationId, request_id: requestId, details, ...rest } = row;
  const { id, at, action, actor, actor_organization: actorOrganization } = rest;
  const { address, organization, integration, level, place } = rest;
  return {
    ...{ id, at, action, actor, requestId },
    ...(actorOrganization !== null && { actorOrganization }),
    ...(tokenId !== null && { tokenId }),
    ...(address !== null && { address }),
    ...(organization !== null && { organization }),
    ...(integration !== null && { integration }),
    ...(installationId !== null && { installationId }),
    ...(level !== null && { level }),
    ...(place !== null && { place }),
    details: JSON.parse(details),
  };
}
