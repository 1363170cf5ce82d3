/**
 * Locks on names, held until the transaction ends: two transactions that lock the same name run one
 * after the other, on all nodes.
 *
 * For changes that check before they write, such as a limit on a count. SQLite runs one transaction
 * at a time anyway, and locks nothing. Every transaction locks its names first, in one call: names
 * are locked in their order, so that two transactions cannot wait for each other.
 */
import { CompiledQuery } from 'kysely';
import { COMMAND_SQL, EngineCommand } from './command.ts';
import type { Database } from './tables.ts';

export class LockNames extends EngineCommand {
  /** Sorted, each once. */
  readonly names: readonly string[];

  constructor(names: readonly string[]) {
    super();
    this.names = [...new Set(names)].sort();
  }
}

/** @param names such as `integration github`: a kind, a blank and a name */
export async function lock(transaction: Database, ...names: readonly string[]): Promise<void> {
  await transaction.executeQuery(CompiledQuery.raw(COMMAND_SQL, [new LockNames(names)]));
}
