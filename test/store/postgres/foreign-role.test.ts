/**
 * A role of the server that has no right on any table of the service, and one that may read the
 * tables: what each can do to the nodes by notices and locks, which PostgreSQL gives to any role
 * that may connect.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { Client } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { lock } from '../../../src/host/database/locks.ts';
import { announce, type Notice } from '../../../src/host/database/notices.ts';
import { PostgresEngine } from '../../../src/host/database/postgres/postgres-engine.ts';
import { temporaryFolder } from '../../support/store/temporary-store.ts';
import { EMPTY, makeDatabase, onServer } from '../../support/store/test-engine.ts';

/** Kysely's key of the advisory lock for migrations. */
const KYSELY_LOCK = 3_853_314_791_062_309_107n;

/** A node on a database. */
async function node(url: string, folder: string) {
  const heard: (Notice | 'missed' | 'back')[] = [];
  const notes: string[] = [];
  const engine = new PostgresEngine({
    ...{ url, folder, connections: 3, node: randomUUID() },
    ...{ monotonicNow: () => performance.now(), wall: () => Date.now() },
    note: (level, message) => notes.push(`${level}: ${message}`),
  });
  const database = await engine.open();
  engine.listen({
    noticed: ({ change, about }) => heard.push({ change, about }),
    missedNotices: () => heard.push('missed'),
    isBack: () => heard.push('back'),
  });
  onTestFinished(async () => {
    await engine.close();
    await database.destroy();
  });
  return { engine, database, heard, notes };
}

/** A database, and another role of its server. @param copied what the database is a copy of */
async function place(copied?: string) {
  const folder = await temporaryFolder();
  const url = await makeDatabase(folder, copied);
  const role = `foreign_${randomBytes(6).toString('hex')}`;
  await onServer(`create role ${role} login password 'x'`);
  const connect = async () => {
    const foreign = new URL(url);
    foreign.username = role;
    foreign.password = 'x';
    if (foreign.searchParams.has('user')) foreign.searchParams.set('user', role);
    const client = new Client({ connectionString: foreign.href });
    client.on('error', () => undefined);
    await client.connect();
    const { rows } = await client.query('select current_user as name');
    expect(rows).toEqual([{ name: role }]);
    return client;
  };
  return { folder, url, role, connect };
}

/** Ends the session of the role, and the role. */
async function leave(client: Client, role: string): Promise<void> {
  await client.end();
  await onServer(`drop role ${role}`);
}

test('a database that the first start fills is closed to other roles', async () => {
  const { folder, url, role, connect } = await place(EMPTY);
  const before = await connect();
  await before.end();
  const { notes } = await node(url, folder);
  expect(notes.filter((note) => note.includes('may connect'))).toEqual([]);
  await expect(connect()).rejects.toThrow(/permission denied for database/);
  await onServer(`drop role ${role}`);
});

test('a database of before is left open, with a warning that has the statements to run', async () => {
  const { folder, url, role, connect } = await place();
  const first = await node(url, folder);
  const [warning = ''] = first.notes.filter((note) => note.includes('may connect'));
  expect(warning).toMatch(
    /^warn: any role .* grant connect on database .* revoke connect on database .* from public;$/,
  );
  for (const statement of warning
    .slice(warning.indexOf(': grant') + 2)
    .split(';')
    .slice(0, 2))
    await onServer(statement);
  await expect(connect()).rejects.toThrow(/permission denied for database/);
  expect((await node(url, folder)).notes.filter((note) => note.includes('may connect'))).toEqual([]);
  await onServer(`drop role ${role}`);
});

test('attack: a role that may connect hears no name, and sends no notice that a node hears', async () => {
  const { folder, url, role, connect } = await place();
  const [one, two] = [await node(url, folder), await node(url, folder)];
  const foreign = await connect();
  const names: (string | undefined)[] = [];
  foreign.on('notification', ({ payload }) => names.push(payload));
  await foreign.query('listen annex_changes');
  await expect(foreign.query('select name from notice_channel')).rejects.toThrow(/permission denied/);
  const { rows } = await foreign.query<{ query: string }>(
    'select query from pg_stat_activity where usename <> current_user',
  );
  expect(rows.filter(({ query }) => /annex_[0-9a-f]{32}/.test(query))).toEqual([]);
  await foreign.query(`select pg_notify('annex_changes', $1) from generate_series(1, 500)`, [
    JSON.stringify({ change: 'tokens', about: [], from: 'x' }),
  ]);
  await announce(one.database, 'integration', 'of-a-tenant');
  await expect.poll(() => two.heard).toEqual([{ change: 'integration', about: ['of-a-tenant'] }]);
  await foreign.query('select 1');
  expect(names.join()).not.toContain('of-a-tenant');
  await leave(foreign, role);
});

test('attack: a role that may connect holds every advisory lock, and no node waits for it', async () => {
  const { folder, url, role, connect } = await place();
  const one = await node(url, folder);
  const foreign = await connect();
  await foreign.query('begin');
  for (const name of ['tokens', 'vault', 'housekeeping', 'integration hello'])
    for (const seed of [0, 1])
      await foreign.query('select pg_advisory_lock(hashtextextended($1, $2))', [name, seed]);
  await foreign.query('select pg_advisory_lock($1)', [String(KYSELY_LOCK)]);
  await expect(foreign.query('select slot from name_locks for update')).rejects.toThrow(/permission denied/);
  await one.database.transaction().execute((transaction) => lock(transaction, 'tokens', 'integration hello'));
  expect(await one.engine.alone('vault', async () => 'done')).toBe('done');
  expect(await one.engine.unlessElsewhere('housekeeping', async () => undefined)).toBe(true);
  // A node that migrates needs the lock of migrations.
  await sql`drop schema public cascade`.execute(one.database);
  await sql`create schema public`.execute(one.database);
  await node(url, await temporaryFolder());
  await leave(foreign, role);
});

test('attack: more notices than are read, by a role that has read the channel: they are dropped, and count as missed', async () => {
  const { folder, url, role, connect } = await place();
  const [one, two] = [await node(url, folder), await node(url, folder)];
  await sql`grant select on notice_channel to ${sql.id(role)}`.execute(one.database);
  const foreign = await connect();
  for (const [count, chars] of [
    [20_000, 10],
    [1_000, 7_000],
  ] as const) {
    two.heard.splice(0);
    await foreign.query(
      `select pg_notify(name, replace($1, 'NUMBER', number::text)) from notice_channel, generate_series(1, $2) as number`,
      [`{"change":"integration","about":["NUMBER${'x'.repeat(chars)}"],"from":"x"}`, count],
    );
    await expect.poll(() => two.heard.includes('missed')).toBe(true);
    expect(two.heard.length).toBeLessThan(count / 2);
    expect(two.notes).toContainEqual(expect.stringContaining('more notices of changes'));
    // Not one more by one more a beat: the next notice of a node is heard.
    await expect
      .poll(async () => {
        await announce(one.database, 'tokens');
        return two.heard.some((notice) => typeof notice === 'object' && notice.change === 'tokens');
      })
      .toBe(true);
  }
  await sql`revoke select on notice_channel from ${sql.id(role)}`.execute(one.database);
  await leave(foreign, role);
});
