/**
 * Event types that the operator declares for the product (docs/contract/events.md#declared-types).
 *
 * All of them are in memory, with their compiled schemas: events are posted by the thousand. A
 * change is announced like any other, and the next event reads the types again. A change that
 * stored events would not fit, and a deletion of a type that somebody uses, need `force`.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql } from 'kysely';
import { AnnexError } from '../../errors.ts';
import type { Limits } from '../../limits.ts';
import type { Actor } from '../../model/actor.ts';
import { canonicalJson } from '../../model/canonical-json.ts';
import type { DataCheck } from '../../model/event-schema.ts';
import {
  EventCatalog,
  type EventType,
  type EventTypeDeclaration,
  NO_EVENT_TYPES,
  storedEventType,
} from '../../model/event-type.ts';
import { limitError } from '../../model/limit-met.ts';
import { lock } from '../database/locks.ts';
import { announce } from '../database/notices.ts';
import { OF_DECLARED_TYPES } from '../database/schema.ts';
import type { Sequence } from '../database/sequence.ts';
import type { Database } from '../database/tables.ts';
import { inTransaction } from '../database/transaction.ts';
import { type AuditAction, insertAudit } from './audit-rows.ts';

/** Stored events that a changed schema must fit. */
const EVENTS_CHECKED = 1_000;
/** Rows read at once: an event may have 256 KiB. */
const EVENTS_PER_READ = 20;
/** Examples of events that a changed schema does not fit. */
const EXAMPLES_MAX = 5;
/** Users of a type that are named. */
const USERS_MAX = 10;
/** Rows of integrations and targets that are looked through at once. */
const ROWS_PER_READ = 100;

export interface EventTypesDeps {
  readonly database: Database;
  readonly limits: Pick<Limits, 'eventTypes'>;
  readonly wallNow: () => number;
  readonly auditIds: Sequence;
  /** Called after a commit, before its answer. */
  changed(): void;
}

/** What a change does: nothing, where what is declared is declared already. */
export type EventTypeChange = 'added' | 'changed' | 'unchanged';

export interface ChangeOptions {
  /** Changes what stored events do not fit, and deletes what is used. */
  readonly force?: boolean | undefined;
  /** Checks the change, and makes none. */
  readonly dryRun?: boolean | undefined;
  /** Whether the number of types is checked already. */
  readonly isBounded?: boolean;
}

const FROM_FILE: Actor = {
  principal: { kind: 'admin', tokenId: 'event-types-file' },
  requestId: 'start',
  depth: 0,
};

/** A declaration that was checked, with the check that its schema was compiled to. */
export interface CheckedDeclaration {
  readonly declaration: EventTypeDeclaration;
  readonly check: DataCheck;
}

/** What a stored event, or the new sample, has that a schema does not allow. */
interface Example {
  readonly eventId?: string;
  readonly pointer: string;
  readonly message: string;
}

export class EventTypes {
  readonly #deps: EventTypesDeps;
  #catalog: Promise<EventCatalog> | undefined;
  #latest = NO_EVENT_TYPES;
  /** Events that this node has refused because of their data. */
  unfit = 0;
  /** Types as they were last read, by their rows: a change of one does not compile the others. */
  #known = new Map<string, EventType>();

  constructor(deps: EventTypesDeps) {
    this.#deps = deps;
  }

  /** All declared types. */
  catalog(): Promise<EventCatalog> {
    if (this.#catalog !== undefined) return this.#catalog;
    const catalog = this.#read();
    this.#catalog = catalog;
    catalog.then(
      (read) => {
        if (this.#catalog === catalog) this.#latest = read;
      },
      () => {
        if (this.#catalog === catalog) this.#catalog = undefined;
      },
    );
    return catalog;
  }

  /**
   * The declared types as this node last read them: for what is decided in a transaction, which
   * must not wait for another statement.
   */
  get latest(): EventCatalog {
    return this.#latest;
  }

  /** Reads the types again: another node may have changed them. */
  refresh(): void {
    this.#catalog = undefined;
    // A failure stays: whoever needs the types next reads them again.
    this.catalog().catch(() => undefined);
  }

  async #read(): Promise<EventCatalog> {
    const rows = await this.#deps.database.selectFrom('event_types').selectAll().orderBy('name').execute();
    const known = new Map<string, EventType>();
    for (const row of rows) {
      const key = JSON.stringify(row);
      const { name, declaration, created_at: createdAt, updated_at: updatedAt } = row;
      const type =
        this.#known.get(key) ?? storedEventType(name, JSON.parse(declaration), { createdAt, updatedAt });
      known.set(key, type);
    }
    this.#known = known;
    return new EventCatalog([...known.values()]);
  }

  /**
   * Declares a type, or changes it.
   *
   * @throws EVENT_TYPE_BREAKING, EVENT_TYPES_FULL
   */
  async put(
    name: string,
    { declaration, check }: CheckedDeclaration,
    by: Actor,
    { force, dryRun, isBounded }: ChangeOptions = {},
  ): Promise<EventTypeChange> {
    const text = canonicalJson(declaration);
    const stored = await this.#declared(name);
    if (stored === text) return 'unchanged';
    if (stored !== undefined && !force) await this.#requireFit(name, JSON.parse(stored), check, declaration);
    const change = stored === undefined ? 'added' : 'changed';
    if (stored === undefined && !isBounded) await this.#requireRoom(this.#deps.database, name);
    if (dryRun) return change;
    await this.#change(
      change === 'added' ? 'event-type.declare' : 'event-type.change',
      name,
      by,
      async (transaction, now) => {
        if (!isBounded) await this.#requireRoom(transaction, name);
        await transaction
          .insertInto('event_types')
          .values({ name, declaration: text, created_at: now, updated_at: now })
          .onConflict((conflict) =>
            conflict.column('name').doUpdateSet({ declaration: text, updated_at: now }),
          )
          .execute();
        return force ? { force } : {};
      },
    );
    return change;
  }

  /**
   * Deletes a type. Events that were accepted are still delivered.
   *
   * @returns false if there is no such type
   * @throws EVENT_TYPE_IN_USE
   */
  async delete(name: string, by: Actor, { force, dryRun }: ChangeOptions = {}): Promise<boolean> {
    if ((await this.#declared(name)) === undefined) return false;
    const users = force ? [] : await this.#usersOf(name);
    if (users.length > 0) {
      const message = `The event type "${name}" is used: ${users.join('; ')}.`;
      throw new AnnexError('EVENT_TYPE_IN_USE', message, { extra: { users } });
    }
    if (dryRun) return true;
    await this.#change('event-type.delete', name, by, async (transaction) => {
      await transaction.deleteFrom('event_types').where('name', '=', name).execute();
      return force ? { force } : {};
    });
    return true;
  }

  /**
   * Makes the declared types those of a file: checks each change before the first is made.
   *
   * @throws as `put` and `delete`
   */
  async declareAll(types: ReadonlyMap<string, CheckedDeclaration>): Promise<void> {
    const { eventTypes: max } = this.#deps.limits;
    if (types.size > max) throw limitError('EVENT_TYPES_FULL', { name: 'eventTypes', max, used: types.size });
    const gone = (await this.catalog()).names.filter((name) => !types.has(name));
    for (const dryRun of [true, false]) {
      for (const name of gone) await this.delete(name, FROM_FILE, { dryRun });
      for (const [name, checked] of types)
        await this.put(name, checked, FROM_FILE, { dryRun, isBounded: true });
    }
  }

  async #declared(name: string): Promise<string | undefined> {
    const row = await this.#deps.database
      .selectFrom('event_types')
      .select('declaration')
      .where('name', '=', name)
      .executeTakeFirst();
    return row?.declaration;
  }

  async #change(
    action: AuditAction,
    name: string,
    by: Actor,
    work: (transaction: Database, now: number) => Promise<Readonly<Record<string, unknown>>>,
  ): Promise<void> {
    const { database, auditIds, wallNow, changed } = this.#deps;
    await inTransaction(database, async (transaction) => {
      await lock(transaction, 'event types');
      const now = wallNow();
      const details = { type: name, ...(await work(transaction, now)) };
      await insertAudit(transaction, { id: auditIds.next(now), at: now, by, entry: { action, details } });
      await announce(transaction, 'eventTypes');
    });
    this.refresh();
    await this.catalog();
    changed();
  }

  async #requireRoom(database: Database, name: string): Promise<void> {
    const { eventTypes: max } = this.#deps.limits;
    const { count } = await database
      .selectFrom('event_types')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('name', '<>', name)
      .executeTakeFirstOrThrow();
    const used = Number(count) + 1;
    if (used > max) throw limitError('EVENT_TYPES_FULL', { name: 'eventTypes', max, used });
  }

  /** A changed level moves events elsewhere; a changed schema must fit those that were accepted. */
  async #requireFit(
    name: string,
    before: EventTypeDeclaration,
    check: DataCheck,
    after: EventTypeDeclaration,
  ): Promise<void> {
    const examples: Example[] = [];
    if (before.level !== after.level)
      examples.push({
        pointer: '',
        message: `happens at another level: ${before.level} before, ${after.level} now`,
      });
    if (canonicalJson(before.schema) !== canonicalJson(after.schema)) {
      if (before.sample !== undefined) examples.push(...firstProblem(check, before.sample));
      examples.push(...(await this.#unfitEvents(name, check)));
    }
    if (examples.length === 0) return;
    const shown = examples.slice(0, EXAMPLES_MAX);
    const texts = shown.map(
      ({ eventId, pointer, message }) =>
        `${eventId === undefined ? 'its sample' : `event "${eventId}"`}: data${pointer} ${message}`,
    );
    throw new AnnexError(
      'EVENT_TYPE_BREAKING',
      `The change of "${name}" is not one that all of its events fit: ${texts.join('; ')}.`,
      {
        extra: {
          problems: shown.map((example, index) => ({
            severity: 'error',
            ...example,
            message: `${texts[index]}.`,
          })),
        },
      },
    );
  }

  /** Examples among the last events of a type, newest first. */
  async #unfitEvents(name: string, check: DataCheck): Promise<readonly Example[]> {
    const examples: Example[] = [];
    let before: string | undefined;
    for (let read = 0; read < EVENTS_CHECKED && examples.length < EXAMPLES_MAX; read += EVENTS_PER_READ) {
      let select = this.#deps.database
        .selectFrom('events')
        .select(['id', 'event_id', 'body'])
        .where('type', '=', name)
        .where(sql<boolean>`${sql.raw(OF_DECLARED_TYPES)}`);
      if (before !== undefined) select = select.where('id', '<', before);
      const rows = await select.orderBy('id', 'desc').limit(EVENTS_PER_READ).execute();
      for (const { id, event_id: eventId, body } of rows) {
        before = id;
        const { data } = JSON.parse(body) as { data?: unknown };
        examples.push(...firstProblem(check, data).map((problem) => ({ eventId, ...problem })));
        // A check may take tens of milliseconds.
        await nextTurn();
      }
      if (rows.length < EVENTS_PER_READ) break;
    }
    return examples;
  }

  /**
   * Who uses a type, in words. Handlers and selections of patterns are no uses: they miss nothing.
   */
  async #usersOf(name: string): Promise<readonly string[]> {
    const { database } = this.#deps;
    const users: string[] = [];
    const quoted = JSON.stringify(name);
    for (let after = ''; users.length < USERS_MAX; ) {
      const rows = await database
        .selectFrom('integrations')
        .innerJoin('versions', (join) =>
          join
            .onRef('versions.integration', '=', 'integrations.name')
            .onRef('versions.number', '=', 'integrations.active_version'),
        )
        .select(['integrations.name', 'versions.handled_events'])
        .where('integrations.name', '>', after)
        .orderBy('integrations.name')
        .limit(ROWS_PER_READ)
        .execute();
      for (const { name: integration, handled_events } of rows)
        if (handled_events?.includes(quoted)) users.push(`the integration "${integration}" handles it`);
      after = rows.at(-1)?.name ?? '';
      if (rows.length < ROWS_PER_READ) break;
    }
    users.push(...(await this.#selections(name)));
    const pending = await database
      .selectFrom('deliveries')
      .select('id')
      .where('type', '=', name)
      .where('state', '=', 'pending')
      .where(sql<boolean>`${sql.raw(OF_DECLARED_TYPES)}`)
      .limit(1)
      .execute();
    if (pending.length > 0) users.push('deliveries of it are pending');
    return users.slice(0, USERS_MAX);
  }

  /** Targets whose settings have the type in a list. */
  async #selections(name: string): Promise<readonly string[]> {
    // `_` of a name stands for any character here, so what is found is read.
    const rows = await this.#deps.database
      .selectFrom('targets')
      .select(['installation_id', 'integration', 'level', 'place', 'configuration'])
      .where('configuration', 'like', `%${JSON.stringify(name)}%`)
      .limit(ROWS_PER_READ)
      .execute();
    return rows.flatMap(({ installation_id, integration, level, place, configuration }) => {
      const lists = Object.values(JSON.parse(configuration) as object).filter(Array.isArray);
      if (!lists.some((list) => list.includes(name))) return [];
      const where = level === 'organization' ? '' : ` in the ${level} "${place}"`;
      return [`the installation ${installation_id} of "${integration}"${where} selects it`];
    });
  }
}

const firstProblem = (check: DataCheck, data: unknown): readonly Example[] => check(data).slice(0, 1);
