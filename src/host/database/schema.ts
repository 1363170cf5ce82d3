/**
 * The tables that a new database gets, one row for each: its columns, its key, and the indexes that
 * statements need. `tables.ts` says what the columns mean.
 */
import { type CreateTableBuilder, type Kysely, sql } from 'kysely';

interface Column {
  readonly type: 'text' | 'integer' | 'bigint';
  readonly isNull?: true;
  readonly default?: string | number;
  readonly isUnique?: true;
}

interface Index {
  readonly columns: readonly string[];
  readonly isUnique?: true;
  /** SQL. A partial index stays small, whatever the table holds. */
  readonly where?: string;
}

interface Reference {
  readonly columns: readonly string[];
  readonly table: string;
  readonly to: readonly string[];
  readonly isCascade?: true;
}

interface Table {
  readonly columns: Readonly<Record<string, Column>>;
  readonly key: readonly string[];
  readonly references?: Reference | readonly Reference[];
  /** By the end of its name, which begins with the table's. */
  readonly indexes?: Readonly<Record<string, Index>>;
}

const text: Column = { type: 'text' };
const integer: Column = { type: 'integer' };
const time: Column = { type: 'bigint' };
const optional = (column: Column): Column => ({ ...column, isNull: true });
const unique = (column: Column): Column => ({ ...column, isUnique: true });

const TARGET = ['installation_id', 'level', 'place'];
const TARGET_COLUMNS = { installation_id: text, level: text, place: text };
/** Rows that end with their target. */
const ofTarget = { columns: TARGET, table: 'targets', to: TARGET, isCascade: true } as const;
const ofIntegration = { columns: ['integration'], table: 'integrations', to: ['name'] };

/** In the order in which they are made: a table comes after those that it references. */
const TABLES: Readonly<Record<string, Table>> = {
  integrations: {
    columns: {
      name: text,
      organization: text,
      visibility: text,
      title: text,
      description: text,
      active_version: integer,
      latest_version: integer,
      sealed_signing_secret: text,
      endpoint_key: text,
      lowered_limits: { ...text, default: '{}' },
      install_link_hash: optional(text),
      created_at: time,
      updated_at: time,
    },
    key: ['name'],
    indexes: {
      endpoint: { columns: ['endpoint_key'], isUnique: true },
      install_link: { columns: ['install_link_hash'] },
    },
  },
  deleted_integrations: { columns: { name: text, latest_version: integer }, key: ['name'] },
  built_ins: { columns: { name: text, content_hash: text }, key: ['name'] },
  versions: {
    columns: {
      integration: text,
      number: integer,
      manifest: text,
      script: text,
      source_map: text,
      handled_events: optional(text),
      created_at: time,
    },
    key: ['integration', 'number'],
    references: ofIntegration,
  },
  images: {
    columns: { integration: text, number: integer, path: text, content: text },
    key: ['integration', 'number', 'path'],
    references: {
      columns: ['integration', 'number'],
      table: 'versions',
      to: ['integration', 'number'],
      isCascade: true,
    },
  },
  secrets: {
    columns: { integration: text, name: text, sealed_value: text, updated_at: { ...time, default: 0 } },
    key: ['integration', 'name'],
    references: ofIntegration,
  },
  /** One table for targets of all levels (docs/decisions/targets-table.md). */
  targets: {
    columns: {
      ...TARGET_COLUMNS,
      integration: text,
      organization: text,
      endpoint_key: unique(text),
      status: text,
      configuration: text,
      sealed_credentials: optional(text),
      external_ids: text,
      space_selection: text,
      site_selection: text,
      sealed_signing_secret: text,
      revision: integer,
      paused_at: optional(time),
      created_at: time,
      updated_at: time,
    },
    key: TARGET,
    references: ofIntegration,
    indexes: {
      once: { columns: ['integration', 'organization', 'level', 'place'], isUnique: true },
      page: { columns: ['integration', 'level', 'installation_id'] },
      organization: { columns: ['organization', 'level', 'integration'] },
    },
  },
  external_ids: {
    columns: { integration: text, external_id: text, ...TARGET_COLUMNS },
    key: ['integration', 'external_id', ...TARGET],
    references: ofTarget,
    indexes: { target_index: { columns: TARGET } },
  },
  /** At most one row a target: the next lease overwrites one that was not released. */
  credential_leases: {
    columns: { ...TARGET_COLUMNS, holder: text, expires_at: time },
    key: TARGET,
    references: ofTarget,
  },
  /** Removed with their target, or when they expire. */
  spent_states: {
    columns: { ...TARGET_COLUMNS, digest: text, expires_at: time },
    key: [...TARGET, 'digest'],
    references: ofTarget,
    indexes: { over: { columns: ['expires_at'] } },
  },
  /** Written only on engines that are shared: a node alone remembers in memory. */
  spent_signatures: {
    columns: { endpoint_key: text, digest: text, expires_at: time },
    key: ['endpoint_key', 'digest'],
    indexes: { over: { columns: ['expires_at'] } },
  },
  webhook_secrets: {
    columns: {
      ...TARGET_COLUMNS,
      sealed_secret: text,
      sealed_previous: optional(text),
      previous_until: optional(time),
      updated_at: time,
    },
    key: TARGET,
    references: ofTarget,
  },
  /** No foreign key: the event of a deletion outlives its target. */
  life_events: {
    columns: {
      ...TARGET_COLUMNS,
      position: integer,
      event_id: unique(text),
      integration: text,
      organization: text,
      type: text,
      sealed_record: text,
      depth: integer,
      state: text,
      attempts: integer,
      due_at: time,
      outcome: optional(text),
      created_at: time,
      finished_at: optional(time),
      lease_until: optional(time),
      fence: { ...integer, default: 0 },
    },
    key: ['installation_id', 'position'],
    indexes: {
      // Finds the first pending event of one installation, and of each.
      waiting: { columns: ['state', 'installation_id', 'position'] },
      // Each install counts the pending ones of its organization.
      waiting_of_organization: { columns: ['integration', 'organization'], where: "state = 'pending'" },
      leased: { columns: ['installation_id'], where: 'lease_until is not null' },
      finished: { columns: ['finished_at'] },
    },
  },
  /**
   * Ids of events come from a `Sequence`, and a delivery's id begins with its event's: new rows are
   * appended at the end of each B-tree, and the deliveries of an event are a range.
   */
  events: {
    columns: {
      id: text,
      event_id: unique(text),
      organization: text,
      type: text,
      level: text,
      place: text,
      installation_id: optional(text),
      body: text,
      body_hash: text,
      deliveries: integer,
      created_at: time,
    },
    key: ['id'],
    indexes: { organization: { columns: ['organization', 'id'] } },
  },
  /** No foreign key: a delivery outlives its target. */
  deliveries: {
    columns: {
      id: text,
      event: text,
      event_id: text,
      type: text,
      kind: text,
      endpoint: text,
      organization: text,
      integration: text,
      ...TARGET_COLUMNS,
      state: text,
      due_at: time,
      armed_at: time,
      lease_until: optional(time),
      fence: integer,
      attempts: integer,
      retries: integer,
      unknowns: integer,
      faults: integer,
      outcome: optional(text),
      created_at: time,
      finished_at: optional(time),
      generation: { ...integer, default: 0 },
    },
    key: ['id'],
    indexes: {
      waiting: { columns: ['endpoint', 'due_at', 'id'], where: "state = 'pending'" },
      leased: { columns: ['lease_until'], where: 'lease_until is not null' },
      failed: { columns: ['id'], where: "state = 'failed'" },
      installation: { columns: ['installation_id', 'id'] },
      // Pending tasks are counted for each integration.
      tasks: { columns: ['integration'], where: "state = 'pending' and type = 'task'" },
    },
  },
  /** A table of its own: a delivery's row is rewritten at each attempt, these bytes never are. */
  delivery_payloads: {
    columns: { delivery_id: text, destination: text, payload: text, revision: text },
    key: ['delivery_id'],
  },
  delivery_attempts: {
    columns: {
      delivery_id: text,
      number: integer,
      at: time,
      duration_ms: integer,
      result: text,
      outcome: text,
      destination: optional(text),
      status: optional(integer),
      response: optional(text),
      truncated: integer,
    },
    key: ['delivery_id', 'number'],
  },
  statement_keys: {
    columns: { kid: text, number: unique(integer), sealed_key: text, public_key: text, created_at: time },
    key: ['kid'],
  },
  tokens: {
    columns: { id: text, kind: text, organization: optional(text), hash: unique(text), created_at: time },
    key: ['id'],
  },
  /**
   * No foreign key: a line of an installation deleted meanwhile must not fail the batch in which it
   * is written.
   */
  log_lines: {
    columns: {
      installation_id: text,
      id: text,
      version: integer,
      request_id: text,
      level: integer,
      text,
      at: time,
    },
    key: ['installation_id', 'id'],
  },
  /** No foreign key: an audit entry outlives the objects that it names. */
  audit: {
    columns: {
      id: text,
      at: time,
      action: text,
      actor: text,
      actor_organization: optional(text),
      token_id: optional(text),
      address: optional(text),
      request_id: text,
      organization: optional(text),
      integration: optional(text),
      installation_id: optional(text),
      level: optional(text),
      place: optional(text),
      details: text,
    },
    key: ['id'],
    indexes: {
      organization: { columns: ['organization', 'id'] },
      integration: { columns: ['integration', 'id'] },
      installation_id: { columns: ['installation_id', 'id'] },
    },
  },
};

/**
 * Whether a row of an event or a delivery is of a type that the product has declared. Statements
 * repeat it word for word, so that the partial indexes serve them.
 */
export const OF_DECLARED_TYPES =
  "type not in ('space_view', 'space_content_updated', 'space_visibility_updated', " +
  "'space_gitsync_started', 'space_gitsync_completed', 'site_view', 'page_feedback', 'task')";

/** Event types of the product, and indexes over what is of them: other rows cost none. */
export async function createEventTypes(db: Kysely<unknown>): Promise<void> {
  await createTable(db, 'event_types', {
    columns: { name: text, declaration: text, created_at: time, updated_at: time },
    key: ['name'],
  });
  const indexes = [
    { table: 'events', columns: ['type', 'id'], where: OF_DECLARED_TYPES },
    { table: 'deliveries', columns: ['type'], where: `state = 'pending' and ${OF_DECLARED_TYPES}` },
  ];
  for (const { table, columns, where } of indexes)
    await db.schema
      .createIndex(`${table}_declared`)
      .on(table)
      .columns(columns)
      .where(sql<boolean>`${sql.raw(where)}`)
      .execute();
}

/** What code of integrations keeps (docs/contract/storage.md). */
const STORAGE_TABLES: Readonly<Record<string, Table>> = {
  /** Ends with its target or its integration, and its entries with it. */
  storage_areas: {
    columns: {
      area: text,
      integration: text,
      installation_id: optional(text),
      level: optional(text),
      place: optional(text),
      keys: integer,
      bytes: time,
      version: time,
    },
    key: ['area'],
    references: [ofTarget, { ...ofIntegration, isCascade: true }],
    // The foreign keys find rows by these.
    indexes: { target: { columns: TARGET }, integration: { columns: ['integration'] } },
  },
  storage_entries: {
    columns: {
      area: text,
      key: text,
      version: time,
      kind: text,
      sealed_value: text,
      bytes: integer,
      expires_at: optional(time),
      updated_at: time,
    },
    key: ['area', 'key'],
    references: { columns: ['area'], table: 'storage_areas', to: ['area'], isCascade: true },
    indexes: { over: { columns: ['expires_at'], where: 'expires_at is not null' } },
  },
};

/** No foreign key: a target or the own endpoint of an integration has them. */
const SCHEDULE_TABLES: Readonly<Record<string, Table>> = {
  schedules: {
    columns: {
      endpoint: text,
      id: text,
      integration: text,
      timing: text,
      next_at: time,
      due_at: time,
      running: optional(text),
      last_at: optional(time),
      last_started_at: optional(time),
      last_delivery: optional(text),
      last_state: optional(text),
      last_outcome: optional(text),
    },
    key: ['endpoint', 'id'],
    indexes: {
      due: { columns: ['due_at'], where: 'running is null' },
      running: { columns: ['running'], where: 'running is not null' },
      integration: { columns: ['integration'] },
    },
  },
  schedule_changes: {
    columns: { integration: text, after: text, due_at: time },
    key: ['integration'],
  },
};

/** Makes the tables of the first release in an empty database. */
export const createTables = (db: Kysely<unknown>): Promise<void> => create(db, TABLES);

export const createStorageTables = (db: Kysely<unknown>): Promise<void> => create(db, STORAGE_TABLES);

export const createScheduleTables = (db: Kysely<unknown>): Promise<void> => create(db, SCHEDULE_TABLES);

async function create(db: Kysely<unknown>, tables: Readonly<Record<string, Table>>): Promise<void> {
  for (const [name, table] of Object.entries(tables)) await createTable(db, name, table);
}

/**
 * States of webhooks that are not healthy, or were not: a webhook without a row is healthy. And
 * where to look for what such a webhook has missed.
 */
export async function createWebhookHealth(db: Kysely<unknown>): Promise<void> {
  await createTable(db, 'webhook_health', {
    columns: {
      ...TARGET_COLUMNS,
      state: text,
      since: time,
      failing_since: optional(time),
      outcome: optional(text),
      disabled_by: optional(text),
      reason: optional(text),
      note: optional(text),
    },
    key: TARGET,
    references: ofTarget,
    indexes: { unwell: { columns: TARGET, where: "state <> 'healthy'" } },
  });
  await createIndex(db, 'deliveries', 'held', {
    columns: ['installation_id', 'id'],
    where: "state = 'held'",
  });
}

/** Targets whose credentials no provider renews any more, until others are stored. */
export async function createLostConnections(db: Kysely<unknown>): Promise<void> {
  await createTable(db, 'lost_connections', {
    columns: { ...TARGET_COLUMNS, since: time },
    key: TARGET,
    references: ofTarget,
  });
}

async function createTable(db: Kysely<unknown>, name: string, table: Table): Promise<void> {
  const { columns, key, references, indexes = {} } = table;
  let statement: CreateTableBuilder<string, string> = db.schema.createTable(name);
  statement = statement.addPrimaryKeyConstraint(`${name}_key`, [...key]);
  for (const [column, { type, isNull, isUnique, default: value }] of Object.entries(columns))
    statement = statement.addColumn(column, type, (definition) => {
      const filled = isNull ? definition : definition.notNull();
      const begun = value === undefined ? filled : filled.defaultTo(value);
      return isUnique ? begun.unique() : begun;
    });
  for (const { columns: own, table: other, to, isCascade } of [references ?? []].flat()) {
    statement = statement.addForeignKeyConstraint(
      `${name}_${other}`,
      [...own],
      other,
      [...to],
      (constraint) => (isCascade ? constraint.onDelete('cascade') : constraint),
    );
  }
  await statement.execute();
  for (const [end, index] of Object.entries(indexes)) await createIndex(db, name, end, index);
}

async function createIndex(
  db: Kysely<unknown>,
  table: string,
  end: string,
  { columns, isUnique, where }: Index,
): Promise<void> {
  const index = db.schema
    .createIndex(`${table}_${end}`)
    .on(table)
    .columns([...columns]);
  const made = isUnique ? index.unique() : index;
  await (where === undefined ? made : made.where(sql<boolean>`${sql.raw(where)}`)).execute();
}

/** Lists of installations of all integrations (`GET /v1/installations`), sorted by id. */
export async function indexInstallations(db: Kysely<unknown>): Promise<void> {
  const where = "level = 'organization'";
  const id = 'installation_id';
  const whole = (...columns: string[]): Index => ({ columns: [...columns, id], where });
  await createIndex(db, 'targets', 'whole', whole());
  await createIndex(db, 'targets', 'whole_organization', whole('organization'));
  await createIndex(db, 'targets', 'whole_status', whole('status'));
  await createIndex(db, 'targets', 'whole_integration_status', whole('integration', 'status'));
  await createIndex(db, 'external_ids', 'whole', whole('external_id'));
}

/** Organizations that the product has declared. */
export const createOrganizations = (db: Kysely<unknown>): Promise<void> =>
  createTable(db, 'organizations', {
    columns: {
      id: text,
      subdomain: optional(unique(text)),
      title: optional(text),
      created_at: time,
      updated_at: time,
    },
    key: ['id'],
  });

/** What a token is called, may be narrowed to, and until when; and when it was last used. */
export async function addTokenColumns(db: Kysely<unknown>): Promise<void> {
  const columns = { name: 'text', rights: 'text', expires_at: 'bigint', last_used_at: 'bigint' } as const;
  for (const [name, type] of Object.entries(columns))
    await db.schema.alterTable('tokens').addColumn(name, type).execute();
}

/** Of a session or a link of the console: the token that it ends with. */
export async function addTokenParents(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('tokens').addColumn('parent', 'text').execute();
  await createIndex(db, 'tokens', 'parent', { columns: ['parent'] });
}

/** Of a session or a link of the portal: what the link was made with. */
export const addPortalGrants = (db: Kysely<unknown>): Promise<void> =>
  db.schema.alterTable('tokens').addColumn('portal', 'text').execute();

/** What the operator says of versions of public integrations. */
export async function addReviews(db: Kysely<unknown>): Promise<void> {
  const ofVersion = { review: 'text', reviewed_at: 'bigint', refusal: 'text' } as const;
  for (const [name, type] of Object.entries(ofVersion))
    await db.schema.alterTable('versions').addColumn(name, type).execute();
  await db.schema.alterTable('integrations').addColumn('waiting_version', 'integer').execute();
  await db.schema
    .alterTable('integrations')
    .addColumn('under_review', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
}

/** Why a receiver had no answer (docs/contract/webhooks.md#outcomes). */
export const addAttemptReasons = (db: Kysely<unknown>): Promise<void> =>
  db.schema.alterTable('delivery_attempts').addColumn('reason', 'text').execute();

/** Headers of their owner's own, of webhooks (docs/contract/webhooks.md#own-headers). */
export const addWebhookHeaders = (db: Kysely<unknown>): Promise<void> =>
  db.schema.alterTable('webhook_secrets').addColumn('sealed_headers', 'text').execute();

/** When the next request of a webhook with a rate may be sent. */
export const addWebhookRates = (db: Kysely<unknown>): Promise<void> =>
  db.schema.alterTable('webhook_secrets').addColumn('next_post_at', 'bigint').execute();

/** What each node did in each minute of the last day. */
export const createActivity = (db: Kysely<unknown>): Promise<void> =>
  createTable(db, 'activity', {
    columns: {
      ...{ minute: time, node: text, calls: integer, errors: integer, walls: text },
      ...{ delivered: integer, failed: integer, waiting: integer },
      ...{ cells: integer, cell_bytes: time, contained: integer },
    },
    key: ['minute', 'node'],
  });
