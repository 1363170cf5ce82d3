/**
 * Lifecycle events in the store: their order, their end, and their removal by age.
 */
import { expect, test } from 'vitest';
import { openStore, type Store } from '../../../src/host/store/store.ts';
import { wholeInstallation } from '../../../src/model/installation.ts';
import { claimEvent, installed, takeEvents } from '../../support/store/installed.ts';
import {
  CLOCK,
  OPERATOR,
  storeOptions,
  temporaryFolder,
  temporaryStore,
} from '../../support/store/temporary-store.ts';
import { openTestDatabase } from '../../support/store/test-engine.ts';

const DAY_MS = 24 * 60 * 60 * 1_000;
const DELIVERED = { state: 'delivered', outcome: 'answered 200', called: true } as const;

const edit = (store: Store, id: string, count: number) =>
  store.installations.edit(wholeInstallation(id), { configuration: { count } }, {}, OPERATOR);

/** Claims the first pending event. */
async function claimed(store: Store, id: string) {
  const event = await claimEvent(store, id);
  if (event === undefined) throw new Error('No event can be claimed.');
  return event;
}

test('the first pending event stays first until it is finished, postponed or not', async () => {
  const store = await temporaryStore();
  const id = await installed(store);
  await edit(store, id, 1);
  const setup = await claimed(store, id);
  await store.lifecycleEvents.postpone(setup, CLOCK.now + 5_000, 'cellCrashed');
  const again = await claimed(store, id);
  expect(again).toMatchObject({
    eventId: setup.eventId,
    attempts: 1,
    dueAt: CLOCK.now + 5_000,
    outcome: 'cellCrashed',
  });
  await store.lifecycleEvents.finish(again, DELIVERED);
  expect(await claimed(store, id)).toMatchObject({ position: 2, attempts: 0 });
});

test('a finished or canceled event is not changed again', async () => {
  const store = await temporaryStore();
  const id = await installed(store);
  const setup = await claimed(store, id);
  await store.installations.uninstall(wholeInstallation(id), OPERATOR);
  const canceled = await store.lifecycleEvents.read(setup.eventId);
  expect(canceled).toMatchObject({ state: 'canceled' });
  await store.lifecycleEvents.finish(setup, DELIVERED);
  await store.lifecycleEvents.postpone(setup, CLOCK.now + 1, 'cellCrashed');
  expect(await store.lifecycleEvents.read(setup.eventId)).toEqual(canceled);
});

test('a finished event has no record', async () => {
  const folder = await temporaryFolder();
  const store = await openStore(storeOptions(folder));
  const id = await installed(store);
  await edit(store, id, 1);
  await store.lifecycleEvents.finish(await claimed(store, id), DELIVERED);
  await store.close();
  const database = await openTestDatabase(folder);
  const rows = await database
    .selectFrom('life_events')
    .select(['state', 'sealed_record'])
    .orderBy('position')
    .execute();
  await database.destroy();
  expect(rows).toEqual([
    { state: 'delivered', sealed_record: '' },
    { state: 'pending', sealed_record: expect.stringMatching(/./) },
  ]);
});

test('installations with pending events are listed page by page, each once, and their events are counted', async () => {
  const store = await temporaryStore();
  const ids = [await installed(store)];
  for (const organization of ['b', 'c', 'd', 'e']) {
    const request = { integration: 'hello', organization, externalIds: [] };
    ids.push((await store.installations.install(request, OPERATOR)).installationId);
  }
  const [one = '', two = ''] = ids.sort();
  await edit(store, one, 1);
  await takeEvents(store, two);
  const found: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.lifecycleEvents.waitingInstallations({ cursor, limit: 2 });
    found.push(...page.items);
    cursor = page.next;
  } while (cursor !== undefined);
  expect(found).toEqual(ids.filter((id) => id !== two));
  expect(await store.lifecycleEvents.waiting()).toBe(5);
});

test('finished events are kept for lifeEventDays', async () => {
  const store = await temporaryStore({ lifeEventDays: 2 });
  const id = await installed(store);
  await store.lifecycleEvents.finish(await claimed(store, id), DELIVERED);
  await edit(store, id, 1);
  const kept = async () => (await store.lifecycleEvents.list({ installationId: id, limit: 9 })).items;
  CLOCK.now += 2 * DAY_MS;
  await store.lifecycleEvents.prune();
  expect(await kept()).toHaveLength(2);
  CLOCK.now += 1;
  await store.lifecycleEvents.prune();
  // A pending event stays, however old it is.
  expect(await kept()).toMatchObject([{ position: 2, state: 'pending' }]);
});

test('a sweep removes the log lines of deleted installations, and no others', async () => {
  const store = await temporaryStore();
  const gone = await installed(store);
  const request = { integration: 'hello', organization: 'b', externalIds: [] };
  const { installationId: there } = await store.installations.install(request, OPERATOR);
  await store.installations.uninstall(wholeInstallation(gone), OPERATOR);
  for (const tenant of [gone, there]) {
    store.logs.append({
      tenant,
      version: 1,
      requestId: 'r',
      level: 'info',
      text: 'late',
      at: CLOCK.now,
    });
  }
  await store.logs.pass();
  await store.logs.sweep();
  const lines = async (tenant: string) => (await store.logs.list({ tenant, limit: 9 })).items.length;
  expect([await lines(gone), await lines(there)]).toEqual([0, 1]);
});

/** Types and details of all events that can be delivered now, in order. */
async function deliverAll(store: Store, id: string): Promise<string[]> {
  const said: string[] = [];
  for (;;) {
    const event = await claimEvent(store, id);
    if (event === undefined) return said;
    const { status, spaceId = '', previous } = event.record().event as Record<string, string | undefined>;
    said.push(
      `${event.type} ${spaceId} ${status} ${previous === undefined ? 'new' : JSON.stringify(previous)}`,
    );
    await store.lifecycleEvents.finish(event, DELIVERED);
  }
}

test('events committed before a pause are held back and delivered after the resume, in order', async () => {
  const store = await temporaryStore();
  const id = await installed(store);
  const name = wholeInstallation(id);
  await edit(store, id, 1);
  await store.installations.pause(name, OPERATOR);
  expect(await store.lifecycleEvents.first(id)).toBeUndefined();
  await edit(store, id, 2);
  await edit(store, id, 3);
  expect(await store.lifecycleEvents.first(id)).toBeUndefined();
  expect((await store.lifecycleEvents.waitingInstallations({ limit: 10 })).items).toEqual([id]);
  await store.installations.resume(name, OPERATOR);
  expect(await deliverAll(store, id)).toEqual([
    'installation_setup  pending new',
    'installation_setup  pending {"status":"pending","configuration":{"note":"hello"}}',
    'installation_setup  pending {"status":"paused","configuration":{"note":"hello","count":1}}',
  ]);
});

test('an event of edits during two pauses has the state before the first of them', async () => {
  const store = await temporaryStore();
  const id = await installed(store);
  const name = wholeInstallation(id);
  await deliverAll(store, id);
  await store.installations.pause(name, OPERATOR);
  await edit(store, id, 1);
  await store.installations.resume(name, OPERATOR);
  // Before any event was delivered.
  await store.installations.pause(name, OPERATOR);
  await edit(store, id, 2);
  await store.installations.resume(name, OPERATOR);
  expect(await deliverAll(store, id)).toEqual([
    'installation_setup  pending {"status":"paused","configuration":{"note":"hello"}}',
  ]);
  await edit(store, id, 3);
  expect(await deliverAll(store, id)).toHaveLength(1);
});

test('a paused space holds back its own events, and others overtake them', async () => {
  const store = await temporaryStore();
  const id = await installed(store);
  const below = (place: string) =>
    store.installations.installBelow(
      { installationId: id, level: 'space', place, externalIds: [] },
      OPERATOR,
    );
  await deliverAll(store, id);
  await below('a');
  await store.installations.pause({ installationId: id, level: 'space', place: 'a' }, OPERATOR);
  await below('b');
  await edit(store, id, 1);
  expect((await deliverAll(store, id)).map((said) => said.split(' ').slice(0, 2))).toEqual([
    ['space_installation_setup', 'b'],
    ['installation_setup', ''],
  ]);
  await store.installations.resume({ installationId: id, level: 'space', place: 'a' }, OPERATOR);
  expect(await deliverAll(store, id)).toMatchObject([expect.stringContaining('space_installation_setup a')]);
});

test('a paused installation holds back events of its targets, except deletions', async () => {
  const store = await temporaryStore();
  const id = await installed(store);
  const below = (place: string) =>
    store.installations.installBelow(
      { installationId: id, level: 'space', place, externalIds: [] },
      OPERATOR,
    );
  await below('a');
  await below('b');
  await deliverAll(store, id);
  await store.installations.pause(wholeInstallation(id), OPERATOR);
  await below('c');
  await store.installations.uninstall({ installationId: id, level: 'space', place: 'b' }, OPERATOR);
  expect((await deliverAll(store, id)).map((said) => said.split(' ').slice(0, 2))).toEqual([
    ['space_installation_deleted', 'b'],
  ]);
  await store.installations.resume(wholeInstallation(id), OPERATOR);
  expect((await deliverAll(store, id)).map((said) => said.split(' ').slice(0, 2))).toEqual([
    ['space_installation_setup', 'c'],
  ]);
});
