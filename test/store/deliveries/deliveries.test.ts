/**
 * Deliveries in the store: claims, outcomes, due times, and what a lost claim can still write.
 */
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { openStore } from '../../../src/host/store/store.ts';
import { intakeOf } from '../../support/deliveries/intake.ts';
import {
  answered,
  claimed,
  deliveriesOf,
  ended,
  ending,
  installHandler,
  installWebhook,
  later,
  listeningStore,
} from '../../support/deliveries/waiting-deliveries.ts';
import {
  CLOCK,
  OPERATOR,
  storeOptions,
  temporaryFolder,
  temporaryStore,
} from '../../support/store/temporary-store.ts';
import { IS_POSTGRES, openTestDatabase } from '../../support/store/test-engine.ts';

const LEASE_MS = 30_000;
const PAYLOAD = { destination: 'https://receiver.example/hook', payload: '{"text":"Grüße"}', revision: '1' };

/** From now on every update of this delivery fails. */
async function failingUpdates(folder: string, id: string): Promise<void> {
  const database = await openTestDatabase(folder);
  const when = sql`create trigger broken before update on deliveries`;
  const row = sql`when (old.id = ${sql.lit(id)})`;
  if (IS_POSTGRES) {
    await sql`create function fail() returns trigger language plpgsql as 'begin raise ''disk''; end'`.execute(
      database,
    );
    await sql`${when} for each row ${row} execute function fail()`.execute(database);
  } else await sql`${when} ${row} begin select raise(abort, 'disk'); end`.execute(database);
  await database.destroy();
}

describe('a claim', () => {
  test('reserves a delivery, with its event and payload, for one claimant', async () => {
    const store = await listeningStore();
    const [id = ''] = await deliveriesOf(store, 1);
    const claim = await claimed(store, id);
    expect(claim).toMatchObject({ id, fence: 1, kind: 'handler', state: 'pending', attempts: 0 });
    expect(JSON.parse(claim.eventBody)).toMatchObject({ eventId: claim.eventId, type: 'site_view' });
    expect(claim).not.toHaveProperty('payload');
    expect(await store.deliveryClaims.claim([id])).toEqual([]);
  });

  test('of many at once returns those that can be claimed, in order', async () => {
    const store = await listeningStore();
    const [one = '', two = '', three = '', four = ''] = await deliveriesOf(store, 4);
    await claimed(store, two);
    await ended(store, [four]);
    const claims = await store.deliveryClaims.claim([three, two, 'nobody.1', four, one, one]);
    expect(claims.map(({ id }) => id)).toEqual([three, one]);
  });

  test('is refused before the delivery is due', async () => {
    const store = await listeningStore();
    const [id = ''] = await deliveriesOf(store, 1);
    await ended(store, [id], { state: 'pending', dueAt: CLOCK.now + 1_000, retries: 1 });
    expect(await store.deliveryClaims.claim([id])).toEqual([]);
    expect(await store.deliveryClaims.claim([id], CLOCK.now + 999)).toEqual([]);
    const [claim] = await store.deliveryClaims.claim([id], CLOCK.now + 1_000);
    expect(claim).toMatchObject({ fence: 2, retries: 1, attempts: 1 });
  });

  test('that is released is as if it had never been made', async () => {
    const store = await listeningStore();
    const [id = ''] = await deliveriesOf(store, 1);
    const before = await store.deliveryList.read(id);
    const first = await claimed(store, id);
    await store.deliveryClaims.release([first]);
    expect(await store.deliveryList.read(id)).toEqual(before);
    const second = await claimed(store, id);
    expect(second.fence).toBeGreaterThan(first.fence);
    // Writes under the first claim come too late.
    await store.deliveryClaims.release([first]);
    expect(await store.deliveryClaims.claim([id])).toEqual([]);
  });

  test('lasts deliveryLeaseMs, and as long again after each renewal', async () => {
    const store = await listeningStore({ deliveryLeaseMs: LEASE_MS });
    const [id = '', other = ''] = await deliveriesOf(store, 2);
    const claim = await claimed(store, id);
    const lost = await claimed(store, other);
    await intakeOf(store).deliveryActions.cancel(other, OPERATOR);
    later(LEASE_MS - 1);
    expect(await store.deliveryClaims.recover({ all: false })).toEqual([]);
    expect(await store.deliveryClaims.renew([claim, lost])).toEqual([id]);
    later(LEASE_MS - 1);
    expect(await store.deliveryClaims.recover({ all: false })).toEqual([]);
    later(1);
    expect(await store.deliveryClaims.recover({ all: false })).toMatchObject([{ id }]);
    expect(await store.deliveryClaims.renew([claim])).toEqual([]);
  });
});

describe('the outcome of a claimed delivery', () => {
  test('is stored with its attempt', async () => {
    const store = await listeningStore();
    const [id = ''] = await deliveriesOf(store, 1);
    const attempt = {
      ...answered(),
      destination: 'https://receiver.example/hook',
      response: 'thanks',
      truncated: true,
    };
    await ended(store, [id], { attempt });
    const delivery = await store.deliveryList.read(id);
    expect(delivery).toMatchObject({ state: 'delivered', attempts: 1, outcome: 'answered 200' });
    expect(delivery).toMatchObject({ finishedAt: CLOCK.now });
    expect(await store.deliveryList.attempts(id)).toEqual([{ number: 1, ...attempt }]);
  });

  test('may be another attempt later; each attempt is stored', async () => {
    const store = await listeningStore();
    const [id = ''] = await deliveriesOf(store, 1);
    const failed = { at: CLOCK.now, durationMs: 10_000, result: 'failed', outcome: 'timeout' } as const;
    const change = { state: 'pending', dueAt: CLOCK.now, retries: 1, faults: 2, unknowns: 3 } as const;
    await ended(store, [id], { ...change, outcome: 'timeout', attempt: failed });
    const waits = await store.deliveryList.read(id);
    expect(waits).toMatchObject({ ...change, attempts: 1, outcome: 'timeout' });
    expect(waits).not.toHaveProperty('finishedAt');
    await ended(store, [id]);
    expect(await store.deliveryList.attempts(id)).toMatchObject([
      { number: 1, outcome: 'timeout' },
      { number: 2, outcome: 'answered 200' },
    ]);
  });

  test('may be final without an attempt, if there was no target to call', async () => {
    const store = await listeningStore();
    const [id = ''] = await deliveriesOf(store, 1);
    const { attempt: _, ...end } = ending(await claimed(store, id), { state: 'canceled', outcome: 'paused' });
    expect(await store.deliveryClaims.settle(end)).toBe(true);
    expect(await store.deliveryList.read(id)).toMatchObject({ state: 'canceled', attempts: 0 });
    expect(await store.deliveryList.attempts(id)).toEqual([]);
  });

  test('is accepted from the latest claim only: a write of an earlier claim changes nothing, and reports so', async () => {
    const store = await listeningStore();
    const [id = ''] = await deliveriesOf(store, 1);
    const first = await claimed(store, id);
    later(LEASE_MS);
    await store.deliveryClaims.recover({ all: false });
    // Between two claims …
    expect(await store.deliveryClaims.settle(ending(first))).toBe(false);
    const second = await claimed(store, id);
    // … and after the second one began.
    expect(await store.deliveryClaims.settle(ending(first))).toBe(false);
    expect(await store.deliveryClaims.keepPayload(first, PAYLOAD)).toBe(false);
    expect(await store.deliveryClaims.renew([first])).toEqual([]);
    expect(await store.deliveryList.read(id)).toMatchObject({ state: 'pending', attempts: 0 });
    expect(await store.deliveryList.attempts(id)).toEqual([]);
    expect(await store.deliveryClaims.settle(ending(second))).toBe(true);
    expect(await store.deliveryClaims.settle(ending(second))).toBe(false);
    expect(await store.deliveryList.attempts(id)).toHaveLength(1);
  });

  test('is accepted from the latest claim only, also if both are written in one batch', async () => {
    const store = await temporaryStore();
    await installWebhook(store);
    const [id = ''] = await deliveriesOf(store, 1);
    const lost = await claimed(store, id);
    await intakeOf(store).deliveryActions.cancel(id, OPERATOR);
    await intakeOf(store).deliveryActions.redeliver(id, OPERATOR);
    const held = await claimed(store, id);
    const kept = [lost, held].map((claim) => store.deliveryClaims.keepPayload(claim, PAYLOAD));
    expect(await Promise.all(kept)).toEqual([false, true]);
    const failed = { state: 'failed', outcome: 'answered 400' } as const;
    const ends = [
      ending(lost, { ...failed, attempt: { ...answered(), ...failed, status: 400 } }),
      ending(held),
    ];
    expect(await Promise.all(ends.map((end) => store.deliveryClaims.settle(end)))).toEqual([false, true]);
    expect(await store.deliveryList.attempts(id)).toMatchObject([{ number: 1, status: 200 }]);
    expect(await store.deliveryList.read(id)).toMatchObject({ state: 'delivered', attempts: 1 });
  });

  test('is stored once, however many concurrent writes there are; other deliveries in the batch are stored, too', async () => {
    const store = await listeningStore();
    const [one = '', two = '', three = ''] = await deliveriesOf(store, 3);
    const [first, second, third] = await Promise.all([one, two, three].map((id) => claimed(store, id)));
    if (first === undefined || second === undefined || third === undefined) throw new Error('unclaimed');
    await store.deliveryClaims.release([second]);
    const said = [first, first, second, third, first].map((claim) =>
      store.deliveryClaims.settle(ending(claim)),
    );
    expect(await Promise.all(said)).toEqual([true, false, false, true, false]);
    expect(await store.deliveryList.attempts(one)).toHaveLength(1);
    expect(await store.deliveryList.attempts(two)).toHaveLength(0);
    expect(await store.deliveryList.attempts(three)).toHaveLength(1);
  });

  test('is truncated to a few words', async () => {
    const store = await listeningStore();
    const [id = ''] = await deliveriesOf(store, 1);
    const outcome = 'x'.repeat(10_000);
    await ended(store, [id], { outcome, attempt: { ...answered(), outcome } });
    expect((await store.deliveryList.read(id))?.outcome).toHaveLength(200);
    expect((await store.deliveryList.attempts(id))[0]?.outcome).toHaveLength(200);
  });
});

describe('a payload', () => {
  test('is the same for every later claim, and after the end, whatever is made later', async () => {
    const store = await temporaryStore();
    await installWebhook(store);
    const [id = ''] = await deliveriesOf(store, 1);
    const claim = await claimed(store, id);
    expect(claim).toMatchObject({ kind: 'webhook' });
    expect(await store.deliveryClaims.keepPayload(claim, PAYLOAD)).toBe(true);
    await store.deliveryClaims.release([claim]);
    const again = await claimed(store, id);
    expect(again.payload).toEqual(PAYLOAD);
    const moved = { destination: 'https://elsewhere.example/', payload: '{"text":"other"}', revision: '2' };
    expect(await store.deliveryClaims.keepPayload(again, moved)).toBe(true);
    const kept = { ...moved, payload: PAYLOAD.payload };
    expect(await store.deliveryList.payload(id)).toEqual(kept);
    await store.deliveryClaims.settle(ending(again));
    expect(await store.deliveryList.payload(id)).toEqual(kept);
    await intakeOf(store).deliveryActions.redeliver(id, OPERATOR);
    expect((await claimed(store, id)).payload).toEqual(kept);
  });

  test('is not stored under a lost claim', async () => {
    const store = await temporaryStore();
    await installWebhook(store);
    const [id = ''] = await deliveriesOf(store, 1);
    const claim = await claimed(store, id);
    await intakeOf(store).deliveryActions.cancel(id, OPERATOR);
    expect(await store.deliveryClaims.keepPayload(claim, PAYLOAD)).toBe(false);
    expect(await store.deliveryList.payload(id)).toBeUndefined();
  });
});

describe('the lease of a dead or delayed holder', () => {
  test('is taken back at the start, whatever its end, and its delivery is due at once', async () => {
    const folder = await temporaryFolder();
    const before = await openStore(storeOptions(folder));
    await installHandler(before);
    const ids = await deliveriesOf(before, 600);
    const held = await before.deliveryClaims.claim(ids.slice(0, 550));
    expect(held).toHaveLength(550);
    await before.close();
    const store = await openStore(storeOptions(folder));
    try {
      expect(store.backlog.waiting).toBe(600);
      const back = await store.deliveryClaims.recover({ all: true });
      expect(back.map(({ id }) => id).sort()).toEqual(ids.slice(0, 550));
      expect(back[0]).toMatchObject({ organization: 'acme', endpoint: held[0]?.endpoint });
      expect(await store.deliveryClaims.recover({ all: true })).toEqual([]);
      expect(await store.deliveryList.read(ids[0] ?? '')).toMatchObject({ state: 'pending', unknowns: 1 });
      expect(await store.deliveryList.read(ids[599] ?? '')).toMatchObject({ unknowns: 0 });
      expect(await store.deliveryClaims.claim(ids)).toHaveLength(600);
    } finally {
      await store.close();
    }
  });

  // If they were not returned, no later recovery would find them.
  test('is reported as taken back, even if later batches fail', async () => {
    const folder = await temporaryFolder();
    const before = await openStore(storeOptions(folder));
    await installHandler(before);
    const ids = await deliveriesOf(before, 260);
    const last = ids.at(-1) ?? '';
    await before.deliveryClaims.claim(ids.slice(0, -1));
    later(1);
    await claimed(before, last);
    await before.close();
    await failingUpdates(folder, last);
    const store = await openStore(storeOptions(folder));
    try {
      later(LEASE_MS);
      const back = await store.deliveryClaims.recover({ all: false });
      // Of equal leases any may be taken back first.
      expect(new Set(back.map(({ id }) => id)).size).toBe(250);
      expect(back.map(({ id }) => id)).not.toContain(last);
      await expect(store.deliveryClaims.recover({ all: false })).rejects.toThrow('disk');
    } finally {
      await store.close();
    }
  });

  test('moves its delivery behind the others of its endpoint, in case it crashed the process', async () => {
    const store = await listeningStore();
    const [one = '', two = ''] = await deliveriesOf(store, 2);
    const { endpoint } = await claimed(store, one);
    later(LEASE_MS);
    await store.deliveryClaims.recover({ all: false });
    expect(await store.deliveryQueue.due(endpoint, CLOCK.now, 5)).toEqual({ ids: [two, one], more: false });
  });

  test('counts an unknown outcome each time', async () => {
    const store = await listeningStore();
    const [id = ''] = await deliveriesOf(store, 1);
    for (let unknowns = 0; unknowns < 5; unknowns += 1) {
      expect(await claimed(store, id)).toMatchObject({ unknowns, retries: 0, attempts: 0 });
      await store.deliveryClaims.recover({ all: true });
    }
  });

  test('of a webhook counts only if a payload was stored that could have been posted', async () => {
    const store = await temporaryStore();
    await installWebhook(store);
    const [id = ''] = await deliveriesOf(store, 1);
    await claimed(store, id);
    await store.deliveryClaims.recover({ all: true });
    const claim = await claimed(store, id);
    expect(claim).toMatchObject({ unknowns: 0 });
    await store.deliveryClaims.keepPayload(claim, PAYLOAD);
    await store.deliveryClaims.recover({ all: true });
    expect(await claimed(store, id)).toMatchObject({ unknowns: 1, payload: PAYLOAD });
  });
});

describe('pending deliveries', () => {
  test('are found by endpoint, page by page, with their organization', async () => {
    const store = await temporaryStore();
    const organizations = ['acme', 'umbrella', 'globex'];
    for (const organization of organizations) {
      await installHandler(store, organization);
      await deliveriesOf(store, 3, { organization });
    }
    const all = await store.deliveryQueue.waitingEndpoints({ limit: 10 });
    expect(all.next).toBeUndefined();
    expect(all.items.map(({ organization }) => organization).sort()).toEqual([...organizations].sort());
    const first = await store.deliveryQueue.waitingEndpoints({ limit: 2 });
    const second = await store.deliveryQueue.waitingEndpoints({ limit: 2, cursor: first.next });
    expect([...first.items, ...second.items]).toEqual(all.items);
    expect(second.next).toBeUndefined();
  });

  test('do not include endpoints whose deliveries are all finished', async () => {
    const store = await listeningStore();
    await ended(store, await deliveriesOf(store, 2));
    expect(await store.deliveryQueue.waitingEndpoints({ limit: 10 })).toEqual({ items: [] });
  });

  test('that are due and not claimed are found by endpoint, with whether a node works on it', async () => {
    const store = await temporaryStore();
    const idsOf: Record<string, string[]> = {};
    for (const organization of ['one-claimed', 'all-claimed', 'unclaimed']) {
      await installHandler(store, organization);
      idsOf[organization] = await deliveriesOf(store, 3, { organization });
    }
    const claim = (ids: readonly string[]) => store.deliveryClaims.claim(ids);
    await claim(idsOf['one-claimed']?.slice(0, 1) ?? []);
    await claim(idsOf['all-claimed'] ?? []);
    const found = async (dueBy: number) => {
      const { items } = await store.deliveryQueue.dueEndpoints({ limit: 10 }, dueBy);
      return Object.fromEntries(items.map(({ organization, isWorkedOn }) => [organization, isWorkedOn]));
    };
    const { dueAt = 0 } = (await store.deliveryList.read(idsOf['unclaimed']?.[0] ?? '')) ?? {};
    expect(await found(dueAt)).toEqual({ 'one-claimed': true, unclaimed: false });
    expect(await found(dueAt - 60_000)).toEqual({});
  });

  test('are due in the order of their times, without claimed ones; the next due time is returned', async () => {
    const store = await listeningStore();
    const [one = '', two = '', three = '', four = ''] = await deliveriesOf(store, 4);
    const { endpoint } = await claimed(store, two);
    await ended(store, [one], { state: 'pending', dueAt: CLOCK.now + 2_000 });
    const due = (now: number, limit: number) => store.deliveryQueue.due(endpoint, now, limit);
    expect(await due(CLOCK.now, 1)).toEqual({ ids: [three], more: true });
    const next = { nextAt: CLOCK.now + 2_000, nextId: one };
    expect(await due(CLOCK.now, 2)).toEqual({ ids: [three, four], more: false, ...next });
    expect(await due(CLOCK.now, 9)).toEqual({ ids: [three, four], more: false, ...next });
    expect(await due(CLOCK.now + 2_000, 9)).toEqual({ ids: [three, four, one], more: false });
    expect(await due(CLOCK.now - 1, 9)).toEqual({
      ...{ ids: [], more: false },
      ...{ nextAt: CLOCK.now, nextId: three },
    });
    expect(await store.deliveryQueue.due('nobody', CLOCK.now, 9)).toEqual({ ids: [], more: false });
  });

  test('are counted: accepted, finished, canceled and redelivered ones', async () => {
    const store = await listeningStore();
    const counted = () => store.backlog.waiting;
    const [one = '', two = '', three = ''] = await deliveriesOf(store, 3);
    expect(await counted()).toBe(3);
    await ended(store, [one]);
    await ended(store, [two], { state: 'pending' });
    expect(await counted()).toBe(2);
    await intakeOf(store).deliveryActions.cancel(three, OPERATOR);
    expect(await counted()).toBe(1);
    await intakeOf(store).deliveryActions.redeliver(one, OPERATOR);
    expect(await counted()).toBe(2);
    const claim = await claimed(store, one);
    await intakeOf(store).deliveryActions.cancel(one, OPERATOR);
    expect(await store.deliveryClaims.settle(ending(claim))).toBe(false);
    expect(await counted()).toBe(1);
  });
});
