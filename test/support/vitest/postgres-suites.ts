/**
 * The suites that run on both engines: those whose promises depend on the database. They run once
 * more on PostgreSQL, in the project `postgres`.
 */
import { postgresBinaries } from '../postgres/binaries.ts';

/** Folders, and single files. */
const SUITES = [
  'test/store',
  ...['api', 'deliveries', 'events', 'installations', 'integrations', 'lifecycle', 'oauth', 'tasks'].map(
    (name) => `test/service/${name}`,
  ),
  ...['test/service/nodes', 'test/service/webhooks', 'test/service/workers/workers.test.ts'],
];

/** About the file of SQLite, or its query plans. */
export const ABOUT_SQLITE = [
  'test/store/database/damaged-wal.test.ts',
  'test/store/deliveries/query-plans.test.ts',
  'test/store/folder/data-folder.test.ts',
];

/** About PostgreSQL alone. */
export const ABOUT_POSTGRES = [
  ...['test/store/postgres/**', 'test/store/copy/**'],
  ...['test/store/log-poll.test.ts', 'test/service/nodes/**', 'test/service/workers/workers.test.ts'],
];

/**
 * Patterns of the suites for PostgreSQL; none, with a note, where no server can be had.
 *
 * @throws in continuous integration (`CI=true`), where nothing may be left out
 */
export function postgresSuites(): string[] {
  const { ANNEX_TEST_POSTGRES, CI } = process.env;
  if (ANNEX_TEST_POSTGRES !== undefined || postgresBinaries() !== undefined)
    return SUITES.map((path) => (path.endsWith('.ts') ? path : `${path}/**/*.test.ts`));
  if (CI === 'true') throw new Error('The tests on PostgreSQL cannot run: install postgresql.');
  process.stderr.write('Without the tests on PostgreSQL: install postgresql to run them.\n');
  return [];
}
