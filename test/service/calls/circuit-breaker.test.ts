/**
 * The circuit breaker: calls of an installation that passes its limits too often are refused for a
 * while; its neighbours are served.
 */
import { request } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { CircuitBreaker } from '../../../src/host/calls/circuit-breaker.ts';
import { HeavyInstallations } from '../../../src/host/calls/heavy-installations.ts';
import type { Outcome } from '../../../src/protocol/wire.ts';
import { startTestService } from '../../support/service.ts';

const LIMITS = { breachesBeforeCoolDown: 3, coolDownMs: 1_000, coolDownMsMax: 8_000 };

/** One installation, and a clock that the test moves. */
function installation(limits = LIMITS) {
  const breaker = new CircuitBreaker(limits);
  let now = 0;
  const refuses = () => breaker.refuses('one', now);
  /** @returns for how long the circuit opens, where it does */
  const call = (outcome: Outcome, tookMs = 0) => {
    expect(refuses()).toBeUndefined();
    const startedAt = now;
    breaker.began('one', now);
    now += tookMs;
    return breaker.ended('one', outcome, startedAt, now)?.coolMs;
  };
  const breach = (times: number) => Array.from({ length: times }, () => call('exceededCpu'));
  const wait = (ms: number) => {
    now += ms;
  };
  return { breaker, refuses, call, breach, wait, now: () => now };
}

describe('an open circuit breaker', () => {
  test('begins with one breach too many, and lasts its time', () => {
    const { breach, refuses, wait } = installation();
    expect(breach(2)).toEqual([undefined, undefined]);
    expect(refuses()).toBeUndefined();
    expect(breach(1)).toEqual([1_000]);
    expect(refuses()).toBe(1_000);
    wait(999);
    expect(refuses()).toBe(1);
    wait(1);
    expect(refuses()).toBeUndefined();
  });

  test('ends for one call at first, and for all once that call was within its limits', () => {
    const { breaker, breach, refuses, wait, now } = installation();
    breach(3);
    wait(1_000);
    breaker.began('one', now());
    expect(refuses()).toBe(1_000);
    breaker.ended('one', 'ok', now(), now());
    expect(refuses()).toBeUndefined();
    expect(breach(2)).toEqual([undefined, undefined]);
  });

  test('is decided by the next call where the first one was canceled', () => {
    const { breaker, call, breach, refuses, wait, now } = installation();
    breach(3);
    wait(1_000);
    for (const outcome of ['canceled', 'cellCrashed'] as const) {
      expect(call(outcome)).toBeUndefined();
      expect(refuses()).toBeUndefined();
    }
    breaker.began('one', now());
    expect(refuses()).toBe(1_000);
  });

  // Attack: the call that is let in sends so slowly that no other is for as long as a call may
  // take.
  test('is not prolonged by a first call that does not end: two seconds later the next one is let in', () => {
    const { breaker, breach, refuses, wait, now } = installation();
    breach(3);
    wait(1_000);
    breaker.began('one', now());
    const slowSince = now();
    wait(1_999);
    expect(refuses()).toBe(1_000);
    wait(1);
    expect(refuses()).toBeUndefined();
    breaker.began('one', now());
    expect(refuses()).toBe(1_000);
    breaker.ended('one', 'ok', now(), now());
    expect(refuses()).toBeUndefined();
    // The slow call ends long after with a breach of its own, which counts like any other.
    wait(20_000);
    expect(breaker.ended('one', 'exceededWallTime', slowSince, now())).toBeUndefined();
  });

  test('doubles its time with each breach in a row, up to a maximum; each successful call halves it', () => {
    const { breach, call, wait } = installation();
    breach(2);
    const lengths: unknown[] = [];
    for (let i = 0; i < 5; i++) {
      const [coolMs = 0] = breach(1);
      lengths.push(coolMs);
      wait(coolMs);
    }
    expect(lengths).toEqual([1_000, 2_000, 4_000, 8_000, 8_000]);
    call('ok');
    expect(breach(1)).toEqual([8_000]);
    wait(8_000);
    call('ok');
    call('ok');
    expect(breach(1)).toEqual([4_000]);
    wait(4_000);
    for (let i = 0; i < 3; i++) call('ok');
    expect(breach(2)).toEqual([undefined, undefined]);
  });

  test('does not double for calls that were in flight when it began', () => {
    const { breaker, breach, refuses } = installation();
    breach(3);
    for (let i = 0; i < 31; i++) expect(breaker.ended('one', 'exceededCpu', 0, 500)).toBeUndefined();
    expect(refuses()).toBe(1_000);
  });

  test('is forgotten with time: after a quiet minute or two, one breach counts as one', () => {
    const { breach, wait } = installation();
    breach(3);
    wait(1_000);
    expect(breach(1)).toEqual([2_000]);
    wait(180_000);
    expect(breach(2)).toEqual([undefined, undefined]);
  });
});

describe('breaches', () => {
  test('far apart, or among successful calls, never add up', () => {
    const far = installation();
    for (let i = 0; i < 20; i++) {
      expect(far.call('exceededCpu')).toBeUndefined();
      far.wait(30_000);
    }
    const among = installation();
    for (let i = 0; i < 20; i++) {
      expect(among.call('exceededCpu')).toBeUndefined();
      for (let good = 0; good < 4; good++) among.call('ok');
    }
  });

  test('of every other call add up', () => {
    const { call, refuses } = installation();
    for (let i = 0; i < 4 && refuses() === undefined; i++) {
      call('exceededCpu');
      if (refuses() === undefined) call('ok');
    }
    expect(refuses()).toBe(1_000);
  });

  test('of memory weigh twice those of CPU, and those of wall time half', () => {
    const needed = (outcome: Outcome) => {
      const { call } = installation({ ...LIMITS, breachesBeforeCoolDown: 4 });
      for (let i = 1; ; i++) if (call(outcome) !== undefined) return i;
    };
    expect([needed('exceededMemory'), needed('exceededCpu'), needed('exceededWallTime')]).toEqual([2, 4, 7]);
  });

  test('are not exceptions, crashes of a cell, or callers that leave', () => {
    const { call } = installation();
    for (let i = 0; i < 50; i++) {
      for (const outcome of ['exception', 'cellCrashed', 'canceled', 'responseTooLarge'] as const) {
        expect(call(outcome)).toBeUndefined();
      }
    }
  });

  test('of one installation do not count for another', () => {
    const { breaker, breach } = installation();
    breach(3);
    expect(breaker.refuses('other', 0)).toBeUndefined();
  });
});

describe('an installation is heavy', () => {
  const loaded = () => {
    let now = 0;
    const load = new HeavyInstallations(() => now);
    return { load, wait: (ms: number) => (now += ms), isHeavy: () => load.isHeavy('one') };
  };

  test('with the second spinning call in a row, and not with one now and then', () => {
    const { load, wait, isHeavy } = loaded();
    for (let i = 0; i < 10; i++) {
      load.add('one', 1_000);
      expect(isHeavy()).toBe(false);
      wait(10_000);
    }
    load.add('one', 1_000);
    wait(1_000);
    load.add('one', 1_000);
    expect([isHeavy(), load.isHeavy('other')]).toEqual([true, false]);
  });

  test('until it has been quiet for a while: the bound to become light is lower than that to become heavy', () => {
    const { load, wait, isHeavy } = loaded();
    load.add('one', 2_000);
    wait(5_000);
    expect(isHeavy()).toBe(true);
    wait(6_000);
    expect(isHeavy()).toBe(false);
    load.add('one', 500);
    expect(isHeavy()).toBe(false);
  });

  test('never by short calls, however many', () => {
    const { load, isHeavy } = loaded();
    for (let i = 0; i < 10_000; i++) load.add('one', 9);
    expect(isHeavy()).toBe(false);
  });
});

const SPINNER = `export default {
  async fetch(request) {
    const { request: { url } } = JSON.parse((await request.formData()).get('event'));
    if (url.endsWith('/spin')) for (;;);
    return new Response('ok');
  },
};`;

test('calls of an installation with an open circuit breaker are 503 with Retry-After, and its log has the reason once', async () => {
  const annex = await startTestService({
    limits: { callCpuMs: 50, breachesBeforeCoolDown: 2, coolDownMs: 1_500 },
  });
  await annex.publish('spinner', { 'index.js': SPINNER });
  const [hostile, neighbour] = [await annex.install('spinner'), await annex.install('spinner')];
  for (let i = 0; i < 2; i++) {
    expect(await (await fetch(`${hostile.endpoint}/spin`)).json()).toMatchObject({
      error: { code: 'ISOLATE_LIMIT_EXCEEDED' },
    });
  }
  for (let i = 0; i < 5; i++) {
    const refused = await fetch(`${hostile.endpoint}/quick`);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([
      503,
      expect.stringMatching(/^[12]$/),
    ]);
    expect(await refused.json()).toMatchObject({
      error: { code: 'INSTALLATION_COOLING', outcome: 'loadShed' },
    });
  }
  expect(await (await fetch(`${neighbour.endpoint}/quick`)).text()).toBe('ok');
  expect(await annex.metric('annex_cool_downs_total')).toBe(1);
  expect(await annex.metric('annex_calls_total{outcome="loadShed"}')).toBe(5);
  const lines = (await annex.log(hostile)).filter(({ text }) => text.includes('circuit breaker is open'));
  expect(lines).toMatchObject([
    { level: 'error', text: expect.stringContaining('2 recent calls ended over') },
  ]);
  // After its time, calls are let in again without any action of the operator.
  await expect.poll(async () => (await fetch(`${hostile.endpoint}/quick`)).status).toBe(200);
  expect(await (await fetch(`${hostile.endpoint}/quick`)).text()).toBe('ok');
});

// Attack: strangers open the circuit of an honest installation by uploads that they never finish,
// or answers that they never read.
test('a call that its client delays beyond its wall time is not a breach of the installation', async () => {
  const annex = await startTestService({ limits: { breachesBeforeCoolDown: 1 } });
  const honest = await annex.deploy(
    'honest',
    `import { createIntegration } from '@annex/sdk';
     export default createIntegration({ async fetch(request) {
       if (request.method === 'POST') await request.text();
       if (!request.url.endsWith('/endless')) return new Response('ok');
       return new Response(new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(65_536)) }));
     } });`,
  );
  // After publishing: on a busy machine the script would not load within that time.
  const lowered = { json: { callWallMs: 500 } };
  expect((await annex.api('PUT', '/v1/integrations/honest/limits', lowered)).status).toBe(200);
  const upload = request(`${honest.endpoint}/`, {
    method: 'POST',
    headers: { 'transfer-encoding': 'chunked' },
  });
  onTestFinished(() => void upload.destroy());
  const refused = new Promise<number | undefined>((resolve) =>
    upload.once('response', (answer) => resolve(answer.statusCode)),
  );
  upload.write('the first bytes, and no more');
  expect(await refused).toBe(504);
  const unread = await fetch(`${honest.endpoint}/endless`);
  await expect.poll(() => annex.metric('annex_calls_total{outcome="exceededWallTime"}')).toBe(2);
  await unread.body?.cancel().catch(() => undefined);
  expect(await (await fetch(`${honest.endpoint}/`)).text()).toBe('ok');
});
