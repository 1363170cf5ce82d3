/**
 * Views of integrations and their versions, and the cursors of their lists.
 */
import { describe, expect, test } from 'vitest';
import { png } from '../../support/png.ts';
import { startTestService } from '../../support/service.ts';
import { manifestYaml, OPERATOR } from '../../support/store/temporary-store.ts';

describe('an integration has views', () => {
  const PAGE = `
summary: Says **hello**.
target: space
categories: [content, other]
icon: images/my icon.png
previewImages: [images/one.png]
externalLinks: [{ label: Manual, url: "https://example.com/manual" }]
blocks: [{ id: greeting, title: Greeting, icon: images/my icon.png }]
secrets: { NAME_OF_A_SECRET: x }
configurations:
  space:
    properties:
      tone: { type: string }
      to: { type: string, title: URL }
      what: { type: string, title: Types, enum: [space_content_updated], multiple: true }
webhook: { url: to, eventTypes: what }
`;
  const CODE = `
    import { createComponent, createIntegration } from '@annex/sdk';
    const greeting = createComponent({ componentId: 'greeting', render: async () => <block></block> });
    export default createIntegration({ fetch: () => new Response(), components: [greeting] });`;

  test("of its page for all that may see it, of its versions for its owner, and of its secrets' values for none", async () => {
    const annex = await startTestService();
    const { tokens } = annex.service.store;
    const token = async (organization: string) =>
      (await tokens.create({ kind: 'organization', organization }, OPERATOR)).token;
    const [owner, stranger] = [await token('acme'), await token('rival')];
    const form = new FormData();
    form.append('manifest', `${manifestYaml()}\nscript: index.jsx${PAGE}`);
    form.append('files', new Blob([CODE]), 'index.jsx');
    form.append('files', new Blob([png(512, 512)]), 'images/my icon.png');
    form.append('files', new Blob([png(1_600, 800)]), 'images/one.png');
    form.append('secrets', JSON.stringify({ NAME_OF_A_SECRET: 'hush-hush' }));
    expect(await annex.api('POST', '/v1/integrations', { form })).toMatchObject({ status: 201 });

    const { body: seen } = await annex.api('GET', '/v1/integrations/hello', { token: stranger });
    expect(seen).toMatchObject({
      ...{ name: 'hello', version: 1, summary: 'Says **hello**.', target: 'space', scopes: [] },
      categories: ['content', 'other'],
      externalLinks: [{ label: 'Manual', url: 'https://example.com/manual' }],
      blocks: [{ id: 'greeting', title: 'Greeting' }],
      webhook: { url: 'to', eventTypes: 'what' },
    });
    expect(seen).not.toHaveProperty('installLink');
    for (const image of [seen['icon'], ...(seen['previewImages'] as unknown[])]) {
      const shown = await fetch(String(image));
      expect([image, shown.status, shown.headers.get('content-type')]).toEqual([image, 200, 'image/png']);
    }
    const linkOf = async () =>
      (await annex.api('GET', '/v1/integrations/hello', { token: owner })).body['installLink'];
    expect(await linkOf()).toBe(false);
    await annex.api('POST', '/v1/integrations/hello/install-link', { token: owner });
    expect(await linkOf()).toBe(true);

    const at = '/v1/integrations/hello/versions';
    const { body: version } = await annex.api('GET', `${at}/1`, { token: owner });
    expect(version).toMatchObject({
      ...{ version: 1, active: true, script: 'index.jsx', icon: 'images/my icon.png', visibility: 'public' },
      configurations: { space: { properties: { tone: { type: 'string' } } } },
      webhook: { url: 'to', eventTypes: 'what' },
    });
    expect(JSON.stringify([seen, version])).not.toMatch(/NAME_OF_A_SECRET|hush-hush/);
    for (const unknown of ['2', '999999999'])
      expect((await annex.api('GET', `${at}/${unknown}`, { token: owner })).status).toBe(404);
    expect((await annex.api('GET', `${at}/0`, { token: owner })).status).toBe(400);
    expect((await annex.api('GET', `${at}/1`, { token: stranger })).status).toBe(404);
  });
});

describe('a cursor', () => {
  test('is refused if no page returned it, and continues the list if one did', async () => {
    const annex = await startTestService();
    const source = { 'index.js': 'export default { fetch: () => new Response() };' };
    for (const name of ['a', 'b', 'a']) await annex.publish(name, source);
    const { id } = await annex.install('a');
    await annex.install('a');
    const lists = [
      ...['/v1/integrations', '/v1/integrations/a/versions', '/v1/integrations/a/installations', '/v1/audit'],
      ...['/v1/tokens', `/v1/logs?installation=${id}`],
    ];
    for (const list of lists) {
      const ask = async (query: string) =>
        annex.api('GET', `${list}${list.includes('?') ? '&' : '?'}${query}`);
      const { body: first } = await ask('limit=1');
      const next = first['next'];
      if (typeof next === 'string') {
        const { status, body: second } = await ask(`limit=1&cursor=${next}`);
        expect([list, status, (second['items'] as unknown[]).length]).toEqual([list, 200, 1]);
        expect(second['items']).not.toEqual(first['items']);
        expect([list, (await ask(`cursor=${next.slice(0, -2)}`)).status]).toEqual([list, 400]);
      } else expect(list).toContain('/v1/logs');
      for (const wrong of ['a', '1', id, 'AAAAAAAA', '..%2f', 'x'.repeat(600)]) {
        const { status, body } = await ask(`cursor=${wrong}`);
        expect([list, wrong, status, body['error']]).toEqual([
          ...[list, wrong, 400],
          expect.objectContaining({
            code: 'REQUEST_INVALID',
            message: expect.stringContaining('query.cursor'),
          }),
        ]);
      }
    }
  });

  test('of another list is refused for versions, whose keys are numbers', async () => {
    const annex = await startTestService();
    const source = { 'index.js': 'export default { fetch: () => new Response() };' };
    for (const name of ['a', 'b']) await annex.publish(name, source);
    const { body } = await annex.api('GET', '/v1/integrations?limit=1');
    const { status } = await annex.api('GET', `/v1/integrations/a/versions?cursor=${body['next']}`);
    expect(status).toBe(400);
  });
});
