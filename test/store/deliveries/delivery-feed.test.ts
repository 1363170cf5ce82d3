/**
 * Changes of deliveries for followers, over a real store: what is handed on, what a client that
 * comes back gets, and what nobody pays for (docs/contract/webhooks.md#following-deliveries).
 */
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { DeliveryChange } from '../../../src/host/store/deliveries/delivery-change.ts';
import type { DeliveryFilter } from '../../../src/host/store/deliveries/delivery-search.ts';
import type { Store } from '../../../src/host/store/store.ts';
import { intakeOf } from '../../support/deliveries/intake.ts';
import {
  claimed,
  DAY_MS,
  deliveriesOf,
  ended,
  ending,
  installHandler,
  later,
} from '../../support/deliveries/waiting-deliveries.ts';
import { OPERATOR, temporaryStore } from '../../support/store/temporary-store.ts';

let store: Store;
let installationId: string;
beforeEach(async () => {
  store = await temporaryStore();
  installationId = await installHandler(store);
});

interface Followed {
  readonly got: DeliveryChange[];
  /** How often changes were lost. */
  lost: number;
  end(): void;
}

function follow(filter: DeliveryFilter = {}): Followed {
  const followed: Followed = { got: [], lost: 0, end: () => undefined };
  followed.end = store.deliveryFeed.follow({
    filter,
    changed: (changes) => void followed.got.push(...changes),
    lost: () => {
      followed.lost += 1;
    },
  });
  onTestFinished(followed.end);
  return followed;
}

const names = (changes: readonly DeliveryChange[]) => changes.map(({ change }) => change);
const ids = (changes: readonly DeliveryChange[]) => changes.map(({ id }) => id);

/** What a client that continues after a change gets. */
async function after(id: string, filter: DeliveryFilter = {}) {
  const found: DeliveryChange[] = [];
  let isWhole = true;
  for await (const some of store.deliveryFeed.changesAfter(filter, id)) {
    found.push(...some.items);
    isWhole &&= some.isWhole;
  }
  return { found, isWhole };
}

/** Settles one delivery as an attempt that failed, to be repeated. */
async function attempt(id: string): Promise<void> {
  const claim = await claimed(store, id);
  const failed = { at: claim.dueAt, durationMs: 5, result: 'failed', outcome: 'answered 500' } as const;
  await store.deliveryClaims.settle(
    ending(claim, { state: 'pending', outcome: 'answered 500', attempt: failed }),
  );
}

describe('a follower', () => {
  test('gets each change once, in the order of the commits, with the attempt that made it', async () => {
    const { got } = follow();
    // Read before the next one: a change is derived from the row as it is then.
    const read = (count: number) => expect.poll(() => got.length).toBe(count);
    const [id = ''] = await deliveriesOf(store, 1);
    await read(1);
    await attempt(id);
    await read(2);
    await ended(store, [id]);
    await read(3);
    const orders = intakeOf(store).deliveryActions;
    await orders.redeliver(id, OPERATOR);
    await read(4);
    await orders.cancel(id, OPERATOR);
    await read(5);
    expect(names(got)).toEqual(['accepted', 'attempted', 'delivered', 'redelivered', 'canceled']);
    expect(got.map(({ attempt: made }) => made?.outcome)).toEqual([
      ...[undefined, 'answered 500', 'answered 200', undefined, undefined],
    ]);
    expect(new Set(ids(got)).size).toBe(5);
  });

  test('gets what its filter lets pass, and `state` is the one that a change leads to', async () => {
    await installHandler(store, 'rival', 'other');
    const [own, failed, one, none] = [
      follow({ organization: 'acme' }),
      follow({ organization: 'acme', state: 'failed' }),
      follow({ installationId }),
      follow({ organization: 'acme', type: 'page_feedback' }),
    ];
    const [first = '', second = ''] = await deliveriesOf(store, 2);
    await deliveriesOf(store, 1, { organization: 'rival' });
    await ended(store, [first]);
    await ended(store, [second], { state: 'failed', outcome: 'answered 200' });
    await expect.poll(() => own.got.length).toBe(4);
    expect(names(failed.got)).toEqual(['failed']);
    expect(ids(one.got)).toEqual(ids(own.got));
    expect(none.got).toEqual([]);
  });

  test('makes the store look at changes, also for a minute after its end, and nobody else does', async () => {
    expect(store.deliveryFeed.isFollowed).toBe(false);
    const { got, end } = follow({ organization: 'acme' });
    expect(store.deliveryFeed.isFollowed).toBe(true);
    await deliveriesOf(store, 1);
    await expect.poll(() => got.length).toBe(1);
    end();
    await deliveriesOf(store, 1);
    const found = async () => (await after(got[0]?.id ?? '', { organization: 'acme' })).found;
    await expect.poll(async () => names(await found())).toEqual(['accepted']);
    expect(got).toHaveLength(1);
  });
});

describe('a client that continues', () => {
  test('gets exactly what followed, while this node remembers it', async () => {
    const { got, end } = follow();
    const made = await deliveriesOf(store, 5);
    await ended(store, made);
    await expect.poll(() => got.length).toBe(10);
    end();
    expect(await after(got[3]?.id ?? '')).toEqual({ found: got.slice(4), isWhole: true });
  });

  test('loses nothing where this node remembers nothing: changes may come again, with the same id', async () => {
    const made = await deliveriesOf(store, 250);
    const retried = made[0] ?? '';
    const { got } = follow();
    await attempt(retried);
    await expect.poll(() => got.length).toBe(1);
    // Another node, or this one after a restart, finds them in the rows alone.
    store.deliveryFeed.missed();
    later(60_000);
    await ended(store, made.slice(1));
    await ended(store, [retried]);
    const more = await deliveriesOf(store, 250);
    const { found, isWhole } = await after(got[0]?.id ?? '');
    expect(isWhole).toBe(true);
    const ends = found.filter(({ change }) => change === 'delivered');
    expect(new Set(ends.map(({ delivery }) => delivery.id))).toEqual(new Set(made));
    const accepted = found.filter(({ change }) => change === 'accepted');
    expect(accepted.map(({ delivery }) => delivery.id)).toEqual(expect.arrayContaining(more));
    const again = await after(got[0]?.id ?? '');
    expect(ids(again.found)).toEqual(ids(found));
  });

  test('gets `isWhole: false` where it comes back after a day', async () => {
    const { got } = follow();
    await deliveriesOf(store, 1);
    await expect.poll(() => got.length).toBe(1);
    store.deliveryFeed.missed();
    later(2 * DAY_MS);
    expect((await after(got[0]?.id ?? '')).isWhole).toBe(false);
  });

  test('is told where changes came faster than their rows are read', async () => {
    const followed = follow();
    const step = { id: 'x', step: 'accepted', organization: 'acme', installationId: '' } as const;
    store.deliveryFeed.committed(Array.from({ length: 20_001 }, () => step));
    expect(followed.lost).toBe(1);
  });
});

test('the newest deliveries come with their changes so far, oldest first', async () => {
  const made = await deliveriesOf(store, 3);
  later(1_000);
  await ended(store, made.slice(1, 2));
  const found = await store.deliveryFeed.newest({}, 2);
  expect(found.map(({ change, delivery }) => [change, delivery.id])).toEqual([
    ['accepted', made[2]],
    ['accepted', made[1]],
    ['delivered', made[1]],
  ]);
});
