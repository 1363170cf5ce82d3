/**
 * Drawings by GET: cacheable for as long as their component allows, and revalidated by their tag
 * (docs/contract/components.md#rendering).
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, ask, codeOf } from '../../support/installation-api.ts';
import { type Installed, TestService } from '../../support/service.ts';

const SOURCE = `import { createComponent, createIntegration } from '@annex/sdk';
export default createIntegration({
  components: [
    createComponent({
      componentId: 'kept',
      render(element) {
        element.setCache({ maxAge: 300 });
        return <block><text>{JSON.stringify([element.props, element.context])}</text></block>;
      },
    }),
    createComponent({ componentId: 'fresh', render: () => <block><text>a</text></block> }),
  ],
});
`;
const RAW = (control: string) => `export default { fetch: () => new Response(
  JSON.stringify({ type: 'complete' }), { headers: { 'cache-control': '${control}' } }) };`;

let service: TestService;
let installed: Installed;
beforeAll(async () => {
  service = await TestService.start();
  await service.publish('kept', { 'index.tsx': SOURCE });
  installed = await service.install('kept');
});
afterAll(() => service.stop());

const get = (query: Record<string, string>, headers: Record<string, string> = {}): Promise<Answer> =>
  ask(
    service,
    'GET',
    `/integrations/kept/installations/${installed.id}/render?${new URLSearchParams(query)}`,
    { headers },
  );

test('a drawing by GET has the lifetime that its component sets, and a strong tag', async () => {
  const answer = await get({ componentId: 'kept', props: '{"a":1}', context: '{"b":2}' });
  expect(answer.status).toBe(200);
  expect(answer.headers.get('cache-control')).toBe('max-age=300');
  expect(answer.headers.get('etag')).toMatch(/^"[\w-]{43}"$/);
  expect(answer.headers.get('vary')).toBe('authorization');
  expect(answer.body).toEqual({
    type: 'element',
    state: {},
    props: { a: 1 },
    element: { type: 'block', children: [{ type: 'text', children: ['[{"a":1},{"b":2}]'] }] },
  });
});

test('a drawing whose component sets no lifetime has none', async () => {
  expect((await get({ componentId: 'fresh' })).headers.get('cache-control')).toBe('no-store');
});

test('the tag is that of the exact bytes', async () => {
  const tag = async (query: Record<string, string>) => (await get(query)).headers.get('etag');
  const one = { componentId: 'kept', props: '{"a":1}' };
  expect(await tag(one)).toBe(await tag(one));
  expect(await tag(one)).not.toBe(await tag({ ...one, props: '{"a":2}' }));
});

describe('If-None-Match', () => {
  test('of the present tag is 304, without a body and with the lifetime', async () => {
    const etag = (await get({ componentId: 'kept' })).headers.get('etag') ?? '';
    for (const asked of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const answer = await get({ componentId: 'kept' }, { 'if-none-match': asked });
      expect([answer.status, answer.text]).toEqual([304, '']);
      expect(answer.headers.get('etag')).toBe(etag);
      expect(answer.headers.get('cache-control')).toBe('max-age=300');
    }
  });

  test('with another tag is answered with the drawing; a malformed one is refused', async () => {
    expect((await get({ componentId: 'kept' }, { 'if-none-match': '"other"' })).status).toBe(200);
    expect(codeOf(await get({ componentId: 'kept' }, { 'if-none-match': 'other' }))).toBe(
      '400 REQUEST_INVALID',
    );
  });
});

test.each([
  [{}, 'componentId'],
  [{ componentId: 'kept', props: '{' }, 'query.props must be a JSON object'],
  [{ componentId: 'kept', props: '[]' }, 'query.props must be a JSON object'],
  [{ componentId: 'kept', context: '5' }, 'query.context must be a JSON object'],
  [{ componentId: 'kept', state: '{}' }, 'state'],
  [{ componentId: 'kept', action: '{}' }, 'action'],
])('an invalid query is refused: %j', async (query, words) => {
  const answer = await get(query as Record<string, string>);
  expect(codeOf(answer)).toBe('400 REQUEST_INVALID');
  expect(answer.error.message).toContain(words);
});

test.each([
  ['max-age=60', 'max-age=60'],
  ['public, max-age=60', 'no-store'],
  ['max-age=60, s-maxage=99', 'no-store'],
  ['max-age=999999999999', 'no-store'],
  ['immutable', 'no-store'],
])('attack: a script that answers with its own cache-control %j', async (control, expected) => {
  const name = `raw-${control.replaceAll(/[^a-z0-9]+/g, '-')}`;
  const raw = await service.deploy(name, RAW(control));
  const path = `/integrations/${name}/installations/${raw.id}/render?componentId=c`;
  expect((await ask(service, 'GET', path)).headers.get('cache-control')).toBe(expected);
});

test('the schema of drawings is served without a token', async () => {
  const response = await fetch(`${service.service.controlUrl}/v1/contentkit.schema.json`);
  expect([response.status, response.headers.get('content-type')]).toEqual([
    200,
    expect.stringContaining('application/schema+json'),
  ]);
  expect(await response.json()).toMatchObject({ title: 'ContentKit', $defs: { button: { type: 'object' } } });
});
