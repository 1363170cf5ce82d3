/**
 * The suites that run on both engines: those whose promises depend on the database. They run once
 * more on PostgreSQL, in the project `postgres`.
 */
import { postgresBinaries } from '../postgres/binaries.ts';

/** Folders, and of other folders the files whose statements are the most. */
const SUITES = [
  'test/store',
  ...['api', 'deliveries', 'events', 'installations'].map((name) => `test/service/${name}`),
  'test/service/integrations/install-links.test.ts',
  'test/service/integrations/integrations.test.ts',
  'test/service/lifecycle/lifecycle-event-order.test.ts',
  'test/service/oauth/credential-leases.test.ts',
  'test/service/process/first-admin-token.test.ts',
  'test/service/tasks/task-schedule.test.ts',
  'test/service/webhooks/webhook-deliveries.test.ts',
  'test/service/webhooks/webhook-secrets.test.ts',
];

/** About the file of SQLite, or its query plans. */
export const ABOUT_SQLITE = [
  'test/store/database/damaged-wal.test.ts',
  'test/store/deliveries/query-plans.test.ts',
  'test/store/folder/data-folder.test.ts',
];

/** About PostgreSQL, or several nodes, alone. */
export const ABOUT_POSTGRES = [
  'test/service/nodes',
  'test/service/workers/workers.test.ts',
  'test/store/copy',
  'test/store/log-poll.test.ts',
  'test/store/postgres',
].map(pattern);

function pattern(path: string): string {
  return path.endsWith('.ts') ? path : `${path}/**/*.test.ts`;
}

/**
 * Patterns of the suites for PostgreSQL; none, with a note, where no server can be had.
 *
 * @throws in continuous integration (`CI=true`), where nothing may be left out
 */
export function postgresSuites(): string[] {
  const { ANNEX_TEST_POSTGRES, CI } = process.env;
  if (ANNEX_TEST_POSTGRES !== undefined || postgresBinaries() !== undefined)
    return [...SUITES.map(pattern), ...ABOUT_POSTGRES];
  if (CI === 'true') throw new Error('The tests on PostgreSQL cannot run: install postgresql.');
  process.stderr.write('Without the tests on PostgreSQL: install postgresql to run them.\n');
  return [];
}
