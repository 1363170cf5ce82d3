/**
 * `annex backup`: one file, made beside a running service, with every event that was acknowledged
 * before.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, copyFile, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openStore } from '../../src/host/store/store.ts';
import { EventClient } from '../support/deliveries/event-client.ts';
import { deliveriesOf, installWebhook } from '../support/deliveries/waiting-deliveries.ts';
import { installWebhooks, type Posted, siteView } from '../support/deliveries/webhook-senders.ts';
import { HostProcess } from '../support/host-process.ts';
import { LedgerReceiver } from '../support/receivers/ledger-receiver.ts';
import { storeOptions, temporaryFolder } from '../support/store/temporary-store.ts';

const PROGRAM = fileURLToPath(new URL('../../src/local/annex.ts', import.meta.url));

const run = (...flags: string[]) => runAs({}, ...flags);

async function runAs(
  options: { readonly uid?: number; readonly gid?: number; readonly env?: NodeJS.ProcessEnv },
  ...flags: string[]
): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, [PROGRAM, 'backup', ...flags], options);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, output };
}

function idsIn(file: string): Set<string> {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    return new Set(
      database
        .prepare("select event_id from events where organization <> ''")
        .all()
        .map((row) => String(row.event_id)),
    );
  } finally {
    database.close();
  }
}

/** Posts events without pause, until `end`. */
function flood(host: HostProcess, places: readonly Posted[]) {
  const client = new EventClient(host, () => 0);
  let next = 0;
  let isOver = false;
  const write = async () => {
    while (!isOver) {
      const batch = Array.from({ length: 20 }, () => {
        const eventId = `event-${next++}`;
        return { ...siteView(places[next % places.length] as Posted, eventId), eventId };
      });
      await client.post(batch);
    }
  };
  const writing = Promise.all(Array.from({ length: 4 }, write));
  return {
    acknowledged: () =>
      client.batches.filter(({ state }) => state === 'acknowledged').flatMap(({ eventIds }) => eventIds),
    async end() {
      isOver = true;
      await writing;
      await client.close();
    },
  };
}

test('beside a service that accepts events, a backup has each that was acknowledged before it, and is sound', async () => {
  const receiver = await LedgerReceiver.start();
  onTestFinished(() => receiver.stop());
  const folder = await temporaryFolder();
  const data = join(folder, 'data');
  const reach = ['--webhook-http', 'allow', '--egress-allow', `127.0.0.1:${receiver.port}`];
  const host = await HostProcess.start({ data, flags: ['--cells', '1', ...reach] });
  onTestFinished(() => host.stop());
  const places = await installWebhooks(host, 4, (index) => receiver.url(`o${index}`));
  const stream = flood(host, places);
  for (let round = 0; round < 3; round++) {
    await expect
      .poll(() => stream.acknowledged().length, { timeout: 60_000 })
      .toBeGreaterThan(200 * (round + 1));
    const before = stream.acknowledged();
    const to = join(folder, `backup-${round}.db`);
    const { code, output } = await run('--data', data, '--to', to);
    expect({ code, output }).toMatchObject({ code: 0 });
    // Events were accepted during the backup.
    expect(stream.acknowledged().length).toBeGreaterThan(before.length);
    const held = idsIn(to);
    expect(before.filter((id) => !held.has(id))).toEqual([]);
    expect((await stat(to)).mode & 0o777).toBe(0o600);
  }
  await stream.end();
  expect((await readdir(folder)).filter((name) => name.includes('partial'))).toEqual([]);

  // A restore: the file is renamed in a folder with the key, and the service starts.
  const restored = join(folder, 'restored');
  await mkdir(restored, { mode: 0o700 });
  await copyFile(join(folder, 'backup-2.db'), join(restored, 'annex.db'));
  await copyFile(join(data, 'vault.key'), join(restored, 'vault.key'));
  await copyFile(join(data, 'admin-token'), join(restored, 'admin-token'));
  const again = await HostProcess.start({ data: restored, flags: ['--cells', '1', ...reach] });
  // The check of a large database goes on after the start.
  await expect
    .poll(async () => (await fetch(`${again.control}/healthz`)).json())
    .toMatchObject({ database: { integrity: 'sound' } });
  await again.stop();
});

describe('of a stopped service', () => {
  async function stoppedFolder(): Promise<string> {
    const folder = await temporaryFolder();
    const store = await openStore(storeOptions(folder));
    await installWebhook(store);
    await deliveriesOf(store, 3);
    await store.close();
    return folder;
  }

  test('it is one file without keys, and the command says which keys a restore needs', async () => {
    const folder = await stoppedFolder();
    const to = join(folder, 'backup.db');
    const { code, output } = await run('--data', folder, '--to', to);
    expect({ code, output }).toMatchObject({ code: 0 });
    expect(output).toContain("The vault's keys are not in it.");
    expect(output).toContain(join(folder, 'vault.key'));
    expect(output).not.toContain('WARNING');
    expect(idsIn(to).size).toBe(3);
    const key = (await readFile(join(folder, 'vault.key'), 'utf8')).trim();
    expect((await readFile(to)).includes(Buffer.from(key, 'base64'))).toBe(false);
    expect(output).not.toContain(key);

    // With another key ring, the command says that the needed key is missing.
    const other = join(folder, 'other.key');
    await writeFile(other, `${Buffer.alloc(32, 7).toString('base64url')}\n`, { mode: 0o600 });
    const warned = await run('--data', folder, '--to', `${to}.2`, '--vault-key-file', other);
    expect(warned.output).toContain(`WARNING: ${other} does not hold`);
  });

  test('it never replaces another file', async () => {
    const folder = await stoppedFolder();
    const to = join(folder, 'backup.db');
    await writeFile(to, 'kept');
    const { code, output } = await run('--data', folder, '--to', to);
    expect(code).toBe(1);
    expect(output).toContain('exists already');
    expect(await readFile(to, 'utf8')).toBe('kept');
  });

  test.each(['annex.db-journal', 'annex.db-wal', 'annex.db-lock-journal', 'vault.key.next'])(
    'it is not made in the data folder as %s, which the service would read',
    async (name) => {
      const folder = await stoppedFolder();
      const before = await readdir(folder);
      const { code, output } = await run('--data', folder, '--to', join(folder, name));
      expect({ code, output }).toMatchObject({ code: 1, output: expect.stringContaining('is a name that') });
      expect((await readdir(folder)).sort()).toEqual([...new Set([...before, 'annex.db-lock'])].sort());
    },
  );

  test.each(['SIGINT', 'SIGTERM'] as const)('canceled by %s, it leaves no file', async (signal) => {
    const folder = await stoppedFolder();
    const database = new DatabaseSync(join(folder, 'annex.db'));
    // The check of the copy has to take some time.
    database.exec(`create table bulk as with recursive n(i) as (select 1 union all select i + 1 from n where i < 300000)
      select i, hex(randomblob(40)) as text from n; create index bulk_text on bulk (text)`);
    database.close();
    const names = await readdir(folder);
    const child = spawn(process.execPath, [
      PROGRAM,
      'backup',
      '--data',
      folder,
      '--to',
      join(folder, 'backup.db'),
    ]);
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      if (text.includes('checking')) child.kill(signal);
    });
    const [code] = (await once(child, 'close')) as [number];
    expect(code).toBe(signal === 'SIGINT' ? 130 : 143);
    expect(
      (await readdir(folder)).filter((name) => !names.includes(name) && !name.startsWith('annex.db-')),
    ).toEqual([]);
  });

  // SQLite reads a log without its lock, too, and drops all frames after the damage.
  test('a damaged log gives no backup where the folder is read-only, as in a snapshot', async () => {
    const [alive, snapshot, to] = [await temporaryFolder(), await temporaryFolder(), await temporaryFolder()];
    const store = await openStore(storeOptions(alive));
    await installWebhook(store);
    for (let event = 0; event < 20; event++) await deliveriesOf(store, 1);
    const names = ['annex.db', 'annex.db-wal', 'annex.db-shm', 'annex.db-lock', 'vault.key'];
    for (const name of names) await copyFile(join(alive, name), join(snapshot, name));
    await store.close();
    const intact = await readFile(join(snapshot, 'annex.db-wal'));
    const frames = Math.floor((intact.length - 32) / 4_120);
    const damaged = Buffer.from(intact);
    damaged.fill(0xaa, 32 + (frames - 20) * 4_120 + 100, 32 + (frames - 20) * 4_120 + 110);
    const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
    const made = async (log: Buffer, file: string) => {
      await chmod(join(snapshot, 'annex.db-wal'), 0o600);
      await writeFile(join(snapshot, 'annex.db-wal'), log);
      for (const name of names) await chmod(join(snapshot, name), 0o444);
      await chmod(to, 0o777);
      await chmod(snapshot, 0o555);
      const flags = ['--data', snapshot, '--to', join(to, file)];
      return runAs(user, ...flags).finally(() => chmod(snapshot, 0o700));
    };
    expect(await made(damaged, 'damaged.db')).toMatchObject({
      code: 1,
      output: expect.stringContaining('annex.db-wal is damaged'),
    });
    expect(await made(intact, 'intact.db')).toMatchObject({ code: 0 });
  });

  test('a damaged database gives no backup, and neither does a damaged log', async () => {
    const folder = await stoppedFolder();
    const file = join(folder, 'annex.db');
    const intact = await readFile(file);
    await writeFile(join(folder, 'annex.db-wal'), Buffer.alloc(5_000, 1));
    const to = join(folder, 'backup.db');
    const withLog = await run('--data', folder, '--to', to);
    expect(withLog).toMatchObject({ code: 1, output: expect.stringContaining('annex.db-wal is damaged') });
    await writeFile(join(folder, 'annex.db-wal'), '');

    const at = new DatabaseSync(file);
    const page = Number(
      at.prepare(`select rootpage from sqlite_schema where name = 'events'`).get()?.rootpage,
    );
    at.close();
    const damaged = Buffer.from(intact);
    damaged.fill(0xaa, (page - 1) * 4_096, page * 4_096);
    await writeFile(file, damaged);
    const withPage = await run('--data', folder, '--to', to);
    expect(withPage).toMatchObject({ code: 1, output: expect.stringContaining('The copy is damaged') });
    expect((await readdir(folder)).filter((name) => name.startsWith('backup'))).toEqual([]);
  });
});

test('it names what is missing: the file to make, or a folder with a database', async () => {
  const folder = await temporaryFolder();
  expect(await run('--data', folder)).toMatchObject({ code: 2, output: expect.stringContaining('--to') });
  const nothing = await run('--data', folder, '--to', join(folder, 'x.db'));
  expect(nothing).toMatchObject({ code: 1, output: expect.stringContaining('does not exist') });
  expect(await readdir(folder)).toEqual([]);
  const twice = await run('--data', folder, '--to', 'a.db', '--to=b.db');
  expect(twice).toMatchObject({ code: 2, output: expect.stringContaining('--to is given twice') });
  await (await openStore(storeOptions(folder))).close();
  const absent = await run('--data', folder, '--to', join(folder, 'absent', 'x.db'));
  const message = expect.stringContaining(`the folder ${join(folder, 'absent')} does not exist`);
  expect(absent).toMatchObject({ code: 1, output: message });
  expect((await run('--help')).output).toContain('Usage: annex backup');
});

test('it refuses where the database is PostgreSQL, and names what copies that', async () => {
  const folder = await temporaryFolder();
  const env = { ...process.env, ANNEX_DATABASE_URL: 'postgres://annex:hidden@127.0.0.1/annex' };
  const refused = await runAs({ env }, '--data', folder, '--to', join(folder, 'backup.db'));
  expect(refused).toMatchObject({ code: 2, output: expect.stringContaining('pg_dump') });
  expect(refused.output).not.toContain('hidden');
});
