/**
 * What a database engine does for the store, beside running SQL. The store runs the same code on
 * every engine: what differs is a member of this interface, or a command that a driver carries out
 * in its own way (`bulk.ts`, `locks.ts`, `notices.ts`).
 *
 * Two engines implement it: `sqlite/` for one node, `postgres/` for many
 * (docs/decisions/engines.md).
 */
import type { GoesOn } from './batches.ts';
import type { Notice } from './notices.ts';
import type { Database } from './tables.ts';

/** Result of the checks of the database so far. It names tables, and holds no content of them. */
export interface IntegrityState {
  /**
   * `damaged` stays until a later check finds every table sound; `unchecked`: the engine's own
   * server is responsible.
   */
  readonly integrity: 'checking' | 'sound' | 'damaged' | 'unfinished' | 'unchecked';
  /** When the last check ended, in milliseconds since 1970. */
  readonly checkedAt: number | undefined;
  /** Tables of the latest check: finished, and all. */
  readonly tables: { readonly checked: number; readonly of: number };
  readonly damagedTables: readonly string[];
}

/** Whether the database does its work now. */
export interface DatabaseState {
  /** It answers. */
  readonly reachable: boolean;
  /** What was last written was committed. */
  readonly writable: boolean;
}

/** Receives what happens outside of this node. Its methods must not throw. */
export interface EngineListener {
  /** Another node has committed a change. */
  noticed(notice: Notice): void;
  /**
   * Notices of other nodes may have been lost: nothing that is cached of the database is certain.
   * Called when the connection is back, and when it has been lost for too long.
   */
  missedNotices(): void;
  /** The database answers again, after it did not. */
  isBack(): void;
}

export interface Engine {
  /** Whether other nodes use the same database. */
  readonly isShared: boolean;
  /** Transactions of the group commit that may be in flight at once. */
  readonly commitsInFlight: number;
  /** How long work waits for a transaction of the group commit, in milliseconds. */
  readonly commitWaitMs?: number;
  /** Milliseconds since 1970, by a clock on which all nodes agree. */
  readonly wallNow: () => number;
  /** The same, but never later than is true. */
  readonly signingClock: () => number;
  /** Where the vault's key file is by default. */
  readonly folder: string;
  readonly integrity: IntegrityState;
  readonly state: DatabaseState;

  /**
   * Connects, and brings the schema up to date.
   *
   * @throws if the database cannot be used; the message says what to do
   */
  open(): Promise<Database>;
  /** Begins to check the database. @returns once the first check has ended; never rejects */
  startChecks(): Promise<void>;
  /** Hears of other nodes' changes from now on. Called once, after `open`. */
  listen(listener: EngineListener): void;
  /** Runs `work` while no other node runs work under the same name; waits for its turn. */
  alone<Result>(name: string, work: () => Promise<Result>): Promise<Result>;
  /**
   * Runs `work` unless another node runs work under the same name. Work of many steps asks between
   * them whether it goes on. @returns whether it was run
   */
  unlessElsewhere(name: string, work: (goesOn: GoesOn) => Promise<void>): Promise<boolean>;
  /** Ends checks and the connection to other nodes. The database itself is closed by `destroy`. */
  close(): Promise<void>;
}
