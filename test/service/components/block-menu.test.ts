/**
 * The quick insert menu: the blocks in it, and the tokens that may read it
 * (docs/contract/components.md#quick-insert).
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, ask, codeOf } from '../../support/installation-api.ts';
import { png } from '../../support/png.ts';
import { type Installed, startTestService, TestService } from '../../support/service.ts';

const source = (...ids: string[]) => `import { createComponent, createIntegration } from '@annex/sdk';
const components = ${JSON.stringify(ids)}.map((componentId) =>
  createComponent({ componentId, render: () => ({ type: 'block', children: [] }) }));
export default createIntegration({ components });`;
const blocks = (...ids: string[]) =>
  ids.length === 0 ? '' : `blocks:\n${ids.map((id) => `  - { id: ${id}, title: The ${id} }\n`).join('')}`;

interface Item {
  readonly integration: string;
  readonly componentId: string;
}
const named = ({ body }: Answer) =>
  (body['items'] as Item[]).map(({ integration, componentId }) => `${integration}/${componentId}`);

let service: TestService;
const publish = (name: string, ids: string[], manifest = '') =>
  service.publish(name, { 'index.js': source(...ids) }, blocks(...ids) + manifest);
const menu = (query: string, token?: string): Promise<Answer> =>
  ask(service, 'GET', `/blocks?${query}`, token === undefined ? {} : { token });

describe('the menu of a space', () => {
  let [kanban, chosen, needing]: (Installed | undefined)[] = [];
  beforeAll(async () => {
    service = await TestService.start();
    const form = new FormData();
    const manifest = `name: kanban
title: Kanban
description: d
organization: acme
visibility: public
scopes: []
script: index.js
icon: icons/all of it.png
blocks:
  - id: column
    title: Column
    description: Some cards.
    icon: icons/all of it.png
    urlUnfurl: ["https://kanban.example/c/*"]
    markdown: { codeblock: kanban, body: cards }
  - { id: card, title: Card }
`;
    form.append('manifest', manifest);
    form.append('files', new Blob([source('column', 'card')]), 'index.js');
    form.append('files', new Blob([png(16, 16)]), 'icons/all of it.png');
    expect((await service.api('POST', '/v1/integrations', { form })).status).toBe(201);
    await publish('chosen', ['pick']);
    await publish(
      'needing',
      ['late'],
      'configurations:\n  account:\n    properties:\n      url: { type: string, title: u, description: d }\n    required: [url]\n',
    );
    await publish('plain', []);
    await publish('sites', ['page'], 'target: site\n');
    await publish('whole', ['wide'], 'target: organization\n');
    await publish('elsewhere', ['other']);
    [kanban, chosen, needing] = [
      await service.install('kanban', 'acme'),
      await service.install('chosen', 'acme'),
      await service.install('needing', 'acme'),
    ];
    for (const name of ['plain', 'sites', 'whole']) await service.install(name, 'acme');
    await service.install('elsewhere', 'another');
    const at = `/integrations/chosen/installations/${chosen?.id}`;
    await ask(service, 'PATCH', at, { json: { space_selection: 'selected' } });
    await ask(service, 'POST', `${at}/spaces`, { json: { space: 'garden' } });
  });
  afterAll(() => service.stop());

  test("has the block's members of the manifest, and the installation that draws it", async () => {
    const { body } = await menu('organization=acme&space=house');
    const [column, card] = body['items'] as object[];
    const { body: record } = await ask(service, 'GET', '/integrations/kanban');
    const { assets } = record['urls'] as { assets: string };
    expect(column).toEqual({
      integration: 'kanban',
      installation: kanban?.id,
      componentId: 'column',
      title: 'Column',
      description: 'Some cards.',
      icon: `${assets}/icons/all%20of%20it.png`,
      urlUnfurl: ['https://kanban.example/c/*'],
      markdown: { codeblock: 'kanban', body: 'cards' },
    });
    expect(card).toEqual({
      ...{ integration: 'kanban', installation: kanban?.id, componentId: 'card', title: 'Card' },
    });
  });

  test.each([
    [
      'of a space, what is installed in it too',
      'space=garden',
      ['chosen/pick', 'kanban/column', 'kanban/card', 'whole/wide'],
    ],
    [
      'of another space, what speaks for every space',
      'space=house',
      ['kanban/column', 'kanban/card', 'whole/wide'],
    ],
    ['of no space, the same', '', ['kanban/column', 'kanban/card', 'whole/wide']],
  ])('lists, %s', async (_, space, expected) => {
    const answer = await menu(`organization=acme&${space}`);
    expect([named(answer), answer.body['next']]).toEqual([expected, undefined]);
  });

  test('names the space if the space installation draws the block', async () => {
    const { body } = await menu('organization=acme&space=garden');
    expect((body['items'] as object[])[0]).toMatchObject({ installation: chosen?.id, space: 'garden' });
  });

  test('gains a block when its configuration becomes valid, and loses it while it is paused', async () => {
    const at = `/integrations/needing/installations/${needing?.id}`;
    const has = async () => named(await menu('organization=acme')).includes('needing/late');
    expect(await has()).toBe(false);
    await ask(service, 'PATCH', at, { json: { configuration: { url: 'u' } } });
    expect(await has()).toBe(true);
    await ask(service, 'POST', `${at}/pause`);
    expect(await has()).toBe(false);
  });

  test('loses blocks of a paused space installation in that space only', async () => {
    const at = `/integrations/kanban/installations/${kanban?.id}/spaces`;
    await ask(service, 'POST', at, { json: { space: 'cellar' } });
    await ask(service, 'POST', `${at}/cellar/pause`);
    expect(named(await menu('organization=acme&space=cellar'))).toEqual(['whole/wide']);
    expect(named(await menu('organization=acme&space=house'))).toContain('kanban/card');
  });

  test('is that of the active version from its activation on', async () => {
    const has = async () => named(await menu('organization=another'));
    expect(await has()).toEqual(['elsewhere/other']);
    await publish('elsewhere', ['new', 'other']);
    expect(await has()).toEqual(['elsewhere/new', 'elsewhere/other']);
    await ask(service, 'POST', '/integrations/elsewhere/versions/1/activate');
    expect(await has()).toEqual(['elsewhere/other']);
  });

  test('is visible to the organization and the host product', async () => {
    const token = async (organization: string) => {
      const json = { kind: 'organization', organization };
      return String((await ask(service, 'POST', '/tokens', { json })).body['token']);
    };
    expect((await menu('organization=acme', await token('acme'))).status).toBe(200);
    expect((await menu('organization=acme', service.platform)).status).toBe(200);
    expect(codeOf(await menu('organization=acme', await token('another')))).toBe('403 TOKEN_FORBIDDEN');
  });

  test.each([
    '',
    'space=a',
    'organization=',
    'organization=a&space=%00',
    'organization=a&cursor=x',
    'organization=a&x=1',
  ])('an invalid query is refused: "%s"', async (query) =>
    expect(codeOf(await menu(query))).toBe('400 REQUEST_INVALID'),
  );

  test('is empty for an organization without installations', async () => {
    expect((await menu('organization=nobody')).body).toEqual({ items: [] });
  });
});

test('pages of any size list every block once, in the same order', async () => {
  service = await startTestService();
  const expected: string[] = [];
  const names = Array.from({ length: 9 }, (_, at) => `app-${at}`);
  for (const [at, name] of names.entries()) {
    const ids = Array.from({ length: at % 4 }, (_, number) => `block-${number}`);
    await publish(name, ids);
    await service.install(name, 'acme');
    expected.push(...ids.map((id) => `${name}/${id}`));
  }
  for (const limit of [1, 2, 3, 4, 100]) {
    const listed: string[] = [];
    let cursor = '';
    for (let pages = 0; pages <= expected.length; pages += 1) {
      const answer = await menu(`organization=acme&limit=${limit}${cursor}`);
      listed.push(...named(answer));
      if (answer.body['next'] === undefined) break;
      cursor = `&cursor=${answer.body['next']}`;
    }
    expect(listed).toEqual(expected);
  }
});
