/** The operator's mapping from calls of the product's API to scopes. */
import { describe, expect, test } from 'vitest';
import { ProductScopes } from '../../../src/model/product-scopes.ts';

const RULES = `
- { method: GET, path: '/v1/spaces/{space}', scope: space:metadata:read }
- { method: GET, path: '/v1/spaces/{space}/content/**', scope: space:content:read }
- { method: '*', path: '/v1/spaces/**', scope: space:content:write }
`;
const parsed = (text: string): ProductScopes => {
  const { scopes, problems } = ProductScopes.parse(text);
  expect(problems).toEqual([]);
  return scopes as ProductScopes;
};

describe('a mapping', () => {
  const scopes = parsed(RULES);

  test.each([
    ['GET', '/v1/spaces/a', 'space:metadata:read'],
    ['HEAD', '/v1/spaces/a', 'space:metadata:read'],
    ['GET', '/v1/spaces/a/content', 'space:content:read'],
    ['GET', '/v1/spaces/a/content/page/b', 'space:content:read'],
    ['PATCH', '/v1/spaces/a', 'space:content:write'],
    ['GET', '/v1/spaces/a/settings', 'space:content:write'],
  ])('the first rule that fits decides: %s %s needs %s', (method, path, scope) => {
    expect(scopes.missing(method, path, [])).toEqual({ scope });
    expect(scopes.missing(method, path, [scope])).toBeUndefined();
  });

  test('attack: another spelling of a path needs the same scope', () => {
    const paths = ['/v1/SPACES/a', '/v1/spaces/a/', '/v1/%73paces/a', '/v1/spaces%2Fa', '/v1%2Fspaces/a'];
    for (const path of paths)
      expect(scopes.missing('GET', path, []), path).toEqual({ scope: 'space:metadata:read' });
  });

  test('an encoded slash inside a segment asks for the scopes of both readings', () => {
    const path = '/v1/spaces/a%2Fcontent';
    expect(scopes.missing('GET', path, ['space:metadata:read'])).toEqual({ scope: 'space:content:read' });
    expect(scopes.missing('GET', path, ['space:content:read'])).toEqual({ scope: 'space:metadata:read' });
    expect(scopes.missing('GET', path, ['space:metadata:read', 'space:content:read'])).toBeUndefined();
  });

  test('a path without a rule passes by default, and is refused where the file says so', () => {
    expect(scopes.missing('GET', '/v1/user', [])).toBeUndefined();
    const closed = parsed(
      `default: refuse\nrules: ${JSON.stringify([{ ...{ method: 'GET', path: '/v1/user' }, scope: 'openapi:read' }])}`,
    );
    expect(closed.missing('GET', '/v1/user', ['openapi:read'])).toBeUndefined();
    expect(closed.missing('POST', '/v1/user', ['openapi:read'])).toEqual({});
    expect(closed.missing('GET', '/v1/user%2Fx', ['openapi:read'])).toEqual({});
  });

  test.each([
    ['- { method: GET, path: /v1/x, scope: unknown:scope }', 'scope'],
    ['- { method: FETCH, path: /v1/x, scope: openapi:read }', 'method'],
    ['- { method: GET, path: /x, scope: openapi:read }', 'path'],
    ['- { method: GET, path: /v1/x }', 'scope'],
    ["- { method: GET, path: '/v1/**/x', scope: openapi:read }", '"**" is only for the end'],
    ['default: maybe\nrules: []', 'default'],
    ['rules: [', 'neither JSON nor YAML'],
    ['text', 'mapping'],
  ])('with a mistake is refused at the start: %s', (text, about) => {
    const { scopes: none, problems } = ProductScopes.parse(text);
    expect(none).toBeUndefined();
    expect(problems.join()).toContain(about);
  });
});
