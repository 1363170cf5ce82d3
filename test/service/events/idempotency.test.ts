/** An event is accepted once, however often it is posted; acknowledged events survive a crash. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { openStore, type Store } from '../../../src/host/store/store.ts';
import { intakeOf } from '../../support/deliveries/intake.ts';
import {
  acceptOne,
  installListener,
  postedEvent,
  publishListener,
  SOUND_EVENTS,
} from '../../support/deliveries/posted-events.ts';
import { TestService } from '../../support/service.ts';
import { fill, open } from '../../support/store/store-changes.ts';
import { storeOptions, temporaryFolder, temporaryStore } from '../../support/store/temporary-store.ts';

const ACCEPTING_PROCESS = fileURLToPath(new URL('../../support/crash/accepting-process.ts', import.meta.url));
const ACKNOWLEDGED_AT_LEAST = 200;

/** A store with one subscriber of the events of `postedEvent`. */
async function listening(): Promise<Store> {
  const store = await temporaryStore();
  await publishListener(store, { name: 'hello' });
  await installListener(store, 'hello');
  return store;
}

const everything = async (store: Store) => {
  const events = (await store.eventList.list({ limit: 100 })).items;
  const deliveries = (await store.deliveryList.list({ limit: 100 })).items;
  return { events: events.map(({ eventId }) => eventId).sort(), deliveries: deliveries.length };
};

describe('an event that is accepted again', () => {
  test('is answered like the first time, and has no new delivery', async () => {
    const store = await listening();
    const event = postedEvent({ eventId: 'e1' });
    expect(await acceptOne(store, event)).toEqual({ eventId: 'e1', deliveries: 1, isNew: true });
    // A later subscriber does not get an earlier event.
    await publishListener(store, { name: 'later' });
    await installListener(store, 'later');
    expect(await acceptOne(store, event)).toEqual({ eventId: 'e1', deliveries: 1, isNew: false });
    expect(await everything(store)).toEqual({ events: ['e1'], deliveries: 1 });
    expect(intakeOf(store).woken.map(({ id }) => id)).toEqual(
      (await store.deliveryList.ofEvent('e1')).map(({ id }) => id),
    );
    expect(store.backlog.waiting).toBe(1);
  });

  test('with another body is a conflict, and nothing of its request is accepted', async () => {
    const store = await listening();
    await acceptOne(store, postedEvent({ eventId: 'e1' }));
    const others = [postedEvent({ eventId: 'e2' }), postedEvent({ eventId: 'e1', bodyHash: 'other' })];
    await expect(intakeOf(store).acceptance.accept(others)).rejects.toMatchObject({
      code: 'EVENT_CONFLICT',
      message: 'events[1]: an event "e1" was accepted before, with another body.',
      extra: { eventId: 'e1', index: 1 },
    });
    expect(await everything(store)).toEqual({ events: ['e1'], deliveries: 1 });
    expect(store.backlog.waiting).toBe(1);
  });

  test('in the same request is accepted once; with another body, none is', async () => {
    const store = await listening();
    const twice = [postedEvent({ eventId: 'e1' }), postedEvent({ eventId: 'e1' })];
    expect(await intakeOf(store).acceptance.accept(twice)).toEqual([
      { eventId: 'e1', deliveries: 1, isNew: true },
      { eventId: 'e1', deliveries: 1, isNew: false },
    ]);
    const atOdds = [postedEvent({ eventId: 'e2' }), postedEvent({ eventId: 'e2', bodyHash: 'other' })];
    await expect(intakeOf(store).acceptance.accept(atOdds)).rejects.toMatchObject({
      code: 'EVENT_CONFLICT',
      message: 'events[1]: an event "e2" is in this request twice, with two bodies.',
    });
    expect(await everything(store)).toEqual({ events: ['e1'], deliveries: 1 });
  });
});

describe('requests at the same moment', () => {
  test('with the same event accept it once, and all but one are answered that it is known', async () => {
    const store = await listening();
    for (let round = 0; round < 10; round += 1) {
      const answers = await Promise.all(
        Array.from({ length: 20 }, () => acceptOne(store, postedEvent({ eventId: `e${round}` }))),
      );
      expect(answers.filter(({ isNew }) => isNew)).toHaveLength(1);
      expect(answers.every(({ deliveries }) => deliveries === 1)).toBe(true);
    }
    expect(await everything(store)).toMatchObject({ deliveries: 10 });
  });

  test('that conflict fail no other, though they share a commit', async () => {
    const store = await listening();
    const answers = await Promise.allSettled([
      intakeOf(store).acceptance.accept([postedEvent({ eventId: 'a' }), postedEvent({ eventId: 'b' })]),
      intakeOf(store).acceptance.accept([
        postedEvent({ eventId: 'c' }),
        postedEvent({ eventId: 'b', bodyHash: 'x' }),
      ]),
      // The conflicting request has written nothing.
      intakeOf(store).acceptance.accept([postedEvent({ eventId: 'c', bodyHash: 'y' })]),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(await everything(store)).toEqual({ events: ['a', 'b', 'c'], deliveries: 3 });
  });

  test('share commits', async () => {
    let ticks = 0;
    const store = await openStore({ ...storeOptions(await temporaryFolder()), wallNow: () => ++ticks });
    onTestFinished(() => store.close());
    await Promise.all(Array.from({ length: 200 }, () => acceptOne(store, postedEvent())));
    const { items } = await store.eventList.list({ limit: 200 });
    expect(items).toHaveLength(200);
    // Rows of one commit have one time, and this clock never returns a time twice.
    expect(new Set(items.map(({ createdAt }) => createdAt)).size).toBeLessThanOrEqual(3);
  });
});

describe('a body', () => {
  let annex: TestService;
  beforeAll(async () => {
    annex = await TestService.start();
    return () => annex.stop();
  });

  const EVENT = {
    eventId: 'posted',
    type: 'space_content_updated',
    organization: 'acme',
    ...SOUND_EVENTS['space_content_updated'],
  };
  const post = async (json: object) => {
    const { status, body } = await annex.api('POST', '/v1/events', { json, token: annex.platform });
    return [status, (body['error'] as { code?: string } | undefined)?.code];
  };

  test('is the same with its members in another order or other white space', async () => {
    expect(await post({ ...EVENT, extra: { a: 1, b: [{ c: 2, d: 3 }] } })).toEqual([202, undefined]);
    const turned = Object.fromEntries(Object.entries(EVENT).reverse());
    expect(await post({ extra: { b: [{ d: 3, c: 2 }], a: 1 }, ...turned })).toEqual([200, undefined]);
    const response = await fetch(`${annex.service.controlUrl}/v1/events`, {
      method: 'POST',
      headers: { authorization: `Bearer ${annex.platform}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...EVENT, extra: { a: 1, b: [{ c: 2, d: 3 }] } }, null, 4),
    });
    expect(response.status).toBe(200);
  });

  test.each([
    ['a member more', { other: 1 }],
    ['another value', { revisionId: 'r2' }],
    [
      'the items of a list in another order',
      { extra: { a: 1, b: [{ c: 2, d: 3 }].concat([{ c: 0, d: 0 }]) } },
    ],
    ['another organization', { organization: 'rival' }],
    ['an installation', { installationId: 'ins_x' }],
    ['another type', { type: 'space_view', ...SOUND_EVENTS['space_view'] }],
  ])('with %s is another body', async (_, more) => {
    expect(await post({ ...EVENT, extra: { a: 1, b: [{ c: 2, d: 3 }] }, ...more })).toEqual([
      409,
      'EVENT_CONFLICT',
    ]);
  });
});

test('acknowledged events survive SIGKILL, each with its deliveries', {
  timeout: 60_000,
}, async () => {
  const folder = await temporaryFolder();
  const before = await open(folder, 'fill');
  await fill(before);
  await publishListener(before, { name: 'listener' });
  await installListener(before, 'listener');
  await before.close();
  const child = spawn(process.execPath, [ACCEPTING_PROCESS, folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const acknowledged: string[] = [];
  for await (const eventId of createInterface({ input: child.stdout })) {
    acknowledged.push(eventId);
    if (acknowledged.length === ACKNOWLEDGED_AT_LEAST) child.kill('SIGKILL');
  }
  expect(await exited).toEqual([null, 'SIGKILL']);
  const store = await open(folder, 'reopen');
  try {
    for (const eventId of acknowledged) {
      expect(await store.eventList.read(eventId)).toMatchObject({ eventId, deliveries: 2 });
      const made = await store.deliveryList.ofEvent(eventId);
      const pending = made.filter(({ state }) => state === 'pending');
      expect(pending.map(({ integration }) => integration).sort()).toEqual(['hello', 'listener']);
    }
    expect(acknowledged.length).toBeGreaterThanOrEqual(ACKNOWLEDGED_AT_LEAST);
    // An event that was not acknowledged yet but is stored has its deliveries, too.
    expect(store.backlog.waiting).toBe(2 * (await countEvents(store)));
  } finally {
    await store.close();
  }
});

async function countEvents(store: Store): Promise<number> {
  let [count, cursor]: [number, string | undefined] = [0, undefined];
  do {
    const page = await store.eventList.list({ limit: 100, cursor });
    count += page.items.length;
    cursor = page.next;
  } while (cursor !== undefined);
  return count;
}
