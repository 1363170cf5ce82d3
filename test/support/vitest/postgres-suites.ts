/**
 * The suites that run on both engines: those whose promises depend on the database. They run once
 * more on PostgreSQL, in the project `postgres`.
 */
import { missing } from '../programs.ts';

/** Folders, and of other folders the files whose statements are the most. */
const SUITES = [
  'test/store',
  ...['api', 'deliveries', 'events', 'installations', 'plain-workers'].map((name) => `test/service/${name}`),
  'test/service/console/console-session.test.ts',
  'test/service/integrations/install-links.test.ts',
  'test/service/integrations/integrations.test.ts',
  'test/service/lifecycle/lifecycle-event-order.test.ts',
  'test/service/oauth/credential-leases.test.ts',
  'test/service/process/first-admin-token.test.ts',
  'test/service/tasks/task-schedule.test.ts',
  'test/service/webhooks/webhook-deliveries.test.ts',
  'test/service/webhooks/product-notices.test.ts',
  'test/service/webhooks/webhook-health.test.ts',
  'test/service/webhooks/webhook-health-api.test.ts',
  'test/service/webhooks/webhook-secrets.test.ts',
];

/** About the file of SQLite, or its query plans. */
export const ABOUT_SQLITE = [
  'test/store/database/cut-wal.test.ts',
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

const ALL = [...SUITES.map(pattern), ...ABOUT_POSTGRES];

const isServerMissing = process.env['ANNEX_TEST_POSTGRES'] === undefined && missing('postgres').length > 0;

/** Patterns of the suites for PostgreSQL that run, and of those that have no server. */
export const POSTGRES_SUITES: readonly string[] = isServerMissing ? [] : ALL;
export const WITHOUT_POSTGRES: readonly string[] = isServerMissing ? ALL : [];
