/**
 * A process that makes one change of a store and kills itself after a number of statements:
 * `crash-process.ts <folder> <change> <statements>`. With 0 it survives, and prints the statements
 * as JSON.
 *
 * SIGKILL is like a crash: nothing is flushed, nothing is closed, no handler runs. Statements are
 * counted where they reach SQLite, including `begin` and `commit`.
 */
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { CHANGES, look, open } from '../store/store-changes.ts';

const [folder = '', name = '', killAfter = '0'] = process.argv.slice(2);
const statements: string[] = [];
let counting = false;

function count(sql: string): void {
  if (!counting) return;
  statements.push(sql);
  if (statements.length === Number(killAfter)) process.kill(process.pid, 'SIGKILL');
}

const prepare = DatabaseSync.prototype.prepare;
DatabaseSync.prototype.prepare = function (this: DatabaseSync, sql: string): StatementSync {
  const statement = prepare.call(this, sql);
  for (const method of ['all', 'run'] as const) {
    const original = statement[method].bind(statement);
    Object.defineProperty(statement, method, {
      value(...parameters: SQLInputValue[]) {
        const result = original(...parameters);
        count(sql);
        return result;
      },
    });
  }
  return statement;
};

const store = await open(folder, 'change');
const found = await look(store);
counting = true;
const change = CHANGES[name];
if (change === undefined) throw new Error(`There is no change "${name}".`);
await change(store, found);
counting = false;
process.stdout.write(JSON.stringify(statements));
await store.close();
