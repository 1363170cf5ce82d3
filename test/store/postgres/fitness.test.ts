/**
 * Servers that are not fit for a service are refused at the start, each with its reason and what to
 * do; and a pooler that gives each connection a session of its own is as good as the server.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { Client } from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { announce } from '../../../src/host/database/notices.ts';
import { type Facts, unfitness } from '../../../src/host/database/postgres/fitness.ts';
import { PostgresEngine } from '../../../src/host/database/postgres/postgres-engine.ts';
import { DroppingProxy } from '../../support/nodes/dropping-proxy.ts';
import { PgBouncer, type PoolerSettings } from '../../support/nodes/pgbouncer.ts';
import { PostgresCluster } from '../../support/nodes/postgres-cluster.ts';
import { needs } from '../../support/programs.ts';
import { temporaryFolder } from '../../support/store/temporary-store.ts';
import { EMPTY, makeDatabase, onServer } from '../../support/store/test-engine.ts';

/** A database of its own. @param made what `create database` copies, or how it is made */
async function place(made?: string) {
  const folder = await temporaryFolder();
  const url = await makeDatabase(folder, made);
  return { folder, url, name: new URL(url).pathname.slice(1) };
}

/** A node that has opened the database at a URL. */
async function node(url: string, folder: string) {
  const notes: string[] = [];
  const heard: string[] = [];
  const engine = new PostgresEngine({
    ...{ url, folder, connections: 4, node: randomUUID(), version: '1.2.3' },
    ...{ monotonicNow: () => performance.now(), wall: () => Date.now() },
    note: (level, message, cause) => notes.push(`${level}: ${message}: ${String(cause)}`),
  });
  const database = await engine.open();
  engine.listen({
    noticed: ({ change }) => heard.push(change),
    missedNotices: () => heard.push('missed'),
    isBack: () => heard.push('back'),
  });
  onTestFinished(async () => {
    await engine.close();
    await database.destroy();
  });
  return { engine, database, heard, notes };
}

/** A role of the server that may connect, and the URL as that role. */
async function roleAt(url: string) {
  const role = `role_${randomBytes(6).toString('hex')}`;
  await onServer(`create role ${role} login password 'x'`);
  const other = new URL(url);
  other.username = role;
  other.password = 'x';
  const run = async (statement: string) => {
    const client = new Client({ connectionString: url });
    await client.connect();
    await client.query(statement);
    await client.end();
  };
  return { role, url: other.href, run };
}

async function pooler(url: string, settings: PoolerSettings): Promise<PgBouncer> {
  const started = await PgBouncer.start(url, settings);
  onTestFinished(() => started.stop());
  return started;
}

describe('behind PgBouncer', needs('pgbouncer'), () => {
  test.each([
    ['a new database', EMPTY],
    ['a database with the schema', undefined],
  ])('with sessions for clients, %s works as without it', async (_, made) => {
    const { url, folder } = await place(made);
    const { url: through } = await pooler(url, { pool_mode: 'session' });
    const [one, two] = [await node(through, folder), await node(through, folder)];
    await announce(one.database, 'tokens');
    await expect.poll(() => two.heard).toEqual(['tokens']);
    expect(await one.engine.alone('vault', async () => 'done')).toBe('done');
    const { rows } = await sql<{ name: string; setting: string }>`
      select name, setting from pg_settings where name in
        ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'enable_seqscan')
      order by name`.execute(one.database);
    expect(rows.map(({ setting }) => setting)).toEqual(['off', '20000', '4000', '15000']);
  });

  test('the options of the URL are settings of each session', async () => {
    const { url, folder, name } = await place(EMPTY);
    const { url: through } = await pooler(url, { pool_mode: 'session' });
    const owner = await roleAt(url);
    await owner.run('create schema "two words"');
    const own = new URL(through);
    own.searchParams.set('options', '-c search_path="two\\ words" --synchronous-commit=off -cwork_mem=5MB');
    const { database } = await node(own.href, folder);
    const { rows } = await sql`select current_schema() as schema, current_database() as name,
      current_setting('work_mem') as memory, current_setting('synchronous_commit') as commits`.execute(
      database,
    );
    expect(rows).toEqual([{ schema: 'two words', name, memory: '5MB', commits: 'on' }]);
    own.searchParams.set('options', '-c no_such_setting=1');
    await expect(node(own.href, folder)).rejects.toThrow(/ANNEX_DATABASE_URL.*no_such_setting/);
  });

  test.each([
    ['transaction', {}],
    ['transaction', { server_round_robin: 1, min_pool_size: 5 }],
    ['transaction', { default_pool_size: 1 }],
    ['statement', {}],
  ])('that shares sessions by %s (%j), it is refused', async (mode, settings) => {
    const { url, folder } = await place();
    const { url: through } = await pooler(url, { pool_mode: mode, ...settings });
    await expect(node(through, folder)).rejects.toThrow(
      /ANNEX_DATABASE_URL.*shares sessions .*pool_mode = session/,
    );
  });

  test('that has a session for one connection alone, it is refused', async () => {
    const { url, folder } = await place();
    const { url: through } = await pooler(url, { pool_mode: 'session', default_pool_size: 1 });
    await expect(node(through, folder)).rejects.toThrow(/no session for a second connection.*pool_size/);
  });

  test('that comes to share sessions while a node runs, the node says so, and is back when it does not', async () => {
    const { url, folder } = await place();
    const settings = { default_pool_size: 50, listen_backlog: 10 };
    const bouncer = await pooler(url, { ...settings, pool_mode: 'session' });
    const { engine, notes } = await node(bouncer.url, folder);
    await bouncer.reload({ ...settings, pool_mode: 'transaction' });
    await onServer(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${new URL(url).pathname.slice(1)}'`,
    );
    await expect.poll(() => engine.state).toEqual({ reachable: false, writable: false });
    await bouncer.reload({ ...settings, pool_mode: 'session' });
    await expect.poll(() => engine.state).toEqual({ reachable: true, writable: true });
    expect(notes.filter((note) => note.startsWith('error'))).toHaveLength(1);
  });
});

describe('is refused at the start, by name:', () => {
  test.each(['LATIN1', 'SQL_ASCII'])('a database in %s', async (encoding) => {
    const { url, folder } = await place(`template template0 encoding '${encoding}' locale 'C'`);
    await expect(node(url, folder)).rejects.toThrow(
      new RegExp(`ANNEX_DATABASE_URL.*encoding is ${encoding}.*must be UTF8.*create database`),
    );
  });

  test('one whose transactions only read', async () => {
    const { url, folder, name } = await place();
    await onServer(`alter database ${name} set default_transaction_read_only = on`);
    await expect(node(url, folder)).rejects.toThrow(/only read \(default_transaction_read_only is on\)/);
  });

  test('one that the role may not connect to', async () => {
    const { url, folder, name } = await place();
    await onServer(`revoke connect on database ${name} from public`);
    const { url: as } = await roleAt(url);
    await expect(node(as, folder)).rejects.toThrow(/permission denied for database.*CONNECT privilege/);
  });

  test('a schema in which the role may make nothing, and none at all', async () => {
    const { url, folder } = await place(EMPTY);
    const { role, url: as, run } = await roleAt(url);
    await expect(node(as, folder)).rejects.toThrow(
      `the role ${role} may not make tables in the schema public: grant usage, create on schema public to ${role}`,
    );
    await run('drop schema public');
    await expect(node(as, folder)).rejects.toThrow(/search_path \("\$user", public\) leads to no schema/);
    await run(`create schema public; grant usage, create on schema public to ${role}`);
    await node(as, folder);
  });

  test('tables that the role may not use', async () => {
    const { url, folder } = await place();
    const { role, url: as, run } = await roleAt(url);
    await run(
      `grant usage on schema public to ${role}; grant select on all tables in schema public to ${role}`,
    );
    await expect(node(as, folder)).rejects.toThrow(
      new RegExp(
        `the role ${role} may not read and write .* and \\d+ more tables in the schema public: grant select`,
      ),
    );
  });
});

describe('while a node runs', needs('postgres'), () => {
  test('a database that comes to only read is not writable, also without a write; and is again by itself', async () => {
    const { cluster, url, folder } = await server();
    const { engine, database, notes } = await node(url, folder);
    const set = (value: 'on' | 'off') =>
      cluster
        .query(`alter system set default_transaction_read_only = ${value}`)
        .then(() => cluster.query('select pg_reload_conf()'));
    await set('on');
    await expect.poll(() => engine.state).toEqual({ reachable: true, writable: false });
    expect(notes.at(-1)).toMatch(/^error: the database is not available.*default_transaction_read_only/);
    // The last write fails, and none follows.
    await expect(database.deleteFrom('events').execute()).rejects.toMatchObject({ status: 503 });
    await set('off');
    await expect.poll(() => engine.state).toEqual({ reachable: true, writable: true });
    expect(notes.filter((note) => note.startsWith('error'))).toHaveLength(1);
  });

  test('a standby that takes over is refused by name until it is promoted', async () => {
    const { cluster, folder } = await server();
    const standby = await cluster.standby();
    onTestFinished(() => standby.remove());
    const proxy = await DroppingProxy.start({ host: '127.0.0.1', port: cluster.port });
    onTestFinished(() => proxy.stop());
    const { engine, database, notes } = await node(cluster.url(proxy.port), folder);
    await expect(node(standby.url(), folder)).rejects.toThrow(/it is a standby.*name the primary/);
    proxy.divert({ host: '127.0.0.1', port: standby.port });
    await expect.poll(() => notes.at(-1)).toMatch(/^error: the database is not available.*it is a standby/);
    expect(engine.state).toEqual({ reachable: false, writable: false });
    await expect(database.deleteFrom('events').execute()).rejects.toMatchObject({ status: 503 });
    await standby.query('select pg_promote()');
    await expect.poll(() => engine.state).toEqual({ reachable: true, writable: true });
    await database.deleteFrom('events').execute();
  });

  /** A server of its own, with the schema. */
  async function server() {
    const cluster = await PostgresCluster.start();
    onTestFinished(() => cluster.remove());
    const folder = await temporaryFolder();
    await (await node(cluster.url(), folder)).engine.close();
    return { cluster, url: cluster.url(), folder };
  }
});

/** What a server says of itself that is fit. */
const FIT: Facts = {
  ...{ version: 150_000, versionName: '15.0', encoding: 'UTF8', isStandby: false, onlyReads: false },
  ...{ searchPath: 'public', schema: 'public', role: 'annex', isMade: true, mayCreate: true },
  closedTables: [],
};

test.each([
  [
    'an old version',
    { version: 149_999, versionName: '14.20' },
    /version is 14\.20.* PostgreSQL 15 or later/,
  ],
  ['a standby', { isStandby: true, onlyReads: true }, /standby.*only reads: name the primary/],
  ['closed tables', { closedTables: ['a', 'b'] }, /may not read and write a, b in the schema public/],
  ['a first start without rights', { isMade: false, mayCreate: false }, /may not make tables/],
])('%s is no fit server', (_, facts, why) => {
  expect(unfitness({ ...FIT, ...facts })).toMatch(why);
  expect(unfitness(FIT)).toBeUndefined();
  expect(unfitness({ ...FIT, mayCreate: false })).toBeUndefined();
});
