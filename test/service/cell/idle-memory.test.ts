/** An isolate that has no calls gives back the memory of those it had. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TestService } from '../../support/service.ts';

/** Holds 20 MB until its answer: old enough by then for V8 to keep it until it collects all. */
const HOLDS = `export default { fetch() {
  const held = Array.from({ length: 2_500 }, (_, at) => Array.from({ length: 1_000 }, () => at + 0.5));
  return Response.json(held.length);
} };`;

let annex: TestService;
beforeAll(async () => {
  annex = await TestService.start();
});
afterAll(() => annex.stop());

test('a heap shrinks once its calls are over', async () => {
  await annex.publish('holds', { 'index.js': HOLDS });
  const { endpoint: url } = await annex.install('holds');
  const heapBytes = () => annex.metric('annex_isolate_heap_bytes');
  await expect
    .poll(async () => {
      await (await fetch(url)).text();
      return heapBytes();
    })
    .toBeGreaterThan(20e6);
  await expect.poll(heapBytes).toBeLessThan(10e6);
  expect(await (await fetch(url)).json()).toBe(2_500);
});
