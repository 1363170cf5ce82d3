/**
 * A call that ends leaves nothing running, whatever it has begun, and is charged what it used until
 * then.
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { portOf, stop } from '../../support/http/egress.ts';
import { lower } from '../../support/limit-table.ts';
import { type Installed, TestService } from '../../support/service.ts';

/** Never answers. */
const silent = createServer((request) => void request.resume());
let annex: TestService;
let base: string;
beforeAll(async () => {
  const port = await portOf(silent);
  base = `http://127.0.0.1:${port}/`;
  annex = await TestService.start({
    limits: { callCpuMs: 300, breachesBeforeCoolDown: 1_000 },
    flags: ['--egress-allow', `127.0.0.1:${port}`],
  });
});
afterAll(async () => {
  await annex.stop();
  stop(silent);
});

/** Counts background work in `done`; `?done` returns the count. */
const deployed = (name: string, body: string): Promise<Installed> =>
  annex.deploy(
    name,
    `import { createIntegration } from '@annex/sdk';
     let done = 0;
     export default createIntegration({ async fetch(request, { waitUntil }) {
       if (request.url.endsWith('?done')) return new Response(String(done));
       ${body}
     } });`,
  );

const doneBy = async ({ endpoint }: Installed): Promise<string> => {
  const response = await fetch(`${endpoint}/?done`);
  return `${response.status} ${await response.text()}`;
};

/** CPU of all cells so far, in clock ticks of the system. */
function cellTicks(): number {
  const fieldsOf = (pid: number) =>
    readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return annex.cellPids
    .map(fieldsOf)
    .reduce((sum, fields) => sum + Number(fields[11] ?? 0) + Number(fields[12] ?? 0), 0);
}

/** No call is in flight, and the cells are idle: they use less than half of a tenth of a second. */
async function nothingRuns(): Promise<void> {
  await expect.poll(() => annex.metric('annex_calls_in_flight')).toBe(0);
  const used = async () => {
    const before = cellTicks();
    await new Promise((next) => setTimeout(next, 100));
    return cellTicks() - before;
  };
  await expect.poll(used).toBeLessThan(5);
}

const LEFT: [what: string, body: string, outcome: 'ok' | 'exceededCpu'][] = [
  ['a loop of microtasks', '(async () => { for (;;) await null; })();', 'exceededCpu'],
  ['an interval', 'setInterval(() => { done += 1; }, 1);', 'ok'],
  [
    'a stream that is filled without a reader',
    `const { writable } = new TransformStream(); const writer = writable.getWriter();
     (async () => { for (;;) { await writer.write('x'); done += 1; } })();`,
    'ok',
  ],
  [
    'a fetch that is made again whenever it fails',
    'const again = () => { done += 1; return fetch(BASE).then(again, again); }; again();',
    'exceededCpu',
  ],
  [
    'a fetch whose failure starts an interval',
    'fetch(BASE).catch(() => setInterval(() => { done += 1; }, 1));',
    'ok',
  ],
];

describe('a call that answers and leaves behind', () => {
  test.each(LEFT)(
    '%s behind is answered; then nothing runs, and nothing is charged to the next call',
    async (what, body, outcome) => {
      const left = await deployed(
        what.replaceAll(' ', '-'),
        `${body.replace('BASE', `'${base}'`)} return new Response('answered');`,
      );
      const ended = () => annex.metric(`annex_calls_total{outcome="${outcome}"}`);
      const before = await ended();
      const response = await fetch(left.endpoint);
      expect([response.status, await response.text()]).toEqual([200, 'answered']);
      await nothingRuns();
      expect(await ended()).toBe(before + 1);
      const first = await doneBy(left);
      expect(first).toMatch(/^200 \d+$/);
      // Where the isolate lives on, it has done no more meanwhile.
      expect(await doneBy(left)).toBe(first);
    },
  );
});

describe('a call whose client disconnects', () => {
  /** Sends a request, waits until its call is in flight, and disconnects. */
  async function leave({ endpoint }: Installed, meanwhile = async (): Promise<void> => {}): Promise<void> {
    const client = new AbortController();
    const call = fetch(endpoint, { signal: client.signal });
    const underWay = () => annex.metric('annex_calls_in_flight');
    await expect.poll(underWay).toBe(1);
    await meanwhile();
    client.abort();
    await expect(call).rejects.toThrow();
  }

  test('in the middle of an endless stream stops producing it', async () => {
    const streaming = await deployed(
      'streaming',
      `return new Response(new ReadableStream({ async pull(controller) { done += 1; await null; controller.enqueue(new Uint8Array(1_000)); } }));`,
    );
    const client = new AbortController();
    const response = await fetch(streaming.endpoint, { signal: client.signal });
    await response.body?.getReader().read();
    client.abort();
    await nothingRuns();
    const first = await doneBy(streaming);
    expect(await doneBy(streaming)).toBe(first);
  });

  const STUBBORN = `for (;;) { try { await fetch('BASE'); } catch { done += 1; } }`;

  test('and whose code continues to run is stopped, and its neighbours are served', async () => {
    const stubborn = await deployed('stubborn', STUBBORN.replace('BASE', base));
    await leave(stubborn);
    expect(await doneBy(stubborn)).toMatch(/^200 /);
    await nothingRuns();
  });

  test('and whose isolate is retired at that moment is stopped, too', async () => {
    const retired = await deployed('retired', STUBBORN.replace('BASE', base));
    await leave(retired, async () => {
      await lower(annex, 'retired', { logLinesPerCall: 5 });
      // Reads the target again, so that the next call, which retires the isolate, starts at once.
      expect((await fetch(`${retired.endpoint}/v2`, { method: 'POST' })).status).toBe(400);
    });
    expect(await doneBy(retired)).toBe('200 0');
    await nothingRuns();
    await expect.poll(() => annex.metric('annex_isolates')).toBeLessThan(10);
  });
});
