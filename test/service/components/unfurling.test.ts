/**
 * Unfurling: a pasted URL becomes the block with the best matching pattern
 * (docs/contract/components.md#unfurls).
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Answer, ask, codeOf } from '../../support/installation-api.ts';
import { type Installed, TestService } from '../../support/service.ts';

/** The reaction of each component to a URL, as code of its action. */
const DOES = {
  takes: 'return { props: { url: action.url, seen: [element.props, element.context, action.action] } };',
  throws: "throw new Error('not mine');",
  completes: "return { type: 'complete' };",
  hangs: 'return new Promise(() => {});',
  spins: 'for (;;);',
  draws: 'return { state: { wrong: true } };',
};
const source = (does: string) => `import { createComponent, createIntegration } from '@annex/sdk';
export default createIntegration({ components: [createComponent({
  componentId: 'link',
  async action(element, action) { ${does} },
  render: (element) => element.state.wrong ? <block><button /></block> : <block><text>{element.props.url ?? 'none'}</text></block>,
})] });`;
const block = (...patterns: string[]) =>
  `blocks:\n  - id: link\n    title: Link\n    urlUnfurl: ${JSON.stringify(patterns)}\n`;

let service: TestService;
const installed = new Map<string, Installed>();
const unfurl = (url: string, more: object = {}, token?: string): Promise<Answer> =>
  ask(service, 'POST', '/blocks/unfurl', {
    json: { organization: 'acme', url, ...more },
    ...(token !== undefined && { token }),
  });

beforeAll(async () => {
  service = await TestService.start();
  const all = {
    'a-throws': [DOES.throws, 'https://e.example/first/*', 'https://e.example/all/*/of/*/them'],
    'b-completes': [DOES.completes, 'https://e.example/first/*', 'https://e.example/all/*/of/*'],
    'c-draws': [DOES.draws, 'https://e.example/first/*', 'https://e.example/all/*/of'],
    'd-takes': [DOES.takes, 'https://e.example', 'https://e.example/all/', 'https://e.example/slow/'],
    'e-takes': [DOES.takes, 'https://*.e.example/b/'],
    'f-spins': [DOES.spins, 'https://e.example/slow/spin/*'],
    'g-hangs': [DOES.hangs, 'https://e.example/slow/hang/*'],
    'h-takes': [DOES.takes, 'https://e.example/all/1/of/2/them/exactly'],
  };
  for (const [name, [does = '', ...patterns]] of Object.entries(all)) {
    await service.publish(name, { 'index.tsx': source(does) }, block(...patterns));
    installed.set(name, await service.install(name, 'acme'));
  }
});
afterAll(() => service.stop());

test('the answer has the drawing and its installation', async () => {
  const { status, body } = await unfurl('https://e.example/x?a=1', {
    context: { c: 1 },
    auth: { userId: 'u' },
  });
  expect(status).toBe(200);
  expect(body).toEqual({
    integration: 'd-takes',
    installation: installed.get('d-takes')?.id,
    componentId: 'link',
    type: 'element',
    state: {},
    props: { url: 'https://e.example/x?a=1', seen: [{}, { c: 1 }, '@link.unfurl'] },
    element: { type: 'block', children: [{ type: 'text', children: ['https://e.example/x?a=1'] }] },
  });
});

test('the component gets the URL that its pattern was compared with', async () => {
  const { body } = await unfurl('HTTPS://E.example:443/a/../x y');
  expect(body['props']).toMatchObject({ url: 'https://e.example/x%20y' });
});

test('the more specific pattern is called first', async () => {
  expect((await unfurl('https://e.example/all/1/of/2/them/exactly')).body['integration']).toBe('h-takes');
  expect((await unfurl('https://x.e.example/b/1')).body['integration']).toBe('e-takes');
});

test('a component that fails, declines, or returns invalid ContentKit is skipped', async () => {
  const answer = await unfurl('https://e.example/all/1/of/2');
  expect(answer.body['integration']).toBe('d-takes');
});

test('at most three are called', async () => {
  const answer = await unfurl('https://e.example/first/x');
  expect(codeOf(answer)).toBe('404 UNFURL_UNMATCHED');
  for (const name of ['a-throws', 'b-completes', 'c-draws'])
    expect(answer.error.message).toContain(`"${name}"`);
});

test.each(['spin', 'hang'])('attack: a component that would %s for ever blocks no other', async (how) => {
  const answer = await unfurl(`https://e.example/slow/${how}/x`);
  expect([answer.status, answer.body['integration']]).toEqual([200, 'd-takes']);
});

test.each([
  'https://nobody.example/',
  'https://e.example.evil.example/',
  'https://user:secret@e.example/x',
  'javascript:alert(1)',
  'not a url',
])('no block matches %s', async (url) => {
  const answer = await unfurl(url);
  expect(codeOf(answer)).toBe('404 UNFURL_UNMATCHED');
  expect(answer.error.message).toBe(
    'No block that is installed there has a `urlUnfurl` that matches this URL.',
  );
});

test.each([{ url: '' }, { url: `https://e.example/${'x'.repeat(2_048)}` }, { url: 5 }, { more: 1 }])(
  'an invalid body is refused: %j',
  async (more) => {
    expect(codeOf(await unfurl('https://e.example/', more))).toBe('400 REQUEST_INVALID');
  },
);

test('a paused installation is not called, and a space installation is called as such', async () => {
  const name = 'd-takes';
  const at = `/integrations/${name}/installations/${installed.get(name)?.id}`;
  await ask(service, 'POST', `${at}/spaces`, { json: { space: 'garden' } });
  expect((await unfurl('https://e.example/x', { space: 'garden' })).body).toMatchObject({
    integration: name,
    space: 'garden',
  });
  await ask(service, 'POST', `${at}/pause`);
  expect(codeOf(await unfurl('https://e.example/x', { space: 'garden' }))).toBe('404 UNFURL_UNMATCHED');
  await ask(service, 'POST', `${at}/resume`);
});

test('no other organization is called, or may call', async () => {
  const json = { kind: 'organization', organization: 'another' };
  const token = String((await ask(service, 'POST', '/tokens', { json })).body['token']);
  expect(codeOf(await unfurl('https://e.example/x', {}, token))).toBe('403 TOKEN_FORBIDDEN');
  const own = await unfurl('https://e.example/x', { organization: 'another' }, token);
  expect(codeOf(own)).toBe('404 UNFURL_UNMATCHED');
});
