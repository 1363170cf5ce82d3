/**
 * `POST /v1/integrations/check`: the answer of a publish, problems and warnings included, and
 * nothing stored.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TestService } from '../../support/service.ts';

let annex: TestService;
let author: string;
beforeAll(async () => {
  annex = await TestService.start();
  const { body } = await annex.api('POST', '/v1/tokens', {
    json: { kind: 'organization', organization: 'acme' },
  });
  author = String(body['token']);
});
afterAll(() => annex.stop());

const WORKS = 'export default { fetch: () => new Response("1") };';
// biome-ignore lint/suspicious/noTemplateCurlyInString: it is an expression of a manifest
const NEEDS_KEY = '{ KEY: "${{ env.KEY }}" }';

function upload(
  source: string,
  manifest: Record<string, string> = {},
  secrets?: Record<string, string>,
): FormData {
  const members = {
    ...{ name: 'checked', title: 'Checked', description: 'For a test.', organization: 'acme', scopes: '[]' },
    ...manifest,
    script: 'index.js',
  };
  const form = new FormData();
  form.append(
    'manifest',
    Object.entries(members)
      .map(([key, value]) => `${key}: ${value}\n`)
      .join(''),
  );
  form.append('files', new Blob([source]), 'index.js');
  if (secrets !== undefined) form.append('secrets', JSON.stringify(secrets));
  return form;
}

const check = (form: FormData, token = author) =>
  annex.api('POST', '/v1/integrations/check', { token, form });
const publish = (form: FormData) => annex.api('POST', '/v1/integrations', { token: author, form });
const problemsIn = ({ body }: { body: Record<string, unknown> }) =>
  (body['error'] as { problems?: { message: string }[] }).problems?.map(({ message }) => message);

test('an upload that can be published is answered 200, with its warnings', async () => {
  const { status, body } = await check(upload(WORKS, { colour: 'red' }));
  expect(status).toBe(200);
  expect(body).toEqual({
    integration: 'checked',
    scriptBytes: expect.any(Number),
    warnings: [expect.objectContaining({ severity: 'warning', line: 6 })],
  });
  expect(body['scriptBytes']).toBeGreaterThan(WORKS.length);
});

test('nothing is stored: no integration, no version, no secret, no entry of the audit', async () => {
  const declared = { secrets: NEEDS_KEY };
  expect((await check(upload(WORKS, declared, { KEY: 'one' }))).status).toBe(200);
  expect((await annex.api('GET', '/v1/integrations/checked')).status).toBe(404);
  // The value that was sent with the check is not there for a publish.
  expect(problemsIn(await publish(upload(WORKS, declared)))).toEqual([
    'The secret "KEY" needs the variable "KEY", which has no value.',
  ]);
  expect((await annex.api('GET', '/v1/audit?integration=checked')).body['items']).toEqual([]);
});

test.each([
  ['code that does not parse', upload('export default ;')],
  ['code that throws while it loads', upload('throw new Error("no luck");')],
  ['a manifest with an error', upload(WORKS, { scopes: 'none' })],
  ['a secret without a value', upload(WORKS, { secrets: NEEDS_KEY })],
])('%s has the problems that a publish has', async (_what, form) => {
  const [checked, published] = [await check(form), await publish(form)];
  expect(checked.status).toBe(422);
  expect(problemsIn(checked)).toEqual(problemsIn(published));
  expect(problemsIn(checked)).toHaveLength(1);
});

test('a secret with a stored value needs none', async () => {
  const named = { name: 'with-secret', secrets: NEEDS_KEY };
  expect((await publish(upload(WORKS, named, { KEY: 'one' }))).status).toBe(201);
  expect(await check(upload(WORKS, named))).toMatchObject({ status: 200, body: { warnings: [] } });
  const other = await check(upload(WORKS, named, { KEY: 'two' }));
  expect(other.body['warnings']).toMatchObject([
    { message: expect.stringContaining('keeps its stored value') },
  ]);
});

test('rights are those of a publish', async () => {
  const foreign = upload(WORKS, { organization: 'rival' });
  expect(await check(foreign)).toMatchObject({ status: 403, body: { error: { code: 'TOKEN_FORBIDDEN' } } });
  expect(await check(upload(WORKS), annex.platform)).toMatchObject({ status: 403 });
});

test('the description of the API says how large an upload may be', async () => {
  const { body } = await annex.api('GET', '/v1/openapi.json');
  const paths = body['paths'] as Record<string, { post: unknown }>;
  for (const path of ['/v1/integrations', '/v1/integrations/check'])
    expect(paths[path]?.post).toMatchObject({
      'x-limits': { uploadFiles: 2_000, uploadBytes: 20 * 1024 * 1024 },
    });
});
