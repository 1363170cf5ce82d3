/**
 * Claims of lifecycle events by several nodes: one event of an installation is in flight at a
 * time, and only the latest claim of an event writes.
 */
import { expect, test } from 'vitest';
import type { LifecycleEvents } from '../../../src/host/store/installations/lifecycle-events.ts';
import { wholeInstallation } from '../../../src/model/installation.ts';
import { sharedLifecycleEvents } from '../../support/store/shared-lifecycle-events.ts';
import { OPERATOR } from '../../support/store/temporary-store.ts';

const DELIVERED = { state: 'delivered', outcome: 'answered 200', called: true } as const;
/** Longer than any lease with the default limits. */
const LEASE_OVER_MS = 120_000;
const DAY_MS = 24 * 60 * 60 * 1_000;

async function first(events: LifecycleEvents, id: string) {
  const found = await events.first(id);
  if (found === undefined) throw new Error('No event waits.');
  return found;
}

async function claimed(events: LifecycleEvents, id: string) {
  const claim = await events.claim(await first(events, id));
  if (claim === undefined) throw new Error('No event can be claimed.');
  return claim;
}

/** Two nodes, and an installation with two events. */
async function two() {
  const shared = await sharedLifecycleEvents();
  const id = await shared.install();
  await shared.edit(id, 1);
  return { ...shared, id, one: shared.events(), other: shared.events() };
}

test('of many claims of one event at the same time, one succeeds', async () => {
  const { id, one, other } = await two();
  const found = await first(one, id);
  const claims = await Promise.all(Array.from({ length: 20 }, (_, n) => (n % 2 ? one : other).claim(found)));
  expect(claims.filter((claim) => claim !== undefined)).toHaveLength(1);
});

test('while an event is in flight, another node sees until when, and claims no event of the installation', async () => {
  const { id, one, other, install, time } = await two();
  const claim = await claimed(one, id);
  const seen = await first(other, id);
  expect(seen).toMatchObject({ eventId: claim.eventId, leasedUntil: expect.any(Number) });
  // Longer than a call that waits for its place and then takes all its time.
  expect((seen.leasedUntil ?? 0) - time.now).toBeGreaterThan(55_000);
  expect(await other.claim(seen)).toBeUndefined();
  await claimed(other, await install());
});

test('events are claimed in the order of the commits, by whichever node', async () => {
  const { id, one, other, edit } = await two();
  await edit(id, 2);
  const positions: number[] = [];
  for (const events of [one, other, one]) {
    const claim = await claimed(events, id);
    positions.push(claim.position);
    await events.finish(claim, DELIVERED);
  }
  expect(positions).toEqual([1, 2, 3]);
});

test('two nodes that find different events first, around a resume, do not deliver both at once', async () => {
  const { id, one, other, installations, pause, resume } = await two();
  const space = { installationId: id, level: 'space', place: 'a' } as const;
  await one.finish(await claimed(one, id), DELIVERED);
  await one.finish(await claimed(one, id), DELIVERED);
  await installations.installBelow({ ...space, externalIds: [] }, OPERATOR);
  await pause(space);
  await installations.installBelow({ ...space, place: 'b', externalIds: [] }, OPERATOR);
  const overtaking = await first(one, id);
  await resume(space);
  const held = await first(other, id);
  expect(held.eventId).not.toBe(overtaking.eventId);

  const claim = await other.claim(held);
  expect(claim).toBeDefined();
  expect(await one.claim(overtaking)).toBeUndefined();
  if (claim) await other.finish(claim, DELIVERED);
  expect(await claimed(one, id)).toMatchObject({ eventId: overtaking.eventId, attempts: 0 });
});

test('an expired lease is taken over, and the claim before it writes nothing any more', async () => {
  const { id, one, other, time } = await two();
  const lost = await claimed(one, id);
  time.pass(LEASE_OVER_MS);
  const taken = await claimed(other, id);
  expect(taken).toMatchObject({ eventId: lost.eventId, attempts: 0 });
  const before = [await other.read(lost.eventId), await first(other, id)];
  expect(await one.finish(lost, DELIVERED)).toBe(false);
  expect(await one.postpone(lost, time.now + 1, 'cellCrashed')).toBe(false);
  await one.release(lost);
  expect([await other.read(lost.eventId), await first(other, id)]).toEqual(before);
  expect(await other.finish(taken, DELIVERED)).toBe(true);
  expect(await other.finish(taken, DELIVERED)).toBe(false);
});

test('an outcome that comes after the lease counts if nobody else has claimed the event', async () => {
  const { id, one, time } = await two();
  const claim = await claimed(one, id);
  time.pass(LEASE_OVER_MS);
  expect(await one.finish(claim, DELIVERED)).toBe(true);
});

test('a released or postponed event can be claimed at once, and only a postponed one counts an attempt', async () => {
  const { id, one, other, time } = await two();
  await one.release(await claimed(one, id));
  const again = await claimed(other, id);
  expect(again).toMatchObject({ position: 1, attempts: 0 });
  await other.postpone(again, time.now, 'cellCrashed');
  expect(await claimed(one, id)).toMatchObject({ position: 1, attempts: 1 });
});

test('an event found before another node has claimed and released it cannot be claimed', async () => {
  const { id, one, other } = await two();
  const found = await first(one, id);
  await other.release(await claimed(other, id));
  expect(await one.claim(found)).toBeUndefined();
});

test('the deletion waits for the end of the call whose setup event it has canceled', async () => {
  const { id, one, other, uninstall } = await two();
  const setup = await claimed(one, id);
  await uninstall(wholeInstallation(id));
  expect(await first(other, id)).toMatchObject({ leasedUntil: expect.any(Number) });
  expect(await one.finish(setup, DELIVERED)).toBe(false);
  expect(await one.read(setup.eventId)).toMatchObject({ state: 'canceled' });
  expect(await claimed(other, id)).toMatchObject({ type: 'installation_deleted' });
});

test('an edit in a pause does not replace the event of an earlier pause whose call has begun', async () => {
  const { id, one, other, edit, pause, resume } = await two();
  const whole = wholeInstallation(id);
  await one.finish(await claimed(one, id), DELIVERED);
  await one.finish(await claimed(one, id), DELIVERED);
  await pause(whole);
  await edit(id, 2);
  await resume(whole);
  const held = await claimed(one, id);
  await pause(whole);
  await edit(id, 3);
  await resume(whole);
  expect(await first(other, id)).toMatchObject({ leasedUntil: expect.any(Number) });
  expect(await one.finish(held, DELIVERED)).toBe(true);
  expect((await claimed(other, id)).record().event).toMatchObject({
    previous: { configuration: { count: 2 } },
  });
});

test('a lease from before the clock was set back holds nothing up', async () => {
  const { id, one, other, time } = await two();
  const claim = await claimed(one, id);
  time.now -= DAY_MS;
  expect(await claimed(other, id)).toMatchObject({ eventId: claim.eventId });
});

test('a node that has the database to itself ends the leases of the process before it', async () => {
  const { id, one, other } = await two();
  const claim = await claimed(one, id);
  await other.recover();
  expect(await claimed(other, id)).toMatchObject({ eventId: claim.eventId, attempts: 0 });
});

test('installations with an event to deliver now are listed page by page, without those that wait', async () => {
  const { events, install, pause, time } = await sharedLifecycleEvents();
  const one = events();
  const ids: string[] = [];
  for (let count = 0; count < 9; count += 1) ids.push(await install());
  const [inFlight = '', postponed = '', paused = '', delivered = '', expired = '', ...due] = ids;
  await claimed(one, expired);
  time.pass(LEASE_OVER_MS);
  await claimed(one, inFlight);
  await one.postpone(await claimed(one, postponed), time.now + 1_000, 'cellCrashed');
  await pause(wholeInstallation(paused));
  await one.finish(await claimed(one, delivered), DELIVERED);
  const listed = async () => {
    const found: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await one.dueInstallations({ cursor, limit: 2 });
      found.push(...page.items);
      cursor = page.next;
    } while (cursor !== undefined);
    return found;
  };
  expect(await listed()).toEqual([expired, ...due].sort());
  time.pass(1_000);
  expect(await listed()).toEqual([expired, postponed, ...due].sort());
});
