/**
 * A process that makes one change of a store and shows how a crash after each statement of it would leave the store:
 * `crash-process.ts <folder> <change> <statements>`. Prints the statements as JSON.
 *
 * After the statement with number n it copies the folder to `<folder>-n`, or, with the number given, kills itself there:
 * SIGKILL is the end of a crash, in which nothing is flushed, nothing is closed, no handler runs. What was written until
 * then is what a copy made in that moment holds, and a copy costs far less than a process. Statements are counted where
 * they reach SQLite, `begin` and `commit` among them.
 */
import { execFileSync } from 'node:child_process';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { CHANGES, look, open } from './store-changes.ts';

const [folder = '', name = '', killAfter = '0'] = process.argv.slice(2);
const statements: string[] = [];
let counting = false;

function count(sql: string): void {
  if (!counting) return;
  statements.push(sql);
  if (killAfter !== '0') {
    if (statements.length === Number(killAfter)) process.kill(process.pid, 'SIGKILL');
    return;
  }
  // By another process: where this one opens and closes the files once more, it loses the locks that SQLite holds on them.
  execFileSync('cp', ['-R', folder, `${folder}-${statements.length}`]);
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
