/**
 * The migration that gives integrations endpoints, over a database that has some already.
 */
import { join } from 'node:path';
import { Kysely, sql } from 'kysely';
import { Migrator } from 'kysely/migration';
import { expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../../src/database/database.ts';
import { MIGRATIONS } from '../../../src/database/migrations.ts';
import { sqliteDialect } from '../../../src/database/sqlite/sqlite-dialect.ts';
import { temporaryFolder } from '../../support/store/temporary-store.ts';

test('integrations that were published before get an endpoint each', async () => {
  const path = join(await temporaryFolder(), 'annex.db');
  const before = new Kysely<unknown>({ dialect: sqliteDialect(path) });
  const provider = { getMigrations: async () => ({ ...MIGRATIONS }) };
  await new Migrator({ db: before, provider }).migrateTo('018-built-ins');
  for (const name of ['one', 'two', 'three'])
    await sql`insert into integrations (name, organization, visibility, title, description, active_version,
      latest_version, sealed_signing_secret, created_at, updated_at)
      values (${name}, 'acme', 'private', '', '', 1, 1, '', 1, 1)`.execute(before);
  await before.destroy();
  const database = await openDatabase(sqliteDialect(path));
  onTestFinished(() => database.destroy());
  const rows = await database.selectFrom('integrations').select('endpoint_key').execute();
  expect(new Set(rows.map((row) => row.endpoint_key)).size).toBe(3);
  for (const { endpoint_key } of rows) expect(endpoint_key).toMatch(/^[a-z2-7]{32}$/);
});
