/**
 * What the engine of PostgreSQL promises beside running SQL: locks, notices and work across nodes,
 * collisions, the schema, and settings of the server that it does not rely on. Each node is an
 * engine of its own.
 */
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import type { NetConnectOpts } from 'node:net';
import { join } from 'node:path';
import { sql } from 'kysely';
import { Migrator } from 'kysely/migration';
import { Client } from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { bulk, changeForEach, runForEach, TEXT, WHOLE } from '../../../src/host/database/bulk.ts';
import { GroupCommit } from '../../../src/host/database/group-commit.ts';
import { lock } from '../../../src/host/database/locks.ts';
import { FIRST_MIGRATION, LAST_EARLIER, MIGRATIONS } from '../../../src/host/database/migrations.ts';
import { announce, type Notice } from '../../../src/host/database/notices.ts';
import { PostgresEngine, type PostgresOptions } from '../../../src/host/database/postgres/postgres-engine.ts';
import { createTables } from '../../../src/host/database/schema.ts';
import type { Database } from '../../../src/host/database/tables.ts';
import { inTransaction } from '../../../src/host/database/transaction.ts';
import { DroppingProxy } from '../../support/nodes/dropping-proxy.ts';
import { temporaryFolder } from '../../support/store/temporary-store.ts';
import { EMPTY, makeDatabase, onServer } from '../../support/store/test-engine.ts';

/** One node. */
interface Node {
  readonly engine: PostgresEngine;
  readonly database: Database;
  /** What it heard of the others, in order. */
  readonly heard: (Notice | 'missed' | 'back')[];
  readonly notes: string[];
}

const engineOn = (url: string, folder: string, options: Partial<PostgresOptions> = {}) =>
  new PostgresEngine({
    ...{ url, folder, connections: 3, node: randomUUID(), note: () => undefined },
    ...{ monotonicNow: () => performance.now(), wall: () => Date.now() },
    ...options,
  });

/** Nodes on one database. */
async function nodes(count: number, { isEmpty = false } = {}) {
  const folder = await temporaryFolder();
  const url = await makeDatabase(folder, isEmpty ? EMPTY : undefined);
  const name = new URL(url).pathname.slice(1);
  const open = async (): Promise<Node> => {
    const heard: Node['heard'] = [];
    const notes: string[] = [];
    const engine = engineOn(url, folder, { note: (level, message) => notes.push(`${level}: ${message}`) });
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
  };
  const [one, two] = await Promise.all(Array.from({ length: count }, open));
  if (one === undefined) throw new Error('There is no node.');
  return { url, folder, name, open, one, two: two ?? one };
}

/** A promise, and what resolves it. */
function signal() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { reached: promise, reach: resolve };
}

/** Resolves when another statement waits for a lock in this database. */
const someoneWaits = (database: Database) =>
  expect
    .poll(async () => {
      const { rows } = await sql`
        select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(
        database,
      );
      return rows.length;
    })
    .toBeGreaterThan(0);

/** Where the server of a URL listens: a socket in a folder, or a port. */
function placeOf(url: string): NetConnectOpts {
  const { searchParams, hostname, port } = new URL(url);
  const folder = searchParams.get('host');
  return folder === null
    ? { host: hostname, port: Number(port || 5432) }
    : { path: `${folder}/.s.PGSQL.${port || 5432}` };
}

/** Changes the row that another transaction may have locked. */
const changeOf = (database: Database) => sql`update numbers set by = 'other' where n = 1`.execute(database);

const NUMBERS = sql`create table numbers (n integer primary key, by text not null)`;

describe('a lock on a name', () => {
  test('lets transactions of two nodes run one after the other', async () => {
    const { one, two } = await nodes(2);
    const held = signal();
    const go = signal();
    const order: string[] = [];
    const first = one.database.transaction().execute(async (transaction) => {
      await lock(transaction, 'integration hello');
      held.reach();
      await go.reached;
      order.push('first');
    });
    await held.reached;
    const second = two.database.transaction().execute(async (transaction) => {
      await lock(transaction, 'integration hello');
      order.push('second');
    });
    await someoneWaits(one.database);
    expect(order).toEqual([]);
    go.reach();
    await Promise.all([first, second]);
    expect(order).toEqual(['first', 'second']);
  });

  test('lets transactions under other names pass', async () => {
    const { one, two } = await nodes(2);
    await one.database.transaction().execute(async (transaction) => {
      await lock(transaction, 'integration hello');
      await two.database.transaction().execute((other) => lock(other, 'integration other'));
    });
  });

  test('cannot make two transactions wait for each other, whatever their order of names', async () => {
    const { one, two } = await nodes(2);
    const both = async ({ database }: Node, names: readonly string[]) => {
      for (let runs = 0; runs < 50; runs += 1)
        await database.transaction().execute((transaction) => lock(transaction, ...names));
    };
    await Promise.all([both(one, ['a', 'b', 'c']), both(two, ['c', 'b', 'a'])]);
  });
});

describe('a notice', () => {
  test('arrives at other nodes after the commit, and not at its own', async () => {
    const { one, two } = await nodes(2);
    await one.database.transaction().execute(async (transaction) => {
      await announce(transaction, 'installation', 'ins_1', 'acme');
      // A later notice that has arrived shows that the first one has not.
      await announce(one.database, 'tokens');
      await expect.poll(() => two.heard).toEqual([{ change: 'tokens', about: [] }]);
    });
    await expect.poll(() => two.heard).toHaveLength(2);
    expect(two.heard[1]).toEqual({ change: 'installation', about: ['ins_1', 'acme'] });
    await announce(two.database, 'version', 'hello');
    await expect.poll(() => one.heard).toEqual([{ change: 'version', about: ['hello'] }]);
  });

  test('of a transaction that is rolled back never arrives', async () => {
    const { one, two } = await nodes(2);
    const failing = one.database.transaction().execute(async (transaction) => {
      await announce(transaction, 'installation', 'ins_1', 'acme');
      throw new Error('rolled back');
    });
    await expect(failing).rejects.toThrow('rolled back');
    await announce(one.database, 'tokens');
    await expect.poll(() => two.heard).toEqual([{ change: 'tokens', about: [] }]);
  });

  test('attack: a payload that no node has sent is skipped', async () => {
    const { one, two } = await nodes(2);
    for (const payload of ['', 'no JSON', '{}', '[]', 'null', '{"change":1,"about":[],"from":"x"}'])
      await sql`select pg_notify(name, ${payload}) from notice_channel`.execute(one.database);
    await announce(one.database, 'tokens');
    await expect.poll(() => two.heard).toEqual([{ change: 'tokens', about: [] }]);
  });

  test('may be missed while the connection is lost: the node is told when it is back, and hears again', async () => {
    const { one, two, name } = await nodes(2);
    await onServer(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}' and pid <> pg_backend_pid()`,
    );
    for (const { heard } of [one, two]) await expect.poll(() => heard).toEqual(['missed', 'back']);
    await expect
      .poll(() => two.notes.map((note) => note.split(':')[0]))
      .toEqual(['warn', 'warn', 'error', 'info']);
    // Connections of the pool that were ended are replaced.
    await expect.poll(() => announce(one.database, 'tokens').then(() => 'sent', String)).toBe('sent');
    await expect.poll(() => two.heard).toContainEqual({ change: 'tokens', about: [] });
  });
});

describe('a node that is cut off from the server', () => {
  test('ends the sessions that it left there when it is back, and their locks with them', async () => {
    const { one, url, folder } = await nodes(1);
    await NUMBERS.execute(one.database);
    await sql`insert into numbers values (1, 'one')`.execute(one.database);
    const proxy = await DroppingProxy.start(placeOf(url));
    onTestFinished(() => proxy.stop());
    const through = new URL(url);
    through.host = `127.0.0.1:${proxy.port}`;
    through.searchParams.delete('host');
    const engine = engineOn(through.href, folder);
    const cut = await engine.open();
    const heard: string[] = [];
    engine.listen({ noticed: () => {}, missedNotices: () => {}, isBack: () => heard.push('back') });
    onTestFinished(async () => {
      await engine.close();
      await cut.destroy();
    });
    const left = inTransaction(cut, async (transaction) => {
      await sql`update numbers set by = 'cut' where n = 1`.execute(transaction);
      proxy.drop();
      await sql`select 1`.execute(transaction);
    });
    await expect(left).rejects.toThrow();
    // Its session is still there, and has the lock.
    await expect(changeOf(one.database)).rejects.toThrow();
    proxy.pass();
    await expect.poll(() => heard).toContain('back');
    // Sooner than the server ends it by itself.
    await changeOf(one.database);
    const { rows } = await sql`select by from numbers`.execute(one.database);
    expect(rows).toEqual([{ by: 'other' }]);
  });
});

describe('work under a name', () => {
  test('runs on one node at a time: the other one waits for its turn', async () => {
    const { one, two } = await nodes(2);
    const begun = signal();
    const go = signal();
    const order: string[] = [];
    const first = one.engine.alone('vault', async () => {
      begun.reach();
      await go.reached;
      order.push('first');
      return 1;
    });
    await begun.reached;
    const second = two.engine.alone('vault', async () => order.push('second'));
    await someoneWaits(one.database);
    go.reach();
    expect([await first, await second]).toEqual([1, 2]);
    expect(order).toEqual(['first', 'second']);
  });

  test('is left to the other node where that one has begun it', async () => {
    const { one, two } = await nodes(2);
    const ran: string[] = [];
    const outcome = await one.engine.unlessElsewhere('prune', async () => {
      expect(await two.engine.unlessElsewhere('prune', async () => void ran.push('two'))).toBe(false);
      expect(await two.engine.unlessElsewhere('reseal', async () => void ran.push('other'))).toBe(true);
      ran.push('one');
    });
    expect(outcome).toBe(true);
    expect(ran).toEqual(['other', 'one']);
    expect(await two.engine.unlessElsewhere('prune', async () => undefined)).toBe(true);
  });

  test('has a transaction of its own for each step, and ends where the other node takes it between two', async () => {
    const { one, two } = await nodes(2);
    /** Transactions that hold locks and do nothing: the server keeps what is removed after them. */
    const behind = async () => {
      const { rows } = await sql<{ xid: string }>`
        select backend_xid::text as xid from pg_stat_activity
        where datname = current_database() and state = 'idle in transaction' and backend_xid is not null`.execute(
        one.database,
      );
      return rows.map(({ xid }) => xid);
    };
    const asked: boolean[] = [];
    await one.engine.unlessElsewhere('prune', async (goesOn) => {
      const [first, ...others] = await behind();
      asked.push(await goesOn());
      expect(others).toEqual([]);
      expect(await behind()).not.toContain(first);
      const waits = two.engine.alone('prune', async () => {
        asked.push(await taken);
      });
      await someoneWaits(one.database);
      const taken = goesOn();
      await waits;
    });
    expect(asked).toEqual([true, false]);
    expect(await one.engine.unlessElsewhere('prune', async () => undefined)).toBe(true);
  });

  // Fault: a restore without the rows of the table. No name would be locked.
  test('fails by name where its lock is missing, which the next start makes', async () => {
    const { one, open } = await nodes(1);
    await sql`delete from name_locks`.execute(one.database);
    const why = 'its table name_locks lacks the row for "vault"';
    await expect(one.engine.alone('vault', async () => 'done')).rejects.toThrow(why);
    await expect(one.engine.unlessElsewhere('vault', async () => undefined)).rejects.toThrow(why);
    const next = await open();
    expect(await next.engine.alone('vault', async () => 'done')).toBe('done');
    expect(await one.engine.unlessElsewhere('vault', async () => undefined)).toBe(true);
  });

  test('goes on where the server ends idle transactions', async () => {
    const { one, two, url, name } = await nodes(2);
    await sql`alter database ${sql.id(name)} set idle_in_transaction_session_timeout = 200`.execute(
      one.database,
    );
    const ran = await one.engine.unlessElsewhere('prune', async () => {
      // An idle transaction that begins after that of the lock, and is ended by the server.
      const idle = new Client({ connectionString: url });
      const ended = signal();
      idle.on('error', () => ended.reach());
      await idle.connect();
      await idle.query('begin');
      await ended.reached;
      expect(await two.engine.unlessElsewhere('prune', async () => undefined)).toBe(false);
    });
    expect(ran).toBe(true);
  });

  test('that fails lets the next one run, and the caller gets its error', async () => {
    const { one, two } = await nodes(2);
    const failing = one.engine.alone('vault', () => Promise.reject(new Error('no key')));
    await expect(failing).rejects.toThrow('no key');
    expect(await two.engine.alone('vault', async () => 'next')).toBe('next');
  });
});

describe('statements that are sent before the answers of others', () => {
  const INSERT = bulk`insert into numbers (n, by) values (${WHOLE}, ${TEXT})`;
  const FIND = bulk`select n from numbers where n = ${WHOLE}`;

  test('are answered in order, each with its own rows', async () => {
    const { one } = await nodes(1);
    await NUMBERS.execute(one.database);
    const answers = await one.database.transaction().execute((transaction) =>
      Promise.all([
        changeForEach(transaction, INSERT, [
          [1, 'one'],
          [2, 'two'],
        ]),
        runForEach(transaction, FIND, [[2], [3], [1]]),
        changeForEach(transaction, bulk`delete from numbers where n = ${WHOLE}`, [[2], [3]]),
      ]),
    );
    expect(answers).toEqual([
      [true, true],
      [{ n: 2 }, { n: 1 }],
      [true, false],
    ]);
  });

  test('fail with the error of the first that failed, and not with that of the aborted transaction', async () => {
    const { one } = await nodes(1);
    await NUMBERS.execute(one.database);
    await sql`insert into numbers values (1, 'one')`.execute(one.database);
    const errors: string[] = [];
    const transaction = one.database.transaction().execute(async (opened) => {
      const other = async () => {
        await runForEach(opened, FIND, [[1]]);
        // Nothing waits for this one, which the server gets after the failure.
        await runForEach(opened, INSERT, [[2, 'two']]);
        await runForEach(opened, FIND, [[2]]);
      };
      const works = [other(), changeForEach(opened, INSERT, [[1, 'again']])];
      for (const work of await Promise.allSettled<unknown>(works))
        if (work.status === 'rejected') errors.push(String(work.reason));
      throw new Error('rolled back');
    });
    await expect(transaction).rejects.toThrow('rolled back');
    expect(errors).toEqual([
      expect.stringContaining('numbers_pkey'),
      expect.stringContaining('numbers_pkey'),
    ]);
  });
});

describe('work that collides with that of another node', () => {
  /** Inserts a number that another node inserts at the same time, unless it is there. */
  function insertOnce(meanwhile: () => Promise<void>) {
    let runs = 0;
    const work = async (transaction: Database) => {
      runs += 1;
      const { rows } = await sql`select n from numbers where n = 1`.execute(transaction);
      if (rows.length > 0) return 'found';
      await meanwhile();
      await sql`insert into numbers values (1, 'one')`.execute(transaction);
      return 'inserted';
    };
    return { work, runs: () => runs };
  }

  test.each([
    ['alone', inTransaction],
    [
      'in a group commit',
      (database: Database, work: (transaction: Database) => Promise<string>) =>
        new GroupCommit(database, { inFlightMax: 2 }).run(work),
    ],
  ] as const)('%s is run again, and sees what the other one has written', async (_, run) => {
    const { one, two } = await nodes(2);
    await NUMBERS.execute(one.database);
    const { work, runs } = insertOnce(async () => {
      await sql`insert into numbers values (1, 'two') on conflict do nothing`.execute(two.database);
    });
    expect(await run(one.database, work)).toBe('found');
    expect(runs()).toBe(2);
  });

  test('each time fails after a few runs', async () => {
    const { one } = await nodes(1);
    await NUMBERS.execute(one.database);
    await sql`insert into numbers values (1, 'two')`.execute(one.database);
    let runs = 0;
    const colliding = inTransaction(one.database, async (transaction) => {
      runs += 1;
      await sql`insert into numbers values (1, 'one')`.execute(transaction);
    });
    await expect(colliding).rejects.toThrow('numbers_pkey');
    expect(runs).toBe(5);
  });

  test('as a deadlock is run again', async () => {
    const { one, two } = await nodes(2);
    await NUMBERS.execute(one.database);
    await sql`insert into numbers values (1, ''), (2, '')`.execute(one.database);
    const begun = [signal(), signal()] as const;
    const both = ({ database }: Node, rows: readonly [number, number], [own, others]: readonly Signal[]) =>
      inTransaction(database, async (transaction) => {
        await sql`update numbers set by = by || 'x' where n = ${rows[0]}`.execute(transaction);
        own?.reach();
        await others?.reached;
        await sql`update numbers set by = by || 'x' where n = ${rows[1]}`.execute(transaction);
      });
    await Promise.all([both(one, [1, 2], begun), both(two, [2, 1], begun.toReversed())]);
    const { rows } = await sql<{ by: string }>`select by from numbers`.execute(one.database);
    expect(rows).toEqual([{ by: 'xx' }, { by: 'xx' }]);
  });
});

type Signal = ReturnType<typeof signal>;

describe('the schema', () => {
  test('is made once by nodes that start at once on an empty database', async () => {
    const { one, two } = await nodes(4, { isEmpty: true });
    for (const { database } of [one, two]) {
      const { rows } = await sql<{ name: string }>`select name from kysely_migration order by name`.execute(
        database,
      );
      expect(rows.map(({ name }) => name)).toEqual(Object.keys(MIGRATIONS).sort());
    }
  });

  test('of the development before the first release is taken over by nodes that start at once', async () => {
    const { one, url, folder } = await nodes(1);
    for (const statement of ['drop schema public cascade', 'create schema public'])
      await sql.raw(statement).execute(one.database);
    const getMigrations = async () => ({ [FIRST_MIGRATION]: { up: createTables } });
    await new Migrator({ db: one.database, provider: { getMigrations } }).migrateToLatest();
    await sql`update kysely_migration set name = ${LAST_EARLIER}`.execute(one.database);
    await sql`insert into kysely_migration (name, timestamp) values ('001-registry', '')`.execute(
      one.database,
    );
    const started = [engineOn(url, folder), engineOn(url, folder)];
    await Promise.all(
      started.map(async (engine) => {
        await (await engine.open()).destroy();
        await engine.close();
      }),
    );
    const { rows } = await sql<{ name: string }>`select name from kysely_migration order by name`.execute(
      one.database,
    );
    expect(rows.map(({ name }) => name)).toEqual(Object.keys(MIGRATIONS));
  });

  test('of a newer Annex is refused, with the version that made it, and left as it is', async () => {
    const { one, url, folder } = await nodes(1);
    const newer = engineOn(url, folder, { version: '9.8.7' });
    await (await newer.open()).destroy();
    await newer.close();
    await sql`insert into kysely_migration (name, timestamp) values ('999-of-the-future', '')`.execute(
      one.database,
    );
    const older = engineOn(url, folder, { version: '0.1.0' });
    await expect(older.open()).rejects.toThrow(
      /ANNEX_DATABASE_URL.*made by Annex 9\.8\.7: its schema has 999-of-the-future, which this version \(0\.1\.0\) does not know\. Start Annex 9\.8\.7 or a later one/,
    );
    const { rows } = await sql<{ comment: string }>`
      select obj_description('kysely_migration'::regclass, 'pg_class') as comment`.execute(one.database);
    expect(rows).toEqual([{ comment: 'Annex 9.8.7' }]);
  });
});

describe('a database that is not the one of the service', () => {
  test('empty, beside a folder that a service has used, is refused', async () => {
    const folder = await temporaryFolder();
    const url = await makeDatabase(folder, EMPTY);
    await writeFile(join(folder, 'admin-token'), 'annex_admin_x\n');
    const engine = engineOn(url, folder);
    await expect(engine.open()).rejects.toThrow(
      /ANNEX_DATABASE_URL.*has no tables of Annex, and .* has admin-token of .* backup.*annex copy/,
    );
    const client = new Client({ connectionString: url });
    await client.connect();
    const { rows } = await client.query('select relname from pg_class where relname = $1', ['deliveries']);
    await client.end();
    expect(rows).toEqual([]);
  });

  test('with the tables in another schema than the search_path leads to, is refused by its name', async () => {
    const { url, folder } = await nodes(1);
    const other = new URL(url);
    other.searchParams.set('options', '-c search_path=elsewhere');
    const client = new Client({ connectionString: url });
    await client.connect();
    await client.query('create schema elsewhere');
    await client.end();
    await expect(engineOn(other.href, folder).open()).rejects.toThrow(
      /tables in its schema public, .* search_path/,
    );
  });
});

describe('whatever the defaults of the server are', () => {
  /** The value of a setting, in a transaction of a node that starts after they were changed. */
  async function settingAfter(name: string, value: string): Promise<unknown> {
    const { open, ...at } = await nodes(1);
    await onServer(`alter database ${at.name} set ${name} = '${value}'`);
    const { database } = await open();
    return database.transaction().execute(async (transaction) => {
      const { rows } = await sql<{ value: string }>`
        select current_setting(${name.replace('default_', '')}) as value`.execute(transaction);
      return rows[0]?.value;
    });
  }

  test('a commit waits for the disk', async () => {
    expect(await settingAfter('synchronous_commit', 'off')).toBe('on');
  });

  test('a stricter setting of the operator for commits stays', async () => {
    expect(await settingAfter('synchronous_commit', 'remote_apply')).toBe('remote_apply');
  });

  test('a transaction is isolated as the statements expect', async () => {
    expect(await settingAfter('default_transaction_isolation', 'serializable')).toBe('read committed');
  });

  test('texts are in the order of their bytes', async () => {
    const { one } = await nodes(1);
    const { database } = one;
    const texts = ['a', 'B', 'Z', '_', 'ab', 'a-c', 'é', 'z', '0', 'aB'];
    const table = database.schema.createTable('words').addColumn('word', 'text', (word) => word.primaryKey());
    await table.execute();
    for (const text of texts) await sql`insert into words values (${text})`.execute(database);
    const { rows } = await sql<{ word: string }>`select word from words order by word`.execute(database);
    const bytewise = texts.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    expect(rows.map(({ word }) => word)).toEqual(bytewise);
    const { rows: after } = await sql`select word from words where word > 'Z' and word < 'a'`.execute(
      database,
    );
    expect(after).toEqual([{ word: '_' }]);
  });

  test('this database sorts other texts by the rules of a language', async () => {
    const { one } = await nodes(1);
    const { rows } = await sql`select 'a'::text < 'B'::text as linguistic, datlocprovider as by
      from pg_database where datname = current_database()`.execute(one.database);
    // Servers without ICU have no such database.
    if ((rows[0] as { by: string }).by === 'i') expect(rows).toEqual([{ linguistic: true, by: 'i' }]);
  });
});

describe('the clock', () => {
  test('is that of the database, not that of the machine', async () => {
    const { url, folder, one } = await nodes(1);
    const late = engineOn(url, folder, { wall: () => Date.now() - 3_600_000 });
    const database = await late.open();
    onTestFinished(async () => {
      await late.close();
      await database.destroy();
    });
    expect(Math.abs(late.wallNow() - one.engine.wallNow())).toBeLessThan(60_000);
  });
});

test('an error never has the password of the URL', async () => {
  const folder = await temporaryFolder();
  const url = 'postgres://annex:planted-password@127.0.0.1:1/annex';
  const opened = engineOn(url, folder).open();
  await expect(opened).rejects.toThrow('ANNEX_DATABASE_URL');
  await expect(opened).rejects.not.toThrow('planted-password');
});

describe('pages of deliveries', () => {
  const settings = async ({ database }: Node) => {
    const { rows } = await sql<{ settings: string[] | null }>`
      select reloptions as settings from pg_class where oid = 'deliveries'::regclass`.execute(database);
    return rows[0]?.settings;
  };

  test('have room for new versions of rows, also in a database of before', async () => {
    const { one, open } = await nodes(1);
    expect(await settings(one)).toEqual(['fillfactor=70']);
    await sql`alter table deliveries reset (fillfactor)`.execute(one.database);
    await Promise.all([open(), open()]);
    expect(await settings(one)).toEqual(['fillfactor=70']);
  });

  test('are filled as the operator has set it', async () => {
    const { one, open } = await nodes(1);
    await sql`alter table deliveries set (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.05)`.execute(
      one.database,
    );
    await open();
    expect(await settings(one)).toEqual(['fillfactor=90', 'autovacuum_vacuum_scale_factor=0.05']);
  });

  test('are left to the next start while maintenance has the table', async () => {
    const { one, open } = await nodes(1);
    await sql`alter table deliveries reset (fillfactor)`.execute(one.database);
    await one.database.transaction().execute(async (transaction) => {
      await sql`lock table deliveries in share update exclusive mode`.execute(transaction);
      const { notes } = await open();
      expect(notes.filter((note) => note.includes('not available'))).toEqual([]);
    });
    expect(await settings(one)).toBeNull();
  });
});
