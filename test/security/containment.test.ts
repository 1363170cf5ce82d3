/**
 * A call cannot harm others: every limit ends it with its own answer; calls of a dead cell are
 * answered, and it is replaced.
 */
import { describe, expect, test } from 'vitest';
import { startTestService } from '../support/service.ts';

const answerOf = async (response: Promise<Response>) => {
  const settled = await response;
  const body = (await settled.json()) as { error?: { code: string; outcome?: string } };
  return [settled.status, body.error?.code, body.error?.outcome];
};

const WORKER = `
  let begun = 0;
  const BEHAVIOUR = {
    quick: () => new Response('ok'),
    async slow() { await new Promise((resolve) => setTimeout(resolve, 2_000)); return new Response('slow'); },
    spin() { for (;;); },
    async microtasks() { for (;;) await null; },
    async never() { begun += 1; await new Promise(() => {}); },
    begun: () => new Response(String(begun)),
    heap() { const kept = []; for (;;) kept.push({ n: kept.length, text: String(kept.length) }); },
    large: () => new Response('x'.repeat(2_000_000)),
    nothing: () => 'not a response',
    unhandled() { Promise.reject(new Error('not handled')); return new Response('ok'); },
    // Reading any property of the rejected value hangs the thread that reads it.
    trap() { Promise.reject(new Proxy(new Error('x'), { get() { for (;;); } })); return new Promise(() => {}); },
  };
  export default {
    async fetch(request) {
      const { request: { url } } = JSON.parse((await request.formData()).get('event'));
      return BEHAVIOUR[url.split('/').at(-1)]();
    },
  };`;

describe('a call that passes a limit', () => {
  test('is ended with an answer that names the limit, and its neighbour in the same cell is served', async () => {
    // On a busy machine a call waits for long until it has used its CPU.
    const [callWallMs, firstByteMs] = [240_000, 240_000];
    const annex = await startTestService({
      limits: { callCpuMs: 600, callWallMs, firstByteMs, isolateHeapMib: 16, responseBodyBytes: 1_000_000 },
    });
    for (const name of ['worker', 'neighbour']) await annex.publish(name, { 'index.js': WORKER });
    const [hostile, neighbour] = [await annex.install('worker'), await annex.install('neighbour')];
    const lower = (json: object) => annex.api('PUT', '/v1/integrations/worker/limits', { json });
    const go = (what: string) => fetch(`${hostile.endpoint}/${what}`);
    const pids = annex.cellPids;

    const expected: [string, unknown[]][] = [
      ['spin', [503, 'ISOLATE_LIMIT_EXCEEDED', 'exceededCpu']],
      ['microtasks', [503, 'ISOLATE_LIMIT_EXCEEDED', 'exceededCpu']],
      ['heap', [503, 'ISOLATE_LIMIT_EXCEEDED', 'exceededMemory']],
      ['never', [504, 'CALL_TIMED_OUT', 'exceededWallTime']],
      ['large', [502, 'INTEGRATION_RESPONSE_TOO_LARGE', 'responseTooLarge']],
      ['nothing', [500, 'INTEGRATION_EXCEPTION', 'exception']],
    ];
    for (const [what, answer] of expected) {
      await lower(what === 'never' ? { callWallMs: 2_000 } : {});
      const attack = answerOf(go(what));
      const bystander = await fetch(`${neighbour.endpoint}/quick`);
      expect([what, await bystander.text()]).toEqual([what, 'ok']);
      expect([what, await attack]).toEqual([what, answer]);
      await lower({});
      // The same installation works again at once, in a new isolate where the old one has been
      // disposed of.
      expect(await (await go('quick')).text()).toBe('ok');
    }
    // The installation may have moved to another cell because it spins; none has died.
    expect(annex.cellPids).toEqual(expect.arrayContaining(pids));

    const texts = (await annex.log(hostile)).map(({ text }) => text);
    for (const part of [
      ' ms of CPU; the limit is 600 ms (callCpuMs)',
      'ran out of memory; the limit is 16 MiB (isolateHeapMib)',
      'the limit is 2,000 ms (callWallMs)',
      'has 2,000,000 bytes; the limit is 1,000,000 bytes (responseBodyBytes)',
    ]) {
      expect(texts).toContainEqual(expect.stringContaining(part));
    }
    expect(await annex.metric('annex_calls_total{outcome="exceededCpu"}')).toBe(2);
    expect(await annex.metric('annex_calls_total{outcome="exceededMemory"}')).toBe(1);
  });

  test.each([
    ['many buffers', 'const all = []; for (;;) all.push(new ArrayBuffer(1_000_000));'],
    ['one buffer', 'new ArrayBuffer(2 ** 32);'],
  ])(
    'out of memory with %s is exceededMemory in log and metrics, though the code hides it',
    async (_, code) => {
      const annex = await startTestService({ limits: { isolateHeapMib: 16 } });
      const source = `export default { fetch() { try { ${code} } catch {} return new Response('fine'); } };`;
      const installed = await annex.deploy('hides', source);
      await (await fetch(installed.endpoint)).text();
      await expect.poll(() => annex.metric('annex_calls_total{outcome="exceededMemory"}')).toBe(1);
      expect(await annex.log(installed)).toContainEqual(
        expect.objectContaining({ level: 'error', text: expect.stringContaining('exceededMemory') }),
      );
    },
  );

  test('ends alone: a call that waits for the same isolate runs in the next one', async () => {
    const annex = await startTestService({ limits: { callCpuMs: 200 } });
    const { endpoint } = await annex.deploy('worker', WORKER);
    await fetch(`${endpoint}/quick`);
    const spin = answerOf(fetch(`${endpoint}/spin`));
    const waiting = await Promise.all(Array.from({ length: 8 }, () => fetch(`${endpoint}/quick`)));
    expect(waiting.map(({ status }) => status)).toEqual(Array(8).fill(200));
    expect(await spin).toEqual([503, 'ISOLATE_LIMIT_EXCEEDED', 'exceededCpu']);
  });

  test('with an unhandled rejection has it in the log, and still answers', async () => {
    const annex = await startTestService();
    const worker = await annex.deploy('worker', WORKER);
    expect(await (await fetch(`${worker.endpoint}/unhandled`)).text()).toBe('ok');
    await expect
      .poll(() => annex.log(worker))
      .toMatchObject([
        {
          level: 'error',
          text: expect.stringMatching(
            /^Unhandled promise rejection: Error: not handled(?:\n {4}at (?:[\w.]+ \()?index\.js:\d+:\d+\)?)+$/,
          ),
        },
      ]);
  });

  test('and cannot be interrupted by the engine ends its cell, not the service', async () => {
    const annex = await startTestService({ limits: { callCpuMs: 200 } });
    await annex.publish('worker', { 'index.js': WORKER });
    const [hostile, neighbour] = [await annex.install('worker'), await annex.install('worker')];
    const pids = annex.cellPids;
    expect((await answerOf(fetch(`${hostile.endpoint}/trap`)))[0]).toBe(503);
    await expect.poll(() => annex.cellPids).not.toEqual(pids);
    expect(await (await fetch(`${neighbour.endpoint}/quick`)).text()).toBe('ok');
  });
});

test('a call has a limit for its answer, shorter than the one for its end', async () => {
  const annex = await startTestService({ limits: { firstByteMs: 1_500, callWallMs: 60_000 } });
  const late = await annex.deploy(
    'late',
    `export default { fetch(request, env, ctx) {
       ctx.waitUntil(new Promise((resolve) => setTimeout(resolve, 2_000)).then(() => console.log('finished')));
       return new Response('in time');
     } };`,
  );
  expect(await (await fetch(late.endpoint)).text()).toBe('in time');
  await expect.poll(() => annex.log(late)).toMatchObject([{ text: 'finished' }]);
  const never = await annex.deploy('never', 'export default { fetch: () => new Promise(() => {}) };');
  expect(await answerOf(fetch(never.endpoint))).toEqual([504, 'CALL_TIMED_OUT', 'exceededWallTime']);
  await expect
    .poll(() => annex.log(never))
    .toContainEqual(expect.objectContaining({ text: expect.stringContaining('(firstByteMs)') }));
});

describe('a cell killed with 100 calls in flight', () => {
  test('has every call answered long before its limits, is replaced, and the host never restarts', async () => {
    // With these, a call whose answer is lost fails the test at its own deadline.
    const annex = await startTestService({ limits: { callWallMs: 600_000, firstByteMs: 600_000 } });
    await annex.publish('worker', { 'index.js': WORKER });
    const installed = await Promise.all(Array.from({ length: 5 }, () => annex.install('worker')));
    for (const { endpoint } of installed) await fetch(`${endpoint}/quick`);
    const calls = installed.flatMap(({ endpoint }) =>
      Array.from({ length: 20 }, () =>
        fetch(`${endpoint}/never`).then(async (r) => [r.status, await r.json()]),
      ),
    );
    // All of them have begun: a call that has not would be resubmitted to the next cell.
    const begun = (endpoint: string) => fetch(`${endpoint}/begun`).then((answer) => answer.text());
    for (const { endpoint } of installed) await expect.poll(() => begun(endpoint)).toBe('20');
    expect(await annex.metric('annex_calls_in_flight')).toBe(100);
    const [pid = 0] = annex.cellPids;
    process.kill(pid, 'SIGKILL');
    const answers = await Promise.all(calls);
    for (const [status, body] of answers) {
      expect([status, (body as { error: { code: string } }).error.code]).toEqual([503, 'CELL_CRASHED']);
    }
    const next = await Promise.all(installed.map(({ endpoint }) => fetch(`${endpoint}/quick`)));
    expect(next.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect(annex.cellPids).not.toEqual([pid]);
    expect(await annex.metric('annex_calls_total{outcome="cellCrashed"}')).toBe(100);
  });
});

describe('too many calls of one installation', () => {
  test('wait up to a bound, and are then refused with Retry-After; each installation has its own bound', async () => {
    const annex = await startTestService({
      limits: { callsInFlightPerInstallation: 2, callsWaitingPerInstallation: 3 },
    });
    await annex.publish('worker', { 'index.js': WORKER });
    const [busy, other] = [await annex.install('worker'), await annex.install('worker')];
    const responses = await Promise.all([
      ...Array.from({ length: 6 }, () => fetch(`${busy.endpoint}/slow`)),
      fetch(`${other.endpoint}/quick`),
    ]);
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 200, 200, 503]);
    const shed = responses.find(({ status }) => status === 503);
    expect(shed?.headers.get('retry-after')).toBe('1');
    expect(await shed?.json()).toMatchObject({ error: { code: 'CALL_SHED' } });
    expect(responses.at(-1)?.status).toBe(200);
  });
});

describe('a stop', () => {
  test('finishes the call in flight, refuses new ones, and releases everything', async () => {
    const annex = await startTestService();
    const { endpoint } = await annex.deploy('worker', WORKER);
    const slow = fetch(`${endpoint}/slow`);
    await expect.poll(() => annex.metric('annex_calls_in_flight')).toBe(1);
    const stopped = annex.stop();
    expect(await (await slow).text()).toBe('slow');
    await stopped;
    await expect(fetch(`${endpoint}/quick`)).rejects.toThrow();
    for (const pid of annex.cellPids) expect(() => process.kill(pid, 0)).toThrow();
  });
});
