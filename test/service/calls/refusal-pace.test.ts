/**
 * Refused fetches: those of one installation take a bounded share of the host, and delay no other
 * installation.
 */
import { expect, test } from 'vitest';
import { RefusalPace } from '../../../src/host/calls/refusal-pace.ts';
import { TestService } from '../../support/service.ts';

/**
 * Simulates callers that fetch again as soon as they are refused. @returns refusals of each
 * installation
 */
function simulate(installations: number, callers: number, forMs: number): number[] {
  const pace = new RefusalPace();
  const askers = Array.from({ length: installations * callers }, (_, i) => ({
    owner: i % installations,
    at: 0,
  }));
  const refusals = Array<number>(installations).fill(0);
  for (let now = 0; now < forMs; now++) {
    for (const asker of askers) {
      if (now < asker.at) continue;
      refusals[asker.owner] = (refusals[asker.owner] ?? 0) + 1;
      asker.at = now + Math.max(1, pace.add(String(asker.owner), now));
    }
  }
  return refusals;
}

test('a few refusals are not delayed', () => {
  const pace = new RefusalPace();
  expect(Array.from({ length: 20 }, () => pace.add('one', 0))).toEqual(Array(20).fill(0));
  expect(pace.add('one', 0)).toBeGreaterThan(0);
  expect(pace.add('other', 0)).toBe(0);
});

test.each([
  [1, 32],
  [8, 4],
  [32, 1],
])('%i installations with %i callers each share one rate', (installations, callers) => {
  const refusals = simulate(installations, callers, 20_000);
  const sum = refusals.reduce((all, one) => all + one, 0);
  // The rate, the bursts, and one in flight for each caller.
  expect(sum).toBeLessThan(20 * 150 * 1.2 + installations * 20 + installations * callers);
  expect(Math.min(...refusals)).toBeGreaterThan(sum / installations / 2);
});

test('an installation is forgotten once its bucket is full again', () => {
  const pace = new RefusalPace();
  for (let i = 0; i < 1_000; i++) pace.add(`installation ${i}`, i);
  expect(pace.size).toBeLessThan(50);
});

test('a call whose fetches are refused is slowed down, and a call of another installation is not', async () => {
  const annex = await TestService.start();
  try {
    const source = `let done = 0;
      export default { async fetch() {
        const began = Date.now();
        const texts = await Promise.all(Array.from({ length: COUNT }, () => fetch('http://127.0.0.1:9/').catch((error) => error.name)));
        return Response.json({ ms: Date.now() - began, names: [...new Set(texts)] });
      } };`;
    const ask = async (name: string, count: number) => {
      const { endpoint } = await annex.deploy(name, source.replace('COUNT', String(count)));
      return (await (await fetch(endpoint)).json()) as { ms: number; names: string[] };
    };
    const many = await ask('many', 50);
    expect(many.names).toEqual(['TypeError']);
    // 30 beyond the burst, of 150 a second.
    expect(many.ms).toBeGreaterThan(150);
    expect((await ask('few', 5)).names).toEqual(['TypeError']);
  } finally {
    await annex.stop();
  }
});
