/**
 * Handlers that use the API of the service while it is stopped and started, and while its database
 * is away: no delivery fails, because no code does.
 */
import { expect, test } from 'vitest';
import { onPostgres, onSqlite } from '../support/crash/handler-engines.ts';
import { needs } from '../support/programs.ts';

const ROUNDS = { restarts: 2, everyMs: 2_000, outageMs: 6_000 };

/** Handlers at work at a stop or an outage end well, and every event is handled. */
async function handles(run: typeof onSqlite): Promise<void> {
  const { undelivered, failed, acknowledged, tasks, calls } = await run(ROUNDS);
  expect({ undelivered, failed }).toEqual({ undelivered: [], failed: [] });
  expect(['0', '200', '503']).toEqual(expect.arrayContaining(Object.keys(calls)));
  expect(acknowledged).toBeGreaterThan(0);
  expect(tasks).toBeGreaterThanOrEqual(acknowledged);
}

test('a stop and an outage fail no handler at work on SQLite', () => handles(onSqlite), 600_000);

test(
  'a stop and an outage fail no handler at work on PostgreSQL',
  { ...needs('postgres'), timeout: 600_000 },
  () => handles(onPostgres),
);
