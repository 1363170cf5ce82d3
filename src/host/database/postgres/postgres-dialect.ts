/**
 * Kysely's PostgreSQL dialect on the driver of this folder, with texts that sort as on SQLite.
 */
import {
  type DataTypeNode,
  type Dialect,
  type Driver,
  type Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
} from 'kysely';
import type { Pool } from 'pg';
import type { Availability } from '../availability.ts';
import { PostgresDriver } from './postgres-driver.ts';

export class PostgresDialect implements Dialect {
  readonly #pool: Pool;
  readonly #node: string;
  readonly #availability: Availability | undefined;

  /**
   * @param node marks the notices of this node
   * @param availability receives failures, and is asked before a statement is sent
   */
  constructor(pool: Pool, node: string, availability?: Availability) {
    this.#pool = pool;
    this.#node = node;
    this.#availability = availability;
  }

  createDriver(): Driver {
    return new PostgresDriver(this.#pool, this.#node, this.#availability);
  }

  createQueryCompiler(): PostgresQueryCompiler {
    return new BytewiseTexts();
  }

  createAdapter(): PostgresAdapter {
    return new WithoutLock();
  }

  // biome-ignore lint/suspicious/noExplicitAny: the type that kysely asks for
  createIntrospector(database: Kysely<any>): PostgresIntrospector {
    return new PostgresIntrospector(database);
  }
}

/**
 * Columns of texts compare bytes, whatever the locale of the database: pages and searches rely on
 * the order of ids, and an index on bytes is the fastest.
 */
class BytewiseTexts extends PostgresQueryCompiler {
  protected override visitDataType(node: DataTypeNode): void {
    super.visitDataType(node);
    if (node.dataType === 'text') this.append(' collate "C"');
  }
}

/**
 * Without Kysely's lock for migrations: `openMigrated` holds a lock of its own.
 *
 * Attack: a role without rights holds that advisory lock, whose key is in Kysely's source.
 */
class WithoutLock extends PostgresAdapter {
  override async acquireMigrationLock(): Promise<void> {}

  override async releaseMigrationLock(): Promise<void> {}
}
