/**
 * Calls of the product: its backend asks an installation, and the code answers
 * (docs/contract/calls.md#calls-of-the-product). With the typed client, over HTTP.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Annex, AnnexError } from '../../../packages/client/src/index.ts';
import { type Installed, TestService } from '../../support/service.ts';

const MANIFEST = `target: all
calls:
  - name: invoice.total
    description: The total of an invoice.
  - {name: environment}
  - {name: refuse}
  - {name: throw}
  - {name: endless, timeout: 1s}
  - {name: big}
  - {name: nothing}
  - {name: unhandled}
configurations:
  account: &settings
    properties:
      rate: {type: number, title: Rate, description: d, default: 2}
  space: *settings
`;
const CODE = `import { createIntegration, ExposableError } from '@annex/sdk';
export default createIntegration({
  calls: {
    'invoice.total': ({ amounts }, { environment }) => ({
      total: amounts.reduce((sum, each) => sum + each, 0) * environment.installation.configuration.rate,
    }),
    environment: (input, { environment }) => ({ input, space: environment.space }),
    refuse({ status }) { throw new ExposableError('The invoice is closed', status); },
    throw() { throw new Error('the secret reason'); },
    endless: () => new Promise(() => {}),
    big: ({ bytes }) => 'x'.repeat(bytes),
    nothing() {},
    undeclared: () => 'called',
  },
});`;
const WORKER = `export default {
  async fetch(request) {
    const form = await request.formData();
    const { type, call, input } = JSON.parse(form.get('event'));
    if (input.text) return new Response(input.text, { status: input.status ?? 200 });
    return Response.json({ type, call, input });
  },
};`;

let service: TestService;
let annex: Annex;
let here: Installed;
let plain: Installed;
beforeAll(async () => {
  service = await TestService.start();
  await service.publish('billing', { 'index.js': CODE }, MANIFEST);
  await service.publish('worker', { 'index.js': WORKER }, 'calls: [{name: any}]\n');
  here = await service.install('billing');
  plain = await service.install('worker');
  await service.installBelow('billing', here, 'space', 'sp-1');
  annex = new Annex({ url: service.service.controlUrl, token: service.admin, retries: 0 });
});
afterAll(() => service.stop());

const ask = <Answer = unknown>(call: string, input: Record<string, unknown> = {}) =>
  annex.installations.call<Answer>('billing', here.id, call, input);
const refusal = async (asked: PromiseLike<unknown>) => {
  const error = await Promise.resolve(asked).then(
    () => undefined,
    (cause: unknown) => cause,
  );
  if (!(error instanceof AnnexError)) throw new Error(`was answered, or failed otherwise: ${error}`);
  return { status: error.status, code: error.code, message: error.message };
};

describe('a call of the product', () => {
  test('is answered by the code, with its environment, and typed by its caller', async () => {
    const { total } = await ask<{ total: number }>('invoice.total', { amounts: [1, 2] });
    expect(total).toBe(6);
    expect(await ask('nothing')).toBeNull();
  });

  test('of a space is a call of that space', async () => {
    const input = { deep: { list: [null] }, call: 'x', installationId: 'other' };
    expect(await annex.spaces.call('billing', here.id, 'sp-1', 'environment', input)).toEqual({
      ...{ input, space: 'sp-1' },
    });
  });

  test('reaches a module worker as an event of the type call', async () => {
    expect(await annex.installations.call('worker', plain.id, 'any', { a: 1 })).toEqual({
      ...{ type: 'call', call: 'any', input: { a: 1 } },
    });
  });

  test('that the manifest does not declare is refused before the code is called', async () => {
    expect(await refusal(ask('undeclared'))).toEqual({
      status: 404,
      code: 'CALL_UNKNOWN',
      message: expect.stringContaining('has no call "undeclared"; its manifest has "invoice.total"'),
    });
    expect(await refusal(ask('a/../../pause'))).toMatchObject({ status: 400 });
  });

  test('that the code does not handle is a fault of the integration', async () => {
    expect(await refusal(ask('unhandled'))).toMatchObject({ status: 502, code: 'ANSWER_INVALID' });
  });

  test.each([400, 409, 422])('that the code refuses with %i has its status and its words', async (status) => {
    expect(await refusal(ask('refuse', { status }))).toEqual({
      ...{ status, code: 'CALL_REFUSED' },
      message: 'The integration refused "refuse": The invoice is closed',
    });
  });

  test.each([
    ['throw', {}],
    ['refuse', { status: 503 }],
    ['refuse', { status: 'none' }],
  ])('that fails (%s %j) says so, and its reason is in the log alone', async (call, input) => {
    const { status, code, message } = await refusal(ask(call, input));
    expect({ status, code }).toEqual({ status: 502, code: 'CALL_FAILED' });
    expect(message).not.toMatch(/secret|closed/);
  });

  test('ends after the time of the manifest', async () => {
    expect(await refusal(ask('endless'))).toMatchObject({
      ...{ status: 504, code: 'CALL_TIMED_OUT', message: expect.stringContaining('1') },
    });
  });

  test('ends with the patience of its client', async () => {
    const asked = annex.installations.call('billing', here.id, 'endless', {}, { timeoutMs: 200 });
    await expect(Promise.resolve(asked)).rejects.toThrow();
  });

  test.each(['not JSON', '{"a":', '['.repeat(10_000)])('with the answer %.10s is refused', async (text) => {
    expect(await refusal(annex.installations.call('worker', plain.id, 'any', { text }))).toMatchObject({
      ...{ status: 502, code: 'ANSWER_INVALID' },
    });
  });

  test('may have an answer of a mebibyte, and none that is larger', async () => {
    const max = 1024 * 1024;
    expect(await ask('big', { bytes: max - 2 })).toHaveLength(max - 2);
    expect(await refusal(ask('big', { bytes: max - 1 }))).toMatchObject({ code: 'ANSWER_INVALID' });
  });

  test('with an input over the limit is refused', async () => {
    const small = await TestService.start({ limits: { envelopePartBytes: 4_096 } });
    await small.publish('worker', { 'index.js': WORKER }, 'calls: [{name: any}]\n');
    const { id } = await small.install('worker');
    const client = new Annex({ url: small.service.controlUrl, token: small.admin, retries: 0 });
    for (const chars of [4_000, 5_000])
      expect(
        await refusal(client.installations.call('worker', id, 'any', { x: 'x'.repeat(chars) })),
      ).toMatchObject({ status: 413, code: 'REQUEST_TOO_LARGE' });
    await small.stop();
  });

  test('of a paused installation is refused', async () => {
    const paused = await service.install('billing');
    await annex.installations.pause('billing', paused.id);
    expect(await refusal(annex.installations.call('billing', paused.id, 'nothing', {}))).toMatchObject({
      ...{ status: 503, code: 'ENDPOINT_PAUSED' },
    });
  });
});

// Attack: a client of the public endpoint whose request the code takes for one of the product.
test('raw traffic cannot make a call', async () => {
  const form = new FormData();
  form.append('event', JSON.stringify({ type: 'call', call: 'nothing', input: {} }));
  form.append('environment', '{}');
  expect((await fetch(`${here.endpoint}/v1`, { method: 'POST', body: form })).status).toBe(401);
  const raw = await fetch(`${here.endpoint}/calls/nothing`, { method: 'POST', body: '{}' });
  expect(raw.status).toBe(400);
});
