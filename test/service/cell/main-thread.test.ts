/**
 * The cell's main thread is shared: its work for one isolate is bounded, charged, and leaves the
 * others their share.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MainThread } from '../../../src/cell/isolates/main-thread.ts';
import { TestService } from '../../support/service.ts';

/**
 * Simulates isolates that always have more work, each `stepMs` whenever it may. @returns the time
 * that each has used
 */
function simulate(isolates: number, stepMs: number, forMs: number): number[] {
  const thread = new MainThread();
  const uses = Array.from({ length: isolates }, () => ({ use: thread.open(), usedMs: 0, at: 0 }));
  for (let now = 0; now < forMs; now += 1) {
    for (const one of uses) {
      if (now < one.at) continue;
      const waitMs = one.use.waitMs(now);
      one.at = now + Math.max(1, waitMs);
      if (waitMs > 0) continue;
      one.use.add(stepMs, now);
      one.usedMs += stepMs;
    }
  }
  return uses.map(({ usedMs }) => usedMs);
}

describe('the account of an isolate', () => {
  test('allows a burst, and then as much as its share of the thread', () => {
    const use = new MainThread().open();
    use.add(20, 1_000);
    expect(use.waitMs(1_000)).toBe(0);
    use.add(4, 1_000);
    expect(use.waitMs(1_000)).toBe(10);
    expect(use.waitMs(1_009)).toBeGreaterThan(0);
    expect(use.waitMs(1_010)).toBe(0);
  });

  test.each([1, 2, 8, 64])('leaves more than half of the thread when %i isolates overdraw', (isolates) => {
    const used = simulate(isolates, 5, 60_000);
    const sum = used.reduce((all, one) => all + one, 0);
    expect(sum).toBeLessThan(60_000 * 0.45 + isolates * 25);
    // The rest is shared fairly.
    expect(Math.max(...used)).toBeLessThan(2 * Math.min(...used));
  });

  test('leaves the sum of the accounts when the isolate is disposed', () => {
    const thread = new MainThread();
    const [one, other] = [thread.open(), thread.open()];
    for (const use of [one, other]) use.add(24, 0);
    const shared = one.waitMs(0);
    other.close();
    expect(one.waitMs(0)).toBeLessThan(shared * 0.6);
  });
});

describe('in a call', () => {
  let annex: TestService;
  beforeAll(async () => {
    annex = await TestService.start({ limits: { callCpuMs: 300, callWallMs: 20_000 } });
  });
  afterAll(() => annex.stop());

  const handler = (body: string) => `export default { async fetch() { ${body} } };`;
  const answer = async (name: string, body: string) => {
    const { endpoint } = await annex.deploy(name, handler(body));
    return (await fetch(endpoint)).text();
  };
  /** How many names of this length one entry can convert. */
  const lookUps = (name: string, chars: number) =>
    answer(
      name,
      `let count = 0;
       const long = 'ü'.repeat(${chars - 6});
       try { for (; count < 5000; count++) URL.canParse('http://' + String(100000 + count) + long); } catch (error) {
         return new Response(count + ' ' + error.name + ' ' + error.message);
       }
       return new Response(String(count));`,
    );

  test('domain names are weighed by the square of their length, and one too many is an error that names the cause', async () => {
    const [short, long] = [await lookUps('short', 8), await lookUps('long', 250)];
    expect(short).toMatch(/^\d{3} RangeError Too many domain names beyond ASCII/);
    expect(long).toMatch(/^\d\d RangeError Too many domain names beyond ASCII/);
    expect(Number.parseInt(long, 10)).toBeLessThan(Number.parseInt(short, 10) / 20);
  });

  test('a name of 255 characters is converted, a longer one is invalid', async () => {
    const text = await answer(
      'lengths',
      `const of = (chars) => URL.canParse('http://' + ('ü'.repeat(49) + '.').repeat(6).slice(0, chars));
       return Response.json([of(255), of(256)]);`,
    );
    expect(JSON.parse(text)).toEqual([true, false]);
  });

  test('after too many domain names, timers can still be set', async () => {
    const text = await answer(
      'timers',
      `try { for (let i = 0; ; i++) URL.canParse('http://ü' + i); } catch {}
       await new Promise((done) => setTimeout(done, 1));
       return new Response(String(URL.canParse('http://ü')));`,
    );
    expect(text).toBe('true');
  });

  test('random bytes are weighed by their number', async () => {
    const text = await answer(
      'random',
      `const bytes = new Uint8Array(65_536);
       let count = 0;
       try { for (; count < 2000; count++) crypto.getRandomValues(bytes); } catch {}
       return new Response(String(count));`,
    );
    expect(Number(text)).toBeGreaterThan(50);
    expect(Number(text)).toBeLessThan(200);
  });

  test('work of the main thread for a call counts as its CPU', async () => {
    const { endpoint } = await annex.deploy(
      'charged',
      handler(`
        const name = Array.from({ length: 248 }, (_, i) => String.fromCharCode(0x4e00 + ((i * 37) % 9000))).join('');
        for (let i = 0; ; i++) {
          try { for (;;) URL.canParse('http://' + name + (i % 10)); } catch {}
          await new Promise((done) => setTimeout(done, 1));
        }`),
    );
    const { error } = (await (await fetch(endpoint)).json()) as { error: { outcome: string } };
    expect(error.outcome).toBe('exceededCpu');
  });
});
