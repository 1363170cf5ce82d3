/**
 * Completions: the options of a property, from the integration; its request, and the checks of its
 * answer.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  COMPLETIONS_BYTES_MAX,
  LABEL_CHARS_MAX,
  OPTIONS_MAX,
  VALUE_CHARS_MAX,
} from '../../../src/model/completion-options.ts';
import { type Installed, startTestService, TestService } from '../../support/service.ts';
import { OPERATOR } from '../../support/store/temporary-store.ts';

const COMPLETION_MS = 3_000;

/** The answer of each property's path, by name of the property. */
const ANSWERS = {
  echo: `Response.json([{ label: request.method + ' ' + new URL(request.url).search, value: request.headers.get('accept') }])`,
  where: `Response.json([{ label: environment.installation.id, value: new URL(request.url).pathname.split('/').at(-1) }])`,
  most: `Response.json(Array.from({ length: ${OPTIONS_MAX} }, () => option()))`,
  longest: `Response.json([option('l'.repeat(${LABEL_CHARS_MAX}), 'v'.repeat(${VALUE_CHARS_MAX}))])`,
  more: `Response.json([{ label: 'a', value: 'b', icon: 'x', __proto__: { evil: 1 } }])`,
  none: `Response.json([])`,
  text: `new Response('repositories: none')`,
  nothing: `new Response(null)`,
  noUtf8: `new Response(new Uint8Array([0x5b, 0x22, 0xff, 0x22, 0x5d]))`,
  object: `Response.json({ options: [] })`,
  absent: `Response.json([option(), { label: 'a' }])`,
  number: `Response.json([option(), option(), option(), { label: 7, value: 'b' }])`,
  nested: `Response.json([{ label: { toString: 'a' }, value: 'b' }])`,
  list: `Response.json([[]])`,
  nulls: `Response.json([null])`,
  longLabel: `Response.json([option('l'.repeat(${LABEL_CHARS_MAX + 1}))])`,
  longValue: `Response.json([option('a', 'v'.repeat(${VALUE_CHARS_MAX + 1}))])`,
  tooMany: `Response.json(Array.from({ length: ${OPTIONS_MAX + 1} }, () => option()))`,
  huge: `new Response('[' + ' '.repeat(${COMPLETIONS_BYTES_MAX}) + ']')`,
  flood: `new Response(new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(65536)) }))`,
  deep: `new Response('['.repeat(${COMPLETIONS_BYTES_MAX}))`,
  failed: `new Response('[]', { status: 500 })`,
  redirect: `new Response(null, { status: 302, headers: { location: 'http://127.0.0.1:1/' } })`,
  broken: `new Response(new ReadableStream({ start(controller) { controller.enqueue(new TextEncoder().encode('[')); controller.error(new Error('no')); } }))`,
  throws: `(() => { throw new Error('no choices today'); })()`,
  slow: `new Promise((resolve) => setTimeout(() => resolve(Response.json([])), ${COMPLETION_MS + 200}))`,
  trickle: `new Response(new ReadableStream({ async pull(controller) { await new Promise((go) => setTimeout(go, 50)); controller.enqueue(new TextEncoder().encode(' ')); } }))`,
  burns: `(() => { for (;;); })()`,
};
const NAMES = Object.keys(ANSWERS);

const SOURCE = `
  import { createIntegration } from '@annex/sdk';
  const option = (label = 'a', value = 'b') => ({ label, value });
  export default createIntegration({
    fetch(request, { environment }) {
      switch (new URL(request.url).pathname.split('/').at(-1)) {
        ${NAMES.map((name) => `case '${name}': return ${ANSWERS[name as keyof typeof ANSWERS]};`).join('\n')}
      }
      return Response.json(environment.apiTokens);
    },
  });`;
const properties = NAMES.map((name) => `${name}: { type: string, completion_url: /choices/${name} }`);
const MANIFEST = `
configurations:
  account:
    properties:
      ${properties.join('\n      ')}
      plain: { type: string }
      button: { type: button, callback_url: /choices/echo }
  space:
    properties:
      where: { type: string, completion_url: choices/where }
`;

let annex: TestService;
let installed: Installed;
let url: string;
beforeAll(async () => {
  annex = await TestService.start({ limits: { completionMs: COMPLETION_MS, callCpuMs: 150 } });
  await annex.publish('choices', { 'index.js': SOURCE }, MANIFEST);
  installed = await annex.install('choices', 'rival');
  url = `/v1/integrations/choices/installations/${installed.id}`;
});
afterAll(() => annex.stop());

interface Answer {
  readonly status: number;
  readonly body: {
    readonly options?: unknown[];
    readonly error?: { readonly code: string; readonly message: string; readonly limit?: object };
  };
}

/** A fresh installation, for tests with lasting effects. */
const freshly = async (): Promise<Installed> => annex.install('choices');

const ask = async (body: object, options: { token?: string; at?: string } = {}): Promise<Answer> => {
  const { at = url, ...rest } = options;
  return (await annex.api('POST', `${at}/completions`, { json: body, ...rest })) as Answer;
};

describe('options', () => {
  test('are requested with any text that the user typed', async () => {
    expect(await ask({ property: 'echo' })).toEqual({
      status: 200,
      body: { options: [{ label: 'GET ', value: 'application/json' }] },
    });
    const { body } = await ask({ property: 'echo', search: 'a&b=c #?%\n"\ud800' });
    expect(body.options).toMatchObject([{ label: 'GET ?search=a%26b%3Dc%20%23%3F%25%0A%22%EF%BF%BD' }]);
  });

  test('are bounded in number and length', async () => {
    expect((await ask({ property: 'most' })).body.options).toHaveLength(OPTIONS_MAX);
    expect((await ask({ property: 'longest' })).body.options).toEqual([
      { label: 'l'.repeat(LABEL_CHARS_MAX), value: 'v'.repeat(VALUE_CHARS_MAX) },
    ]);
    expect((await ask({ property: 'none' })).body.options).toEqual([]);
  });

  test('have only their text: other members are left out', async () => {
    expect((await ask({ property: 'more' })).body.options).toEqual([{ label: 'a', value: 'b' }]);
  });

  test('of a space come from the endpoint of the space', async () => {
    expect((await annex.api('POST', `${url}/spaces`, { json: { space: 's1' } })).status).toBe(201);
    const at = `${url}/spaces/s1`;
    expect((await ask({ property: 'where' }, { at })).body.options).toEqual([
      { label: installed.id, value: 'where' },
    ]);
    // The space has its own configuration.
    expect((await ask({ property: 'echo' }, { at })).body.error?.code).toBe('PROPERTY_UNKNOWN');
  });
});

describe('an invalid answer is refused, with the reason in the log, if it', () => {
  test.each([
    ['is no JSON', 'text', 'a text that is not JSON'],
    ['is empty', 'nothing', 'a text that is not JSON'],
    ['is no UTF-8', 'noUtf8', 'a text that is not JSON'],
    ['is no list', 'object', 'an object instead of a list'],
    ['lacks a value', 'absent', '[1].value that is missing'],
    ['has a number', 'number', '[3].label that is a number, not text'],
    ['has an object for a label', 'nested', '[0].label that is an object, not text'],
    ['has a list for an option', 'list', '[0] that is a list, not an object'],
    ['has null for an option', 'nulls', '[0] that is null, not an object'],
    ['has a label that is too long', 'longLabel', `[0].label of ${LABEL_CHARS_MAX + 1} characters`],
    ['has a value that is too long', 'longValue', `[0].value of ${VALUE_CHARS_MAX + 1} characters`],
    ['has one option too many', 'tooMany', `${OPTIONS_MAX + 1} options`],
    ['is too large', 'huge', 'more than 256 KiB'],
    ['never ends', 'flood', 'more than 256 KiB'],
    ['is nested as deep as it is long', 'deep', 'a text that is not JSON'],
    ['is of another status', 'failed', 'status 500 instead of 200'],
    ['redirects', 'redirect', 'status 302 instead of 200'],
    ['breaks off', 'broken', 'an incomplete body'],
    ['is what the SDK says of a handler that throws', 'throws', 'status 500 instead of 200'],
  ])('%s', async (_what, property, why) => {
    const at = await freshly();
    const answer = await ask({ property }, { at: `/v1/integrations/choices/installations/${at.id}` });
    expect([answer.status, answer.body.error?.code]).toEqual([502, 'COMPLETIONS_INVALID']);
    expect(answer.body.error?.message).toContain(why);
    const refused = `error: The options of "${property}" were refused: The integration answered`;
    const lines = async () => (await annex.log(at)).map(({ level, text }) => `${level}: ${text}`);
    // An answer that breaks off may be refused before the line of its call is written.
    await expect.poll(lines).toContainEqual(expect.stringContaining(refused));
    await expect.poll(async () => (await lines()).join()).toContain(why);
  });
});

describe('a call without an answer', () => {
  test('that exceeds its CPU limit ends as any other does', async () => {
    // On a busy machine it waits for long until it has used its CPU.
    const patient = await startTestService({ limits: { completionMs: 120_000, callCpuMs: 150 } });
    await patient.publish('choices', { 'index.js': SOURCE }, MANIFEST);
    const { id } = await patient.install('choices', 'rival');
    const at = `/v1/integrations/choices/installations/${id}/completions`;
    const answer = (await patient.api('POST', at, { json: { property: 'burns' } })) as Answer;
    expect([answer.status, answer.body.error?.code]).toEqual([503, 'ISOLATE_LIMIT_EXCEEDED']);
    expect(answer.body.error?.limit).toMatchObject({ name: 'callCpuMs' });
  });

  test.each(['slow', 'trickle'])('in time (%s) is given up, and completionMs is named', async (property) => {
    const at = await freshly();
    const startedAt = performance.now();
    const answer = await ask({ property }, { at: `/v1/integrations/choices/installations/${at.id}` });
    expect([answer.status, answer.body.error?.code]).toEqual([504, 'CALL_TIMED_OUT']);
    expect(answer.body.error?.limit).toEqual({ name: 'completionMs', max: COMPLETION_MS });
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(COMPLETION_MS);
    expect((await annex.log(at)).map(({ text }) => text).join()).toContain('(completionMs)');
  });

  test.each(['slow', 'trickle'])('whose client has disconnected (%s) is ended silently', async (property) => {
    const at = await freshly();
    const canceled = () => annex.metric('annex_calls_total{outcome="canceled"}');
    const before = await canceled();
    const typing = new AbortController();
    const answered = fetch(
      `${annex.service.controlUrl}/v1/integrations/choices/installations/${at.id}/completions`,
      {
        method: 'POST',
        headers: { authorization: `Bearer ${annex.admin}`, 'content-type': 'application/json' },
        body: JSON.stringify({ property }),
        signal: typing.signal,
      },
    ).catch(() => 'given up');
    await expect.poll(() => annex.metric('annex_calls_in_flight')).toBeGreaterThan(0);
    typing.abort();
    expect(await answered).toBe('given up');
    await expect.poll(canceled).toBe(before + 1);
    expect((await annex.log(at)).map(({ text }) => text).join()).not.toContain('not taken');
  });

  test('does not shorten other calls of the integration', async () => {
    expect((await fetch(`${installed.endpoint}/choices/slow`)).status).toBe(200);
  });
});

describe('a request is refused', () => {
  test.each([
    ['of a property that is not there', { property: 'nobody' }, 404, 'PROPERTY_UNKNOWN'],
    ['of one that has no completion', { property: 'plain' }, 404, 'PROPERTY_UNKNOWN'],
    ['of a button', { property: 'button' }, 404, 'PROPERTY_UNKNOWN'],
    ['of what every object has', { property: '__proto__' }, 404, 'PROPERTY_UNKNOWN'],
    ['with a search that is too long', { property: 'echo', search: 'x'.repeat(257) }, 400, 'REQUEST_INVALID'],
    ['without a property', {}, 400, 'REQUEST_INVALID'],
    ['with more than that', { property: 'echo', path: '/other' }, 400, 'REQUEST_INVALID'],
  ])('%s', async (_what, body, status, code) => {
    const answer = await ask(body);
    expect([answer.status, answer.body.error?.code]).toEqual([status, code]);
    expect((await ask({ property: 'none', search: 'x'.repeat(256) })).status).toBe(200);
  });

  test('if the caller may not edit the installation', async () => {
    const { tokens } = annex.service.store;
    const member = async (organization: string) =>
      (await tokens.create({ kind: 'organization', organization }, OPERATOR)).token;
    const runtime = (await (await fetch(installed.endpoint)).json()) as { installation: string };
    const asked = async (token: string) => (await ask({ property: 'echo' }, { token })).status;
    expect(runtime.installation).toEqual(expect.any(String));
    expect(await asked(await member('rival'))).toBe(200);
    expect(await asked(annex.platform)).toBe(200);
    expect(await asked(await member('acme'))).toBe(404);
    expect(await asked(runtime.installation)).toBe(403);
  });

  test('while the installation is paused', async () => {
    const at = await freshly();
    const path = `/v1/integrations/choices/installations/${at.id}`;
    expect((await annex.api('POST', `${path}/pause`)).status).toBe(200);
    expect((await ask({ property: 'echo' }, { at: path })).body.error?.code).toBe('ENDPOINT_PAUSED');
    expect((await annex.api('POST', `${path}/resume`)).status).toBe(200);
    expect((await ask({ property: 'echo' }, { at: path })).status).toBe(200);
  });
});

test('attack: nested completions end at callDepth', async () => {
  const own = await startTestService({ limits: { callDepth: 3 } });
  const { token } = await own.service.store.tokens.create({ kind: 'platform' }, OPERATOR);
  const source = `
    import { createIntegration } from '@annex/sdk';
    export default createIntegration({
      async fetch(request, { environment }) {
        const { id } = environment.installation;
        const at = environment.apiEndpoint + '/integrations/loop/installations/' + id + '/completions';
        const headers = { authorization: 'Bearer ${token}', 'content-type': 'application/json' };
        const inner = await fetch(at, { method: 'POST', headers, body: '{"property":"again"}' });
        const { options, error } = await inner.json();
        const label = error ? error.code : options[0].label + '+';
        return Response.json([{ label, value: 'x' }]);
      },
    });`;
  const manifest =
    'configurations:\n  account:\n    properties:\n      again: { type: string, completion_url: /a }\n';
  await own.publish('loop', { 'index.js': source }, manifest);
  const { id } = await own.install('loop');
  const json = { property: 'again' };
  const { body } = await own.api('POST', `/v1/integrations/loop/installations/${id}/completions`, { json });
  // Depths 0 to 3 are calls.
  expect(body).toEqual({ options: [{ label: 'CALL_TOO_DEEP+++', value: 'x' }] });
});
