/**
 * `npm run bench:handlers`: handlers that use the API and queue tasks, through three restarts and
 * an outage of the database, on both engines. No delivery may fail, because no code does.
 * `--restarts`, `--seconds` between two of them and `--outage` (seconds) change the load; arguments
 * are the engines, `sqlite` and `postgres`.
 *
 * The long version of `test/slow/handlers-at-work.test.ts`.
 */
import { parseArgs } from 'node:util';
import { onPostgres, onSqlite } from '../test/support/crash/handler-engines.ts';

const ENGINES = { sqlite: onSqlite, postgres: onPostgres };

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    restarts: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '10' },
    outage: { type: 'string', default: '10' },
  },
});

for (const [name, run] of Object.entries(ENGINES)) {
  if (positionals.length > 0 && !positionals.includes(name)) continue;
  const { undelivered, failed, calls, ...counts } = await run({
    restarts: Number(values.restarts),
    everyMs: Number(values.seconds) * 1_000,
    outageMs: Number(values.outage) * 1_000,
  });
  const answers = Object.entries(calls).map(([status, count]) => `${count} × ${status}`);
  console.log(name);
  console.table({
    ...counts,
    'acknowledged and not delivered': undelivered.length,
    'finally failed': failed.length,
    'answers to calls': answers.join(', '),
  });
  for (const line of failed.slice(0, 10)) console.log(line);
  const wrong = Object.keys(calls).some((status) => !['0', '200', '503'].includes(status));
  if (undelivered.length > 0 || failed.length > 0 || wrong) process.exitCode = 1;
}
