/**
 * The first admin token is never lost: wherever its start is killed, the next one leaves a token
 * that works in the folder. And whoever loses it all the same gets another one at the machine.
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { readConfig } from '../../../src/host/config.ts';
import { recoverFolderToken } from '../../../src/local/store/token-recovery.ts';
import { HostProcess } from '../../support/host-process.ts';
import { runOn } from '../../support/postgres/template.ts';
import { temporaryFolder } from '../../support/store/temporary-store.ts';
import { serviceDatabase } from '../../support/store/test-engine.ts';

const KILLER = fileURLToPath(new URL('../../support/crash/killed-at-token.ts', import.meta.url));

test.each(['before the file', 'before its name', 'after its name', 'at its announcement'])(
  'a start that is killed %s of the token locks nothing out',
  async (at) => {
    const data = join(await temporaryFolder(), 'data');
    const database = await serviceDatabase();
    onTestFinished(database.drop);
    const env = { ...database.env, ANNEX_BUILT_INS: 'none', ANNEX_CELLS: '1' };
    const killed = HostProcess.start({
      ...{ data, env: { ...env, KILLED_AT_TOKEN: at } },
      node: ['--import', KILLER],
    });
    await expect(killed).rejects.toThrow(/ended/);
    const host = await HostProcess.start({ data, env });
    onTestFinished(() => host.stop());
    expect((await fetch(`${host.control}/readyz`)).status).toBe(200);
    expect(await host.api('GET', '/tokens')).toMatchObject({ items: [{ kind: 'admin' }] });
    expect(await readFile(join(data, 'admin-token'), 'utf8')).toBe(`${host.adminToken}\n`);
    expect((await readdir(data)).filter((name) => name.startsWith('admin-token'))).toContain('admin-token');
  },
);

test('a lost admin token: with none in the database, the next start makes one, and other tokens go on', async () => {
  const data = join(await temporaryFolder(), 'data');
  const database = await serviceDatabase();
  onTestFinished(database.drop);
  const env = { ...database.env, ANNEX_BUILT_INS: 'none', ANNEX_CELLS: '1' };
  const first = await HostProcess.start({ data, env });
  const { token } = await first.api('POST', '/tokens', { kind: 'platform' });
  await first.stop();
  const remove = "delete from tokens where kind = 'admin'";
  const { ANNEX_DATABASE_URL: url }: { ANNEX_DATABASE_URL?: string } = database.env;
  if (url === undefined) {
    const program = `new (require('node:sqlite').DatabaseSync)('data/annex.db').exec("${remove}")`;
    await promisify(execFile)(process.execPath, ['--eval', program], { cwd: dirname(data) });
  } else await runOn(url, remove);
  const next = await HostProcess.start({ data, env });
  onTestFinished(() => next.stop());
  expect(next.adminToken).not.toBe(first.adminToken);
  expect(await next.api('GET', '/tokens')).toMatchObject({
    items: expect.arrayContaining([expect.anything()]),
  });
  const status = async (bearer: string) =>
    (await fetch(`${next.control}/v1/events`, { headers: { authorization: `Bearer ${bearer}` } })).status;
  expect([await status(String(token)), await status(first.adminToken)]).toEqual([200, 401]);
});

test('a lost admin token is recovered beside the service, also before and after its kill, and only with the key', async () => {
  const data = join(await temporaryFolder(), 'data');
  const database = await serviceDatabase();
  onTestFinished(database.drop);
  const env = { ...database.env, ANNEX_BUILT_INS: 'none', ANNEX_CELLS: '1' };
  const recover = (...flags: string[]) => recoverFolderToken(readConfig([`--data=${data}`, ...flags], env));
  const ask = async (host: HostProcess, token: string, path: string, init: RequestInit = {}) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const response = await fetch(`${host.control}/v1${path}`, { ...init, headers });
    return { status: response.status, body: response.status === 204 ? {} : await response.json() };
  };
  const host = await HostProcess.start({ data, env });
  // Seals a value, as the first integration does.
  expect((await fetch(`${host.control}/v1/.well-known/jwks.json`)).status).toBe(200);
  const { id, token } = await recover();
  expect(await ask(host, token, '/audit?action=token.recover')).toMatchObject({
    body: { items: [{ action: 'token.recover', details: { token: id, kind: 'admin' } }] },
  });
  const [lost] = (await host.api('GET', '/tokens'))['items'] as { id: string; name?: string }[];
  expect(lost).toBeDefined();
  // A commit of the service follows that of the command, and then its death.
  const made = await ask(host, token, '/tokens', { method: 'POST', body: '{"kind":"platform"}' });
  expect(made.status).toBe(201);
  const last = await recover();
  await host.kill();
  const stopped = await recover();
  const next = await HostProcess.start({ data, env });
  onTestFinished(() => next.stop());
  for (const one of [token, last.token, stopped.token, (made.body as { token: string }).token])
    expect((await ask(next, one, '/events')).status).toBe(200);

  const other = join(await temporaryFolder(), 'vault.key');
  await expect(recover(`--vault-key-file=${other}`)).rejects.toThrow(/vault\.key.* does not exist/);
  await writeFile(other, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600 });
  await expect(recover(`--vault-key-file=${other}`)).rejects.toThrow(/lacks keys with which this store/);
  const { items } = (await ask(next, token, '/tokens')).body as { items: unknown[] };
  expect(items).toHaveLength(5);
});
