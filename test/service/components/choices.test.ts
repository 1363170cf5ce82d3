/**
 * Choices of a `select` that the service reads from their URL, as a fetch of the installation
 * (docs/contract/components.md#choices-from-a-url): every form of answer, and every way in which a
 * URL or an answer is hostile.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, ask } from '../../support/installation-api.ts';
import { type Installed, TestService } from '../../support/service.ts';

const SOURCE = `import { createComponent, createIntegration, endpointPath } from '@annex/sdk';
const many = (count, of = (n) => n) => Array.from({ length: count }, (_, n) => of(n));
const ANSWERS = {
  '/list': () => [{ id: 'a', label: 'A', icon: 'star', more: 1 }],
  '/page': (url) => ({ items: [{ id: 'a' }], selected: [{ id: 'z', label: 'Z' }], nextPage: url + '&page=2' }),
  '/relative': () => ({ items: [], nextPage: '/list?page=2' }),
  '/mark': () => ({ items: [], next: { page: 'm' } }),
  '/number': () => ({ items: [{ id: 7, label: 8 }], nextPage: 3 }),
  '/script': () => ({ items: [{ id: 'a', label: '<script>alert(1)</script>' }], nextPage: 'javascript:alert(1)//?' }),
  '/forms': () => [null, 1, 'a', [], {}, { id: {} }, { id: 'a', label: {} }, { id: 'b', icon: {} }],
  '/prototype': () => JSON.parse('{"__proto__": {"items": []}, "items": [{"__proto__": {"id": "x"}, "id": "a"}]}'),
  '/many': () => many(2_000, (n) => ({ id: String(n) })),
  '/large': () => ['x'.repeat(300 * 1024)],
  '/deep': () => many(5_000).reduce((inner) => [inner], 1),
  '/text': () => 'a text',
  '/object': () => ({ choices: [] }),
};
export default createIntegration({
  components: [createComponent({ componentId: 'c', render: () => <block></block> })],
  async fetch(request, { environment, api }) {
    const path = endpointPath(environment, request.url);
    if (path === '/head')
      return Response.json(many(1, () => ({ id: 'head', label: JSON.stringify([...request.headers]) })));
    if (path === '/refused') return new Response('[]', { status: 403 });
    if (path === '/away') return Response.redirect(new URL(request.url).searchParams.get('to'), 302);
    if (path === '/itself') {
      const { integration, installation, apiEndpoint, apiTokens } = environment;
      const answer = await fetch(apiEndpoint + '/integrations/' + integration.name + '/render', {
        method: 'POST',
        headers: { authorization: 'Bearer ' + apiTokens.installation, 'content-type': 'application/json' },
        body: JSON.stringify({ componentId: 'c', choices: { url: request.url } }),
      });
      return new Response(await answer.text(), { status: answer.status });
    }
    return Response.json(ANSWERS[path]?.(request.url));
  },
});
`;

describe('choices from a URL', () => {
  let service: TestService;
  let installed: Installed;
  let own: string;
  let other: Installed;
  beforeAll(async () => {
    service = await TestService.start();
    await service.publish('lists', { 'index.tsx': SOURCE });
    installed = await service.install('lists');
    own = installed.endpoint;
    other = await service.install('lists', 'another');
  });
  afterAll(() => service.stop());

  const read = (url: string): Promise<Answer> =>
    ask(service, 'POST', `/integrations/lists/installations/${installed.id}/render`, {
      json: { componentId: 'c', choices: { url } },
    });

  const pageOf = ({ body }: Answer) => body['choices'] as Record<string, unknown>;

  test.each([
    ['a list', '/list', { items: [{ id: 'a', label: 'A', icon: 'star' }] }],
    ['a mark of the next page', '/mark', { items: [], next: 'm' }],
    ['numbers', '/number', { items: [{ id: '7', label: '8' }], next: '3' }],
    [
      'markup and a script, which are text or left out',
      '/script',
      { items: [{ id: 'a', label: '<script>alert(1)</script>' }] },
    ],
    [
      'entries of other forms, which are left out',
      '/forms',
      {
        items: [
          { id: 'a', label: 'a' },
          { id: 'b', label: 'b' },
        ],
      },
    ],
    ['members of a prototype, which are none', '/prototype', { items: [{ id: 'a', label: 'a' }] }],
  ])('may be %s', async (_name, path, page) => {
    const { status, body } = await read(`${own}${path}?kind=all`);
    expect([status, body]).toEqual([200, { type: 'choices', choices: page }]);
  });

  test('may be a page that names the next one by its whole URL or a part, and what is chosen', async () => {
    expect(pageOf(await read(`${own}/page?kind=all`))).toEqual({
      items: [{ id: 'a', label: 'a' }],
      selected: [{ id: 'z', label: 'Z' }],
      nextPage: `${own}/page?kind=all&page=2`,
    });
    expect(pageOf(await read(`${own}/relative`))).toMatchObject({
      nextPage: `${new URL(own).origin}/list?page=2`,
    });
  });

  test('are bounded in number', async () => {
    expect(pageOf(await read(`${own}/many`))['items']).toHaveLength(1_000);
  });

  test('are asked for without anything of the caller', async () => {
    const [{ label }] = pageOf(await read(`${own}/head`))['items'] as [{ label: string }];
    expect(JSON.parse(label).map(([name]: string[]) => name)).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/authorization|cookie|forwarded|referer/)]),
    );
    expect(label).toContain('application/json');
  });

  test('are reached at the own endpoint under https, too, where the service has none', async () => {
    expect(await read(`${own.replace('http:', 'https:')}/list`)).toMatchObject({ status: 200 });
  });

  test.each([
    ['too large', '/large', 'more than 256 KiB'],
    ['too deep to be a list of choices', '/deep', undefined],
    ['a text', '/text', 'neither a list nor'],
    ['another object', '/object', 'neither a list nor'],
    ['nothing', '/none', undefined],
    ['a refusal', '/refused', 'status 403'],
  ])('are refused where the answer is %s', async (_name, path, said) => {
    const { status, body } = await read(`${own}${path}`);
    if (path === '/deep')
      return expect([status, body]).toEqual([200, { type: 'choices', choices: { items: [] } }]);
    expect([status, body]).toMatchObject([502, { error: { code: 'CHOICES_FAILED' } }]);
    if (said !== undefined) expect(JSON.stringify(body)).toContain(said);
    expect((await service.log(installed)).at(-1)).toMatchObject({
      level: 'warn',
      text: expect.stringMatching(/^The choices of a select were not read: /),
    });
  });

  // Attack: a user of the product, or an integration, has the service read what only it reaches.
  describe('never come from', () => {
    const inside = createServer((_request, response) => response.end('[{"id":"secret"}]'));
    let port: number;
    beforeAll(async () => {
      await new Promise<void>((resolve) => inside.listen(0, '127.0.0.1', resolve));
      port = (inside.address() as AddressInfo).port;
    });
    afterAll(() => new Promise((resolve) => inside.close(resolve)));

    test.each([
      ['this machine', () => `http://127.0.0.1:${port}/`],
      ['this machine by its name', () => `http://localhost:${port}/`],
      ['this machine by a number', () => `http://2130706433:${port}/`],
      ['this machine in IPv6', () => `http://[::ffff:127.0.0.1]:${port}/`],
      ['this machine by a redirect', () => `${own}/away?to=http://127.0.0.1:${port}/`],
      ['the metadata of a cloud', () => 'http://169.254.169.254/latest/meta-data/'],
      ['a private network', () => 'http://10.0.0.1/'],
      ['the metrics of the service', () => `${service.service.controlUrl}/metrics`],
      ['the API without a token', () => `${service.service.controlUrl}/v1/integrations`],
      ['a file', () => 'file:///etc/passwd'],
      ['a text that is no URL', () => 'list'],
      ['data', () => 'data:application/json,[]'],
    ])('%s', async (_name, url) => {
      const { status, body } = await read(url());
      expect([status, body]).toMatchObject([502, { error: { code: 'CHOICES_FAILED' } }]);
      expect(JSON.stringify(body)).not.toContain('secret');
    });
  });

  test('come from another tenant as for everybody: without its token, its state and its secrets', async () => {
    const { body } = await read(`${other.endpoint}/head`);
    expect(JSON.stringify(body)).not.toContain('annex_');
  });

  test('that ask for themselves end', async () => {
    const { status, body } = await read(`${own}/itself`);
    expect([status, body]).toMatchObject([502, { error: { code: 'CHOICES_FAILED' } }]);
  });
});
