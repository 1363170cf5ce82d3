/**
 * The migration that gives integrations endpoints, over a database that has some already.
 */
import { Kysely, sql } from 'kysely';
import { Migrator } from 'kysely/migration';
import { expect, onTestFinished, test } from 'vitest';
import { MIGRATIONS } from '../../../src/database/migrations.ts';
import { temporaryFolder } from '../../support/store/temporary-store.ts';
import { openTestDatabase, testDialect } from '../../support/store/test-engine.ts';

test('integrations that were published before get an endpoint each', async () => {
  const folder = await temporaryFolder();
  const before = new Kysely<unknown>({ dialect: await testDialect(folder, { isEmpty: true }) });
  const provider = { getMigrations: async () => ({ ...MIGRATIONS }) };
  await new Migrator({ db: before, provider }).migrateTo('018-built-ins');
  for (const name of ['one', 'two', 'three'])
    await sql`insert into integrations (name, organization, visibility, title, description, active_version,
      latest_version, sealed_signing_secret, created_at, updated_at)
      values (${name}, 'acme', 'private', '', '', 1, 1, '', 1, 1)`.execute(before);
  await before.destroy();
  const database = await openTestDatabase(folder);
  onTestFinished(() => database.destroy());
  const rows = await database.selectFrom('integrations').select('endpoint_key').execute();
  expect(new Set(rows.map((row) => row.endpoint_key)).size).toBe(3);
  for (const { endpoint_key } of rows) expect(endpoint_key).toMatch(/^[a-z2-7]{32}$/);
});
