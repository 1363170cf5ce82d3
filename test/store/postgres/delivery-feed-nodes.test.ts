/**
 * Followers of deliveries with several nodes on one database: each change of another node is handed
 * on once, and nothing is announced while nobody follows
 * (docs/contract/nodes.md#followed-deliveries).
 */
import { expect, onTestFinished, test } from 'vitest';
import type { DeliveryChange } from '../../../src/host/store/deliveries/delivery-change.ts';
import type { DeliveryFilter } from '../../../src/host/store/deliveries/delivery-search.ts';
import { openStore, type Store } from '../../../src/host/store/store.ts';
import { deliveriesOf, ended, installHandler } from '../../support/deliveries/waiting-deliveries.ts';
import { storeOptions, temporaryFolder } from '../../support/store/temporary-store.ts';

async function twoNodes(): Promise<readonly [Store, Store]> {
  const folder = await temporaryFolder();
  const open = async () => {
    const store = await openStore(storeOptions(folder));
    onTestFinished(() => store.close());
    return store;
  };
  const [a, b] = [await open(), await open()];
  await installHandler(a);
  return [a, b];
}

/** @returns the changes so far, once the other node has heard of the follower */
async function follow(store: Store, other: Store, filter: DeliveryFilter): Promise<DeliveryChange[]> {
  const got: DeliveryChange[] = [];
  const end = store.deliveryFeed.follow({
    filter,
    changed: (changes) => void got.push(...changes),
    lost: () => expect.unreachable('Nothing was lost.'),
  });
  onTestFinished(end);
  await expect.poll(() => other.deliveryFeed.isFollowed).toBe(true);
  return got;
}

const told = (changes: readonly DeliveryChange[]) =>
  changes.map(({ change, delivery }) => `${change} ${delivery.id}`).sort();

test('a follower gets the changes of both nodes once, and no other than it asked for', async () => {
  const [a, b] = await twoNodes();
  await installHandler(b, 'rival', 'other');
  expect(b.deliveryFeed.isFollowed).toBe(false);
  const got = await follow(a, b, { organization: 'acme' });
  const own = await deliveriesOf(a, 1);
  const others = await deliveriesOf(b, 200);
  await deliveriesOf(b, 1, { organization: 'rival' });
  await ended(b, own);
  await ended(a, others);
  const all = [...own, ...others];
  const expected = all.flatMap((id) => [`accepted ${id}`, `delivered ${id}`]).sort();
  await expect.poll(() => told(got)).toEqual(expected);
});

test('a client that continues on the other node loses nothing', async () => {
  const [a, b] = await twoNodes();
  const got = await follow(a, b, {});
  const made = await deliveriesOf(b, 3);
  await expect.poll(() => got.length).toBe(3);
  await ended(b, made);
  const found: DeliveryChange[] = [];
  for await (const { items, isWhole } of b.deliveryFeed.changesAfter({}, got[0]?.id ?? '')) {
    found.push(...items);
    expect(isWhole).toBe(true);
  }
  expect(told(found)).toEqual(expect.arrayContaining(made.map((id) => `delivered ${id}`)));
});
