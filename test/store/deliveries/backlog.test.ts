/** The number of pending deliveries, where other nodes change it, too. */
import { expect, onTestFinished, test } from 'vitest';
import { SqliteEngine } from '../../../src/host/database/sqlite/sqlite-engine.ts';
import type { Database } from '../../../src/host/database/tables.ts';
import { Backlog } from '../../../src/host/store/deliveries/backlog.ts';
import { openStore, type Store, type StoreOptions } from '../../../src/host/store/store.ts';
import {
  acceptOne,
  installListener,
  postedEvent,
  publishListener,
} from '../../support/deliveries/posted-events.ts';
import { storeOptions, temporaryFolder } from '../../support/store/temporary-store.ts';

const MINUTE_MS = 60_000;

/** A store, and the database below it. */
async function opened(): Promise<{ store: Store; database: Database }> {
  const options: StoreOptions = storeOptions(await temporaryFolder());
  const engine = options.makeEngine?.() ?? new SqliteEngine(options);
  const database = await engine.open();
  engine.open = async () => database;
  const store = await openStore({ ...options, makeEngine: () => engine });
  onTestFinished(() => store.close());
  return { store, database };
}

test.each([
  ['is counted anew when it is read after a while', true, 1],
  ['is never counted again where this node is alone', false, 5],
])('it %s', async (_, isShared, inTheEnd) => {
  const { store, database } = await opened();
  const clock = { now: 0 };
  const backlog = await Backlog.count({ database, isShared, monotonicNow: () => clock.now });
  await publishListener(store, { name: 'hello' });
  await installListener(store, 'hello');
  await acceptOne(store, postedEvent({ eventId: 'e1' }));
  expect(backlog.waiting).toBe(0);
  backlog.change(5);
  expect(backlog.waiting).toBe(5);
  clock.now += MINUTE_MS;
  await expect.poll(() => backlog.waiting).toBe(inTheEnd);
});
