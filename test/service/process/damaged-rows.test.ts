/** One damaged row of a list does not hide the others. */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { HostProcess } from '../../support/host-process.ts';
import { temporaryFolder } from '../../support/store/temporary-store.ts';

const MANIFEST = `title: a title
description: for a test
organization: acme
visibility: public
scopes: []
script: index.js
blocks:
  - id: block
    title: A block
`;

test('damaged rows are left out of lists, and the log names them without their texts', async () => {
  const data = join(await temporaryFolder(), 'data');
  const lines: string[] = [];
  const flags = ['--cells', '1', '--built-ins', 'none'];
  const host = await HostProcess.start({ data, flags, onLine: (line) => void lines.push(line) });
  onTestFinished(() => host.stop());
  for (const name of ['first', 'second']) {
    const form = new FormData();
    form.append('manifest', `name: ${name}\n${MANIFEST}`);
    form.append('files', new Blob([`export default { fetch: () => new Response('') };`]), 'index.js');
    await host.api('POST', '/integrations', form);
    for (const organization of ['one', 'two', 'three'])
      await host.api('POST', `/integrations/${name}/installations`, { organization, space_selection: 'all' });
  }
  const database = new DatabaseSync(join(data, 'annex.db'));
  onTestFinished(() => database.close());
  const listed = async (path: string) => (await host.api('GET', path))['items'] as object[];
  const damaged = (rows: string) =>
    Number(database.prepare(`update ${rows}`).run('{"planted": "by a tenant"').changes);
  const reports = () => lines.filter((line) => line.includes('damaged'));

  for (const [damage, path] of [
    [
      `targets set configuration = ? where integration = 'first' and organization = 'two'`,
      '/integrations/first/installations',
    ],
    [`audit set details = ? where integration = 'first' and organization = 'two'`, '/audit'],
  ] as const) {
    const before = await listed(path);
    const reported = reports().length;
    const changes = damaged(damage);
    const after = await listed(path);
    expect([path, changes, after.length]).toEqual([path, 1, before.length - 1]);
    expect(before).toEqual(expect.arrayContaining(after));
    await expect.poll(() => [path, reports().length]).toEqual([path, reported + 1]);
  }
  // Before its manifest is read for the first time.
  expect(damaged(`versions set manifest = ? where integration = 'first'`)).toBe(1);
  const blocks = await listed('/blocks?organization=one&space=any');
  expect(blocks).toEqual([expect.objectContaining({ integration: 'second' })]);
  await expect.poll(() => lines.join()).toContain('The manifest of version 1 of \\"first\\" is damaged');
  expect(lines.join()).not.toContain('planted');
});
