/**
 * Lowered limits of one integration: who may set them, which values are valid, and from when on
 * they hold.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DEFAULT_LIMITS, LOWERABLE_LIMITS } from '../../../src/limits.ts';
import { limitsUnder } from '../../../src/model/lowered-limits.ts';
import { type Installed, TestService } from '../../support/service.ts';
import { OPERATOR } from '../../support/store/temporary-store.ts';

let annex: TestService;
let installed: Installed;
let owner: string;
let stranger: string;
beforeAll(async () => {
  annex = await TestService.start();
  installed = await annex.deploy(
    'limited',
    `let calls = 0; export default { fetch() { calls += 1; return new Response('x'.repeat(1_000), { headers: { calls: String(calls) } }); } };`,
  );
  const token = async (organization: string) =>
    (await annex.service.store.tokens.create({ kind: 'organization', organization }, OPERATOR)).token;
  owner = await token('acme');
  stranger = await token('stranger');
});
afterAll(() => annex.stop());

const PATH = '/v1/integrations/limited/limits';
const put = (json: unknown, token = annex.admin) => annex.api('PUT', PATH, { json, token });
const errorOf = ({ status, body }: { status: number; body: Record<string, unknown> }) => {
  const { code, message } = (body['error'] ?? {}) as { code?: string; message?: string };
  return { status, code, message };
};

describe('limits of an integration', () => {
  test('are those of the deployment until the operator lowers some, and again when they are deleted', async () => {
    const all = Object.fromEntries(LOWERABLE_LIMITS.map((name) => [name, DEFAULT_LIMITS[name]]));
    expect((await annex.api('GET', PATH)).body).toEqual({ limits: all, deployment: all, lowered: [] });
    const lowered = { limits: { ...all, callCpuMs: 50 }, deployment: all, lowered: ['callCpuMs'] };
    expect(await put({ callCpuMs: 50 })).toEqual({ status: 200, body: lowered });
    expect((await annex.api('GET', PATH)).body).toEqual(lowered);
    expect((await put({ fetchMs: 100 })).body['lowered']).toEqual(['fetchMs']);
    // A publish leaves them as they are.
    await annex.publish('limited', {
      'index.js': `export default { fetch: () => new Response('x'.repeat(1_000)) };`,
    });
    expect((await annex.api('GET', PATH)).body['lowered']).toEqual(['fetchMs']);
    expect((await annex.api('DELETE', PATH)).status).toBe(204);
    expect((await annex.api('GET', PATH)).body).toEqual({ limits: all, deployment: all, lowered: [] });
  });

  test('are read by the owner, changed by the operator alone, and unknown to other organizations', async () => {
    expect((await annex.api('GET', PATH, { token: owner })).status).toBe(200);
    expect(errorOf(await annex.api('GET', PATH, { token: stranger }))).toMatchObject({
      status: 404,
      code: 'INTEGRATION_UNKNOWN',
    });
    for (const token of [owner, stranger, annex.platform]) {
      expect(errorOf(await put({}, token))).toMatchObject({ status: 403, code: 'TOKEN_FORBIDDEN' });
      expect(errorOf(await annex.api('DELETE', PATH, { token }))).toMatchObject({
        status: 403,
        code: 'TOKEN_FORBIDDEN',
      });
    }
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const unknown = await annex.api(
        method,
        '/v1/integrations/nobody/limits',
        method === 'PUT' ? { json: {} } : {},
      );
      expect(errorOf(unknown)).toMatchObject({ status: 404, code: 'INTEGRATION_UNKNOWN' });
    }
  });

  test('are whole numbers up to those of the deployment, and all mistakes are listed at once', async () => {
    const { callCpuMs } = DEFAULT_LIMITS;
    expect((await put({ callCpuMs, timersPerCall: 1, isolateHeapMib: 8 })).status).toBe(200);
    const wrong = await put({
      callCpuMs: callCpuMs + 1,
      timersPerCall: 0,
      isolateHeapMib: 7,
      fetchMs: 1.5,
      logLinesPerCall: '5',
      calCpuMs: 5,
      cellRssMib: 5,
    });
    const { status, code, message } = errorOf(wrong);
    expect([status, code]).toEqual([400, 'REQUEST_INVALID']);
    for (const problem of [
      "callCpuMs must be a whole number from 1 to 1000, the deployment's limit of 1,000 ms.",
      'timersPerCall must be a whole number from 1 to 1000',
      'isolateHeapMib must be a whole number from 8 to 128',
      'fetchMs must be a whole number',
      'logLinesPerCall must be a whole number',
      '"calCpuMs" is not a limit that an integration can have lowered. Did you mean "callCpuMs"?',
      '"cellRssMib" is not a limit that an integration can have lowered.',
    ])
      expect(message).toContain(problem);
    // Nothing has changed.
    expect((await annex.api('GET', PATH)).body['lowered']).toEqual(['isolateHeapMib', 'timersPerCall']);
    expect(errorOf(await put([]))).toMatchObject({ status: 400, code: 'REQUEST_INVALID' });
    const pollution = JSON.parse('{"__proto__": {"callCpuMs": 1}}');
    expect(errorOf(await put(pollution))).toMatchObject({ status: 400 });
    await annex.api('DELETE', PATH);
  });

  test('hold for calls that begin after the answer, in an isolate of their own, and for no other integration', async () => {
    const neighbour = await annex.deploy(
      'neighbour',
      `export default { fetch: () => new Response('x'.repeat(1_000)) };`,
    );
    const statuses = async () => [
      (await fetch(installed.endpoint)).status,
      (await fetch(neighbour.endpoint)).status,
    ];
    expect(await statuses()).toEqual([200, 200]);
    for (let turn = 0; turn < 3; turn += 1) {
      await put({ responseBodyBytes: 999 });
      expect(await statuses()).toEqual([502, 200]);
      await put({ responseBodyBytes: 1_000 });
      expect(await statuses()).toEqual([200, 200]);
    }
    await annex.api('DELETE', PATH);
    expect(await statuses()).toEqual([200, 200]);
    // The isolates with earlier limits were ended.
    await expect.poll(() => annex.metric('annex_isolates')).toBe(2);
  });
});

test('a limit of the deployment that was lowered later holds, even if the integration has a higher one', () => {
  const deployment = { ...DEFAULT_LIMITS, callCpuMs: 100 };
  expect(limitsUnder(deployment, { callCpuMs: 500 })).toBe(deployment);
  expect(limitsUnder(deployment, { callCpuMs: 99 }).callCpuMs).toBe(99);
});
