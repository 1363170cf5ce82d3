/** Organizations whose events are posted at once take turns at the store. */
import { expect, test } from 'vitest';
import { intakeOf } from '../../support/deliveries/intake.ts';
import { postedEvent } from '../../support/deliveries/posted-events.ts';
import { temporaryStore } from '../../support/store/temporary-store.ts';

const BATCHES = 6;
const BATCH = 600;

// Attack: one organization posts batches without a pause, and an event of another waits for all.
test('an event is stored before the batches of another organization that were posted earlier', async () => {
  const store = await temporaryStore();
  const { acceptance } = intakeOf(store);
  const stored: string[] = [];
  const post = async (organization: string, count: number) => {
    await acceptance.accept(Array.from({ length: count }, () => postedEvent({ organization })));
    stored.push(organization);
  };
  // The recipients of both are known then, and their events reach the store in this order.
  await Promise.all([post('heavy', 1), post('light', 1)]);
  stored.length = 0;
  const batches = Array.from({ length: BATCHES }, () => post('heavy', BATCH));
  await Promise.all([...batches, post('light', 1)]);
  expect(stored).toHaveLength(BATCHES + 1);
  // PostgreSQL has two transactions in flight.
  expect(stored.indexOf('light')).toBeLessThanOrEqual(2);
});
