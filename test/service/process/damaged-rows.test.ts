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

const CONNECTING = `name: connecting
title: a title
description: for a test
organization: acme
visibility: public
target: space
scopes: []
script: index.js
configurations:
  space:
    properties:
      oauth_credentials: {type: button, title: A, description: d, button_text: C, callback_url: /o}
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

test('credentials that cannot be opened leave their target out of a list, with one line in the log', async () => {
  const data = join(await temporaryFolder(), 'data');
  const lines: string[] = [];
  const flags = ['--cells', '1', '--built-ins', 'none'];
  const host = await HostProcess.start({ data, flags, onLine: (line) => void lines.push(line) });
  onTestFinished(() => host.stop());
  const form = new FormData();
  form.append('manifest', CONNECTING);
  const code = `import { createIntegration } from '@annex/sdk';
    export default createIntegration({ fetch: (_, { environment }) => Response.json(environment.apiTokens) });`;
  form.append('files', new Blob([code]), 'index.js');
  await host.api('POST', '/integrations', form);
  const all = '/integrations/connecting/installations';
  const { id } = await host.api('POST', all, { organization: 'one' });
  const spaces = `${all}/${id}/spaces`;
  for (const space of ['a', 'b']) {
    await host.api('POST', spaces, { space });
    await host.api('PATCH', `${spaces}/${space}`, { configuration: { oauth_credentials: { of: space } } });
  }
  const { urls } = await host.api('GET', `${spaces}/a`);
  const { publicEndpoint } = urls as { publicEndpoint: string };
  const { installation } = (await (await fetch(publicEndpoint)).json()) as { installation: string };
  const listed = async () => {
    const headers = { authorization: `Bearer ${installation}` };
    const response = await fetch(`${host.control}/v1${spaces}`, { headers });
    const { items } = (await response.json()) as { items: { configuration?: object }[] };
    return items.map(({ configuration = {} }) => configuration);
  };
  expect(await listed()).toEqual([{ oauth_credentials: { of: 'a' } }, {}]);

  const database = new DatabaseSync(join(data, 'annex.db'));
  onTestFinished(() => database.close());
  database.prepare(`update targets set sealed_credentials = 'damaged' where place = 'a'`).run();
  expect(await listed()).toEqual([{}]);
  await expect.poll(() => lines.filter((line) => line.includes('are damaged'))).toHaveLength(1);
});
