/**
 * Every operation on deliveries, each at least once, for tests that look at the statements.
 */
import type { Store } from '../../../src/host/store/store.ts';
import { CLOCK, OPERATOR } from '../store/temporary-store.ts';
import { intakeOf } from './intake.ts';
import {
  claimed,
  DAY_MS,
  deliveriesOf,
  ended,
  ending,
  installWebhook,
  later,
  SITE,
} from './waiting-deliveries.ts';

/** Every operation on deliveries, each at least once. */
export async function lifeOfDeliveries(store: Store): Promise<void> {
  const { deliveryClaims: claims, deliveryQueue: queue, deliveryList: list } = store;
  const { deliveryActions: orders } = intakeOf(store);
  const installationId = await installWebhook(store);
  const ids = await deliveriesOf(store, 6);
  const [one = '', two = '', three = ''] = ids;
  const claim = await claimed(store, one);
  await claims.keepPayload(claim, { destination: 'https://x.example/', payload: '{}', revision: '1' });
  await claims.renew([claim]);
  await claims.settle(ending(claim));
  await claims.release([await claimed(store, two)]);
  await claims.claim([two]);
  await claims.recover({ all: true });
  await claims.recover({ all: false });
  await queue.waitingEndpoints({ limit: 10 });
  await queue.dueEndpoints({ limit: 10 }, CLOCK.now);
  await queue.due(claim.endpoint, CLOCK.now, 5);
  await orders.cancel(two, OPERATOR);
  await orders.redeliver(two, OPERATOR);
  await ended(store, [three], { state: 'failed', outcome: 'answered 500' });
  await orders.replay({ installationId, state: 'failed', type: 'site_view' }, OPERATOR);
  for (const read of ['read', 'attempts', 'payload'] as const) await list[read](one);
  await list.ofEvent(claim.eventId);
  const wanted = { organization: 'acme', type: 'site_view', place: { level: 'site', place: SITE } } as const;
  for (const cursor of [undefined, ids.at(-1)])
    for (const where of [{}, { installationId }, { eventId: claim.eventId }, { from: 0, to: CLOCK.now }])
      for (const what of [{}, wanted, { state: 'failed' }, { ...wanted, state: 'delivered' }] as const)
        await list.list({ ...where, ...what, cursor, limit: 2 });
  await ended(store, ids);
  later(31 * DAY_MS);
  await store.deliveryRetention.prune();
}
