/**
 * Error messages and descriptions of the API: where a body is invalid, which methods a path
 * accepts, what each route is called.
 */
import { beforeAll, expect, test } from 'vitest';
import { faultText } from '../../../src/model/schema-fault.ts';
import { errorOf, exchange } from '../../support/http/raw-http.ts';
import { startTestService, TestService } from '../../support/service.ts';

let annex: TestService;
beforeAll(async () => {
  annex = await TestService.start();
  return () => annex.stop();
});

async function refusal(path: string, contentType: string, body: string): Promise<string> {
  const headers = { authorization: `Bearer ${annex.admin}`, 'content-type': contentType };
  const response = await fetch(`${annex.service.controlUrl}${path}`, { method: 'POST', headers, body });
  const { error } = (await response.json()) as { error: { code: string; message: string } };
  expect([response.status, error.code]).toEqual([400, 'REQUEST_INVALID']);
  return error.message;
}

test.each([
  ['{"kind": "admin",\n "planted": }', 'body is not JSON: at line 2, column 13, a value is expected.'],
  ['{"planted": "admin"', 'body is not JSON: at line 1, column 20, "," or "}" is expected.'],
  ["{'planted': 1}", 'body is not JSON: at line 1, column 2, a name in double quotes or "}" is expected.'],
  ['{"__proto__": "planted"}', 'body has a member "__proto__", or "constructor"'],
  ['{"constructor": {"prototype": "planted"}}', 'body has a member "__proto__", or "constructor"'],
])('an unreadable body is refused, quoting none of it: %s', async (body, said) => {
  const message = await refusal('/v1/tokens', 'application/json', body);
  expect(message).toContain(said);
  expect(message).not.toContain('planted');
});

test.each([
  ['JSON', 'application/json', '{}'],
  ['multipart without a boundary', 'multipart/form-data', 'x'],
  ['bytes', 'application/gzip', 'x'],
])('a publish that comes as %s is answered with how to send it', async (_, contentType, body) => {
  expect(await refusal('/v1/integrations', contentType, body)).toContain('curl -F archive=@upload.tar.gz');
});

test('each pattern of the description is refused in words', async () => {
  const { body } = await annex.api('GET', '/v1/openapi.json');
  const patterns = new Set(
    [...JSON.stringify(body).matchAll(/"pattern":("(?:[^"\\\\]|\\\\.)*")/g)].map(([, text = '']) =>
      JSON.parse(text),
    ),
  );
  expect(patterns.size).toBeGreaterThan(0);
  const refused = (pattern: string) =>
    faultText('body', [
      { keyword: 'pattern', instancePath: '/name', params: { pattern }, message: 'must match' },
    ]);
  expect([...patterns].filter((pattern) => refused(pattern).includes('must match'))).toEqual([]);
});

test.each([
  ['PUT', '/v1/events', 'No route PUT /v1/events. This path accepts GET, POST.'],
  [
    'GET',
    '/v1/deliveries/d-1/redeliver',
    'No route GET /v1/deliveries/d-1/redeliver. This path accepts POST.',
  ],
  ['GET', '/v1/deliveries//redeliver', 'No route GET /v1/deliveries//redeliver.'],
  ['GET', '/v1/event', 'No route GET /v1/event.'],
  ['GET', '/integrations', 'No route GET /integrations. Paths of the API begin with /v1.'],
  [
    'POST',
    '/integrations/x/installations',
    'No route POST /integrations/x/installations. Paths of the API begin with /v1.',
  ],
  ['GET', '/nothing', 'No route GET /nothing.'],
  ['GET', '/v2/events', 'No route GET /v2/events. Unsupported version v2: the API has v1 alone.'],
  ['POST', '/v01/events', 'No route POST /v01/events. Unsupported version v01: the API has v1 alone.'],
  ['GET', '/v1/v2/events', 'No route GET /v1/v2/events.'],
  [
    'POST',
    `/${'a'.repeat(32)}/v1`,
    `No route POST /${'a'.repeat(32)}/v1. This is the control listener; endpoints are on the public listener (--public-port, by default 7701).`,
  ],
])('%s %s is answered with what the path takes', async (method, path, message) => {
  const { status, body } = await annex.api(method, path);
  expect([status, body['error']]).toMatchObject([404, { code: 'ROUTE_UNKNOWN', message }]);
});

test.each(['/v1/integrations', '/v1', '/metrics', '/healthz?x', '/readyz'])(
  'a request to %s of the public listener is answered with the listener that has it',
  async (path) => {
    const response = await fetch(`${annex.service.publicUrl}${path}`);
    const { error } = (await response.json()) as { error: { code: string; message: string } };
    expect([response.status, error.code]).toEqual([404, 'ENDPOINT_UNKNOWN']);
    expect(error.message).toBe(
      'There is no endpoint at this URL. This is the public listener; the API is on the control listener (--control-port, by default 7700).',
    );
  },
);

test('an unknown endpoint is answered without such a hint', async () => {
  const response = await fetch(`${annex.service.publicUrl}/${'a'.repeat(32)}/v1x`);
  expect(await response.json()).toMatchObject({ error: { message: 'There is no endpoint at this URL.' } });
});

test('an unknown host is answered with the setting that names hosts', async () => {
  const ask = (url: string) =>
    exchange(url, 'GET /v1/integrations HTTP/1.1\r\nhost: annex.internal\r\nconnection: close\r\n\r\n');
  expect(errorOf(await ask(annex.service.controlUrl)).message).toBe(
    'This listener does not answer to "annex.internal": use an IP address or localhost, or name the host with --control-names (ANNEX_CONTROL_NAMES).',
  );
  const named = await startTestService({ flags: ['--public-url', 'https://hooks.example.com'] });
  expect(errorOf(await ask(named.service.publicUrl)).message).toBe(
    'This listener does not answer to "annex.internal": it answers to the host of --public-url (ANNEX_PUBLIC_URL).',
  );
});

test('a thrown text is logged with what shows its line, and the publish warns of its place', async () => {
  const source = 'export default {\n  fetch() { throw "no stack here"; },\n};';
  const published = await annex.tryPublish('thrower', { 'index.js': source });
  expect(published.body).toMatchObject({
    warnings: [{ file: 'index.js', line: 2, column: 13, message: expect.stringContaining('no Error') }],
  });
  const installed = await annex.install('thrower');
  await fetch(installed.endpoint);
  expect((await annex.log(installed)).map(({ text }) => text)).toContain(
    "'no stack here'\nOnly an Error has a stack: write `throw new Error(…)`, and the log shows the line that throws.",
  );
});

test('an invalid time is answered with a valid example', async () => {
  const { body } = await annex.api('GET', '/v1/deliveries?from=yesterday');
  expect(body['error']).toMatchObject({
    message: 'query.from must be a time, as "2026-01-31T09:00:00Z" is.',
  });
});

test('optional bodies are described as optional, all others as required', async () => {
  interface Operation {
    readonly requestBody?: { readonly required: boolean };
  }
  const { body } = await annex.api('GET', '/v1/openapi.json');
  const paths = Object.entries(body['paths'] as Record<string, Record<string, Operation>>);
  const optional = paths.filter(([, { post }]) => post?.requestBody?.required === false);
  const integration = '/v1/integrations/{name}';
  const at = `${integration}/installations/{id}`;
  const places = ['/spaces/{space}', '/sites/{site}'].map((place) => `${at}${place}`);
  expect(optional.map(([path]) => path).sort()).toEqual(
    [
      ...[at, ...places].flatMap((target) =>
        ['webhook-test', 'webhook/disable', 'webhook/enable', 'ui-tokens'].map((end) => `${target}/${end}`),
      ),
      ...[integration, at].map((owner) => `${owner}/storage/{key}/increment`),
      '/v1/statement-keys/rotate',
    ].sort(),
  );
  const operations = paths.flatMap(([, methods]) => Object.values(methods));
  const required = operations.filter(({ requestBody }) => requestBody?.required === true);
  expect(required.length).toBeGreaterThan(10);
  expect(JSON.stringify(operations)).not.toContain('x-body-optional');
});

test('each route of the description has an operation id and a tag, and a publish has its parts', async () => {
  interface Operation {
    readonly operationId: string;
    readonly tags: readonly string[];
    readonly requestBody?: { readonly content: Record<string, { schema: { properties: object } }> };
  }
  const { body } = await annex.api('GET', '/v1/openapi.json');
  const paths = body['paths'] as Record<string, Record<string, Operation>>;
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
  const names = operations.map(({ operationId }) => operationId);
  expect(new Set(names).size).toBe(names.length);
  for (const name of names) expect(name).toMatch(/^[a-z]+[A-Za-z0-9]+$/);
  for (const { tags } of operations) expect(tags).toEqual([expect.stringMatching(/^[a-z][a-z-]+$/)]);
  expect(paths['/v1/integrations/{name}/installations/{id}']?.['get']).toMatchObject({
    operationId: 'installationsGet',
    tags: ['installations'],
  });
  const content = paths['/v1/integrations']?.['post']?.requestBody?.content ?? {};
  expect(Object.keys(content)).toEqual(['multipart/form-data']);
  const { properties } = content['multipart/form-data']?.schema ?? { properties: {} };
  expect(Object.keys(properties)).toEqual([
    'manifest',
    'secrets',
    'files',
    'archive',
    'script',
    'overwriteSecrets',
    'env',
  ]);
});
