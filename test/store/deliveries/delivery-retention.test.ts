/**
 * Retention of deliveries and events: each is removed at its age; pending deliveries are always
 * kept.
 */

import { expect, onTestFinished, test } from 'vitest';
import { openStore, type Store } from '../../../src/host/store/store.ts';
import { intakeOf } from '../../support/deliveries/intake.ts';
import {
  claimed,
  DAY_MS,
  deliveriesOf,
  ended,
  ending,
  installHandler,
  installWebhook,
  later,
  listeningStore,
} from '../../support/deliveries/waiting-deliveries.ts';
import {
  OPERATOR,
  storeOptions,
  temporaryFolder,
  temporaryStore,
} from '../../support/store/temporary-store.ts';
import { openTestDatabase } from '../../support/store/test-engine.ts';

const LIMITS = { deliveryDays: 30, deliveredDays: 7 };

const FAILED = { state: 'failed', outcome: 'answered 500' } as const;

/** Those that still exist. */
async function kept({ deliveryList }: Store, ids: readonly string[]): Promise<string[]> {
  const read = await Promise.all(ids.map((id) => deliveryList.read(id)));
  return read.flatMap((delivery) => delivery?.id ?? []);
}

test('successful deliveries are kept for deliveredDays, others for deliveryDays, pending ones without limit', async () => {
  const store = await listeningStore(LIMITS);
  const ids = await deliveriesOf(store, 5);
  const [delivered = '', unhandled = '', failed = '', canceled = '', waiting = ''] = ids;
  await ended(store, [delivered]);
  await ended(store, [unhandled], { state: 'unhandled' });
  await ended(store, [failed], FAILED);
  await intakeOf(store).deliveryActions.cancel(canceled, OPERATOR);
  const pruned = async () => {
    await store.deliveryRetention.prune();
    return kept(store, ids);
  };
  later(7 * DAY_MS);
  expect(await pruned()).toEqual(ids);
  later(1);
  expect(await pruned()).toEqual([failed, canceled, waiting]);
  expect(await store.deliveryList.attempts(delivered)).toEqual([]);
  expect(await store.deliveryList.attempts(failed)).toHaveLength(1);
  later(23 * DAY_MS - 1);
  expect(await pruned()).toEqual([failed, canceled, waiting]);
  later(1);
  expect(await pruned()).toEqual([waiting]);
  expect(await store.deliveryList.attempts(failed)).toEqual([]);
  later(365 * DAY_MS);
  expect(await pruned()).toEqual([waiting]);
  expect(store.backlog.waiting).toBe(1);
  expect(await claimed(store, waiting)).toMatchObject({ id: waiting });
});

test('events are kept for deliveryDays, and as long as they have a delivery', async () => {
  const store = await temporaryStore(LIMITS);
  const unheard = 'evt_unheard';
  const event = { eventId: unheard, organization: 'acme', type: 'site_view', level: 'site' } as const;
  await intakeOf(store).acceptance.accept([{ ...event, place: 'site_1', body: '{}', bodyHash: '' }]);
  await installHandler(store);
  const [delivered = '', waiting = ''] = await deliveriesOf(store, 2);
  const eventIds = [unheard];
  for (const id of [delivered, waiting]) eventIds.push((await store.deliveryList.read(id))?.eventId ?? '');
  await ended(store, [delivered]);
  const pruned = async () => {
    await store.deliveryRetention.prune();
    const read = await Promise.all(eventIds.map((id) => store.eventList.read(id)));
    return read.flatMap((found) => found?.eventId ?? []);
  };
  later(30 * DAY_MS);
  expect(await pruned()).toEqual(eventIds);
  expect(await kept(store, [delivered])).toEqual([]);
  later(1);
  expect(await pruned()).toEqual([eventIds[2]]);
  await ended(store, [waiting]);
  later(7 * DAY_MS + 1);
  expect(await pruned()).toEqual([]);
});

test('age counts from the end: a delivery that finished later than its neighbours is kept longer', async () => {
  const store = await listeningStore(LIMITS);
  const [early = '', late = '', again = ''] = await deliveriesOf(store, 3);
  await ended(store, [early, again]);
  later(5 * DAY_MS);
  await ended(store, [late]);
  await intakeOf(store).deliveryActions.redeliver(again, OPERATOR);
  await ended(store, [again]);
  later(2 * DAY_MS + 1);
  await store.deliveryRetention.prune();
  expect(await kept(store, [early, late, again])).toEqual([late, again]);
  later(5 * DAY_MS);
  await store.deliveryRetention.prune();
  expect(await kept(store, [early, late, again])).toEqual([]);
});

test('all rows of removed deliveries and events are removed, however many there are', async () => {
  const folder = await temporaryFolder({ inMemory: true });
  const store = await openStore(storeOptions(folder, LIMITS));
  await installWebhook(store);
  const ids = await deliveriesOf(store, 1_000);
  for (const claim of await store.deliveryClaims.claim(ids)) {
    const payload = { destination: 'https://receiver.example/', payload: '{}', revision: '1' };
    void store.deliveryClaims.keepPayload(claim, payload);
    void store.deliveryClaims.settle(ending(claim));
  }
  // Those that are kept lie between those that are removed.
  const [waiting = ''] = await deliveriesOf(store, 1);
  await ended(store, await deliveriesOf(store, 300), FAILED);
  await ended(store, await deliveriesOf(store, 300));
  later(7 * DAY_MS + 1);
  // Two concurrent calls run once.
  await Promise.all([store.deliveryRetention.prune(), store.deliveryRetention.prune()]);
  later(23 * DAY_MS);
  await store.deliveryRetention.prune();
  await store.close();
  const database = await openTestDatabase(folder);
  onTestFinished(() => database.destroy());
  const left = async (table: 'deliveries' | 'delivery_attempts' | 'delivery_payloads' | 'events') =>
    await database.selectFrom(table).selectAll().execute();
  expect(await left('deliveries')).toMatchObject([{ id: waiting }]);
  expect(await left('delivery_attempts')).toEqual([]);
  expect(await left('delivery_payloads')).toEqual([]);
  expect(await left('events')).toMatchObject([{ id: waiting.split('.')[0] }]);
});

test('a store closed during a removal has removed a part, and the next run continues', async () => {
  const folder = await temporaryFolder({ inMemory: true });
  const store = await openStore(storeOptions(folder, LIMITS));
  await installHandler(store);
  const ids = await deliveriesOf(store, 1_000);
  await ended(store, ids);
  later(31 * DAY_MS);
  const pruning = store.deliveryRetention.prune();
  await store.close();
  await pruning;
  const next = await openStore(storeOptions(folder, LIMITS));
  try {
    expect((await next.deliveryList.list({ limit: 1 })).items).toHaveLength(1);
    await next.deliveryRetention.prune();
    expect(await next.deliveryList.list({ limit: 1 })).toEqual({ items: [] });
  } finally {
    await next.close();
  }
});
