/**
 * The rate of a webhook (docs/contract/webhooks.md#rate): deliveries wait for their turns, none
 * fails by it, and the nodes of a database share the turns.
 */
import { expect, test, vi } from 'vitest';
import { Delivering, turns } from '../../support/deliveries/delivery-worker.ts';
import { HttpReceiver } from '../../support/receivers/http-receiver.ts';

/** Each look lets time pass. */
const POLL = { timeout: 90_000, interval: 1 };
const COUNT = 20;

/** Times of the requests of this many deliveries, from the first. @param rate of the manifest */
async function timesOf(rate: number | undefined, nodes: number): Promise<number[]> {
  const delivering = await Delivering.begin({}, rate === undefined ? {} : { rate });
  const { time } = delivering;
  await delivering.install('acme', ['s1']);
  const at: number[] = [];
  const receiver = await HttpReceiver.start(() => {
    at.push(time.now);
    return 200;
  });
  await delivering.accept('acme', 's1', Array(COUNT).fill(receiver.url));
  for (let node = 0; node < nodes; node += 1) await delivering.worker({ isShared: nodes > 1 }).start();
  await vi.waitFor(async () => {
    time.pass(5);
    await turns(2);
    expect(delivering.settled).toHaveLength(COUNT);
  }, POLL);
  expect(new Set(delivering.settled)).toEqual(new Set(['delivered']));
  expect(delivering.errors).toEqual([]);
  return at.map((moment) => moment - (at[0] ?? 0));
}

test.each([1, 2])('%d nodes keep the rate together, and deliver everything once', async (nodes) => {
  const at = await timesOf(10, nodes);
  expect(at).toHaveLength(COUNT);
  // In each second from any request on there are ten; a request arrives a moment after its turn.
  for (const from of at)
    expect(at.filter((moment) => moment >= from && moment < from + 950).length).toBeLessThanOrEqual(10);
  expect(at.at(-1)).toBeGreaterThanOrEqual((COUNT - 1) * 95);
});

test('without a rate nothing waits', async () => {
  expect((await timesOf(undefined, 1)).at(-1)).toBeLessThan(1_000);
});
