/**
 * Bodies on the control listener: the limit of each route comes from its schema, and a refused
 * change counts.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EDIT_BODIES, PLACE_BODIES } from '../../../src/host/http/control/installations/installation-view.ts';
import { bodyBytesMax } from '../../../src/host/http/control/route.ts';
import { TestService } from '../../support/service.ts';

interface RequestBody {
  readonly content: Readonly<Record<string, unknown>>;
}

type Schema = Readonly<Record<string, unknown>>;

/** Paths of all lists in a schema that have no `maxItems`. */
function unboundedLists(schema: unknown, path = ''): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const { type, maxItems } = schema as Schema;
  const own = type === 'array' && maxItems === undefined ? [path] : [];
  return [
    ...own,
    ...Object.entries(schema).flatMap(([name, member]) => unboundedLists(member, `${path}/${name}`)),
  ];
}

let annex: TestService;
beforeAll(async () => {
  annex = await TestService.start({ limits: { editsPerMinutePerInstallation: 7 } });
  await annex.publish('hello', { 'index.js': 'export default { fetch: () => new Response() };' });
});

afterAll(() => annex.stop());

async function organizationToken(organization: string): Promise<string> {
  const { body } = await annex.api('POST', '/v1/tokens', { json: { kind: 'organization', organization } });
  return String(body['token']);
}

/** A request with a raw body. */
async function send(method: string, path: string, token: string, text: string) {
  const response = await fetch(`${annex.service.controlUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: text,
  });
  const { error } = (await response.json()) as { error?: { code: string; message: string } };
  return { status: response.status, code: error?.code, message: error?.message };
}

describe('a body', () => {
  test('of any route has no unbounded list', async () => {
    const { body } = await annex.api('GET', '/v1/openapi.json');
    const paths = Object.entries(body['paths'] as Record<string, Record<string, Schema>>);
    const lists = paths.flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, { requestBody }]) =>
        unboundedLists((requestBody as RequestBody | undefined)?.content['application/json']).map(
          (at) => `${method} ${path} ${at}`,
        ),
      ),
    );
    expect(paths.length).toBeGreaterThan(30);
    expect(lists).toEqual([]);
  });

  test('of a route without one may be empty', async () => {
    const { id } = await annex.install('hello', 'empty');
    const path = `/v1/integrations/hello/installations/${id}/pause`;
    expect(await send('POST', path, annex.admin, `{}${' '.repeat(1_022)}`)).toMatchObject({ status: 200 });
    expect(await send('POST', path, annex.admin, `{}${' '.repeat(1_023)}`)).toMatchObject({
      status: 413,
      code: 'REQUEST_TOO_LARGE',
      message: 'The body is too large: this route accepts 1024 bytes.',
    });
  });

  test('may be as large as the largest value of its schema', async () => {
    const { id } = await annex.install('hello', 'roomy');
    const path = `/v1/integrations/hello/installations/${id}/spaces`;
    const max = bodyBytesMax(PLACE_BODIES.space) ?? 0;
    // Each character as two escapes, its longest form in JSON.
    const letter = '\\ud83d\\ude00';
    const largest = JSON.stringify({
      space: 's',
      externalIds: Array.from({ length: 5 }, () => ''),
    }).replaceAll('""', `"${letter.repeat(256)}"`);
    expect(largest.length).toBeLessThan(max);
    expect(await send('POST', path, annex.admin, largest)).toMatchObject({ status: 201 });
    const at = (bytes: number) => `{"space":""}${' '.repeat(bytes - 12)}`;
    expect(await send('POST', path, annex.admin, at(max))).toMatchObject({ status: 400 });
    expect(await send('POST', path, annex.admin, at(max + 1))).toMatchObject({ status: 413 });
  });

  test('whose schema has no largest value needs a `bodyLimit`', () => {
    expect(bodyBytesMax(EDIT_BODIES.space)).toBeUndefined();
    expect(bodyBytesMax(undefined)).toBe(1_024);
  });
});

describe('a change that is refused', () => {
  // Attack: any number of bodies that are read, parsed and validated in vain.
  test('counts once, whatever the reason', async () => {
    const own = await annex.install('hello', 'beach');
    const other = await annex.install('hello', 'hill');
    const token = await organizationToken('beach');
    const at = (id: string) => `/v1/integrations/hello/installations/${id}`;
    const edit = (text: string) => send('PATCH', at(own.id), token, text);
    expect(await edit('{"externalIds":[1]}')).toMatchObject({ status: 400 });
    expect(await edit('{"externalIds":')).toMatchObject({ status: 400 });
    expect(await edit('{"color":1}')).toMatchObject({ status: 400 });
    expect(await edit(`{"externalIds":["${'x'.repeat(2 ** 20)}"]}`)).toMatchObject({ status: 413 });
    expect(await send('POST', `${at(own.id)}/spaces`, token, '{"space":1}')).toMatchObject({ status: 400 });
    expect(
      await send('POST', '/v1/integrations/hello/installations', token, '{"organization":1}'),
    ).toMatchObject({ status: 400 });
    expect(await edit('{"externalIds":["a"]}')).toMatchObject({ status: 200 });
    expect(await edit('{"externalIds":[1]}')).toMatchObject({ status: 429, code: 'REQUEST_RATE_EXCEEDED' });
    expect(await edit('{"externalIds":["a"]}')).toMatchObject({ status: 429 });
    // Unknown targets have one count for each token, whatever their names.
    const hidden = [other.id, 'ins_a', 'ins_b', 'ins_c', other.id, 'ins_d', 'ins_e'];
    for (const id of hidden) expect(await send('PATCH', at(id), token, '{}')).toMatchObject({ status: 400 });
    expect(await send('PATCH', at('ins_f'), token, '{}')).toMatchObject({ status: 429 });
  });
});
