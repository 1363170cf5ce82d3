/**
 * The first admin token is never lost: wherever its start is killed, the next one leaves a token
 * that works in the folder.
 */
import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
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
  // The statement of the documentation.
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
