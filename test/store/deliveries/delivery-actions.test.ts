/**
 * Cancel, redelivery, replay and lists of deliveries, with their audit entries.
 */

import { describe, expect, test } from 'vitest';
import { ROWS_PER_SEARCH } from '../../../src/host/store/deliveries/delivery-search.ts';
import type { Store } from '../../../src/host/store/store.ts';
import { wholeInstallation } from '../../../src/model/installation.ts';
import { intakeOf, openTestIntake } from '../../support/deliveries/intake.ts';
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
  SITE,
} from '../../support/deliveries/waiting-deliveries.ts';
import { targetsOf } from '../../support/store/targets.ts';
import { CLOCK, OPERATOR, temporaryStore } from '../../support/store/temporary-store.ts';

const FAILED = { state: 'failed', outcome: 'answered 500', retries: 3, unknowns: 2, faults: 1 } as const;

const auditOf = async (
  { audit }: Store,
  action: 'delivery.redeliver' | 'delivery.replay' | 'delivery.cancel',
) => (await audit.list({ action, limit: 100 })).items;

/** All pages of a list, with the length of each. */
async function pages(store: Store, query: Parameters<Store['deliveryList']['list']>[0]) {
  const all: string[][] = [];
  let cursor: string | undefined;
  do {
    const { items, next } = await store.deliveryList.list({ ...query, cursor });
    all.push(items.map(({ id }) => id));
    cursor = next;
  } while (cursor !== undefined);
  return all;
}

/** The installation of the only delivery, or of the given one. */
async function installationOf({ deliveryList }: Store, id = ''): Promise<string> {
  return (await deliveryList.read(id))?.target.installationId ?? '';
}

describe('a redelivered delivery', () => {
  test('is pending with a new budget, and continues to number its attempts', async () => {
    const store = await listeningStore();
    const [id = ''] = await deliveriesOf(store, 1);
    await ended(store, [id], FAILED);
    later(60_000);
    const delivery = await intakeOf(store).deliveryActions.redeliver(id, OPERATOR);
    expect(delivery).toMatchObject({ id, state: 'pending', attempts: 1, retries: 0, unknowns: 0, faults: 0 });
    expect(delivery).toMatchObject({ dueAt: CLOCK.now, armedAt: CLOCK.now });
    expect(delivery).not.toHaveProperty('finishedAt');
    expect(await store.deliveryList.read(id)).toEqual(delivery);
    expect(intakeOf(store).woken.slice(1)).toEqual([
      { id, endpoint: delivery.endpoint, organization: 'acme', integration: 'listener' },
    ]);
    await ended(store, [id]);
    expect((await store.deliveryList.attempts(id)).map(({ number }) => number)).toEqual([1, 2]);
  });

  test.each([
    ['the installation', 'organization'],
    ['its target in a site', 'site'],
  ] as const)('is armed after a pause of %s, also if the clock was set back', async (_, level) => {
    const store = await temporaryStore();
    const installationId = await installWebhook(store);
    const [id = ''] = await deliveriesOf(store, 1);
    await ended(store, [id], FAILED);
    const target =
      level === 'site' ? { installationId, level, place: SITE } : wholeInstallation(installationId);
    later(60_000);
    const pausedAt = CLOCK.now;
    await store.installations.pause(target, OPERATOR);
    await store.installations.resume(target, OPERATOR);
    later(-30_000);
    const anew = { state: 'pending', dueAt: CLOCK.now, armedAt: pausedAt + 1 };
    expect(await intakeOf(store).deliveryActions.redeliver(id, OPERATOR)).toMatchObject(anew);
    await ended(store, [id], FAILED);
    await intakeOf(store).deliveryActions.replay({ installationId, state: 'failed' }, OPERATOR);
    expect(await store.deliveryList.read(id)).toMatchObject(anew);
    // As is a new one.
    const [fresh = ''] = await deliveriesOf(store, 1);
    expect(await store.deliveryList.read(fresh)).toMatchObject(anew);
    // The next pause comes after both.
    await store.installations.pause(target, OPERATOR);
    await store.installations.resume(target, OPERATOR);
    const found = await targetsOf(store).targets.named({ installationId, level: 'site', place: SITE });
    expect(found?.pausedAt).toBe(pausedAt + 1);
  });

  test.each(['delivered', 'unhandled', 'failed', 'canceled'] as const)('may have been %s', async (state) => {
    const store = await listeningStore();
    const [id = ''] = await deliveriesOf(store, 1);
    await ended(store, [id], { state });
    expect(await intakeOf(store).deliveryActions.redeliver(id, OPERATOR)).toMatchObject({ state: 'pending' });
    expect(await claimed(store, id)).toMatchObject({ fence: 3 });
  });

  test('must be finished: a pending one, or one in flight, is not changed', async () => {
    const store = await listeningStore();
    const [id = ''] = await deliveriesOf(store, 1);
    await expect(intakeOf(store).deliveryActions.redeliver(id, OPERATOR)).rejects.toMatchObject({
      code: 'DELIVERY_PENDING',
    });
    const claim = await claimed(store, id);
    await expect(intakeOf(store).deliveryActions.redeliver(id, OPERATOR)).rejects.toMatchObject({
      code: 'DELIVERY_PENDING',
    });
    expect(await store.deliveryClaims.settle(ending(claim))).toBe(true);
    expect(await auditOf(store, 'delivery.redeliver')).toEqual([]);
  });

  test('must exist', async () => {
    const store = await listeningStore();
    const unknown = { code: 'DELIVERY_UNKNOWN' };
    await expect(intakeOf(store).deliveryActions.redeliver('nobody.1', OPERATOR)).rejects.toMatchObject(
      unknown,
    );
    await expect(intakeOf(store).deliveryActions.cancel('nobody.1', OPERATOR)).rejects.toMatchObject(unknown);
  });

  test('is in the audit, with its event and its target', async () => {
    const store = await listeningStore();
    const [id = ''] = await deliveriesOf(store, 1);
    await ended(store, [id], FAILED);
    const { eventId, target } = await intakeOf(store).deliveryActions.redeliver(id, OPERATOR);
    expect(await auditOf(store, 'delivery.redeliver')).toMatchObject([
      { ...target, organization: 'acme', integration: 'listener', details: { delivery: id, event: eventId } },
    ]);
  });
});

describe('a canceled delivery', () => {
  test('is finished, whether it was pending or in flight; the outcome of an attempt in flight is discarded', async () => {
    const store = await listeningStore();
    const [waiting = '', inFlight = ''] = await deliveriesOf(store, 2);
    const claim = await claimed(store, inFlight);
    for (const id of [waiting, inFlight])
      expect(await intakeOf(store).deliveryActions.cancel(id, OPERATOR)).toMatchObject({
        ...{ state: 'canceled', outcome: 'canceled', finishedAt: CLOCK.now },
      });
    expect(await store.deliveryClaims.settle(ending(claim, { attempt: answered() }))).toBe(false);
    expect(await store.deliveryList.read(inFlight)).toMatchObject({ state: 'canceled', attempts: 0 });
    expect(await store.deliveryClaims.claim([waiting, inFlight])).toEqual([]);
    expect(await store.deliveryClaims.recover({ all: true })).toEqual([]);
    expect(await auditOf(store, 'delivery.cancel')).toMatchObject([
      { organization: 'acme', details: { delivery: inFlight } },
      { organization: 'acme', details: { delivery: waiting } },
    ]);
  });

  test('must not be finished already', async () => {
    const store = await listeningStore();
    const [id = ''] = await deliveriesOf(store, 1);
    await ended(store, [id]);
    await expect(intakeOf(store).deliveryActions.cancel(id, OPERATOR)).rejects.toMatchObject({
      code: 'DELIVERY_OVER',
    });
    expect(await store.deliveryList.read(id)).toMatchObject({ state: 'delivered' });
    expect(await auditOf(store, 'delivery.cancel')).toEqual([]);
  });
});

describe('a replay', () => {
  test('redelivers those of one installation by final state, type and time, oldest first', async () => {
    const store = await listeningStore();
    const { deliveryActions, woken } = openTestIntake(store);
    const [early = ''] = await deliveriesOf(store, 1);
    later(1_000);
    const from = CLOCK.now;
    const [one = '', two = '', good = ''] = await deliveriesOf(store, 3);
    const [feedback = ''] = await deliveriesOf(store, 1, { type: 'page_feedback' });
    later(1_000);
    const to = CLOCK.now;
    const [late = ''] = await deliveriesOf(store, 1);
    await installHandler(store, 'umbrella');
    const [foreign = ''] = await deliveriesOf(store, 1, { organization: 'umbrella' });
    await ended(store, [early, one, two, feedback, late, foreign], FAILED);
    await ended(store, [good]);
    const installationId = await installationOf(store, one);
    const query = { installationId, state: 'failed', type: 'site_view', from, to } as const;
    expect(await deliveryActions.replay(query, OPERATOR)).toEqual({ replayed: 2 });
    expect(woken.map(({ id }) => id)).toEqual([one, two]);
    expect(await store.deliveryList.read(one)).toMatchObject({ state: 'pending', retries: 0 });
    expect(await auditOf(store, 'delivery.replay')).toMatchObject([
      {
        organization: 'acme',
        installationId,
        details: { deliveries: 2, state: 'failed', type: 'site_view', from, to },
      },
    ]);
    expect(await deliveryActions.replay(query, OPERATOR)).toEqual({ replayed: 0 });
    expect(await auditOf(store, 'delivery.replay')).toHaveLength(1);
  });

  test('is limited to one space or site on request', async () => {
    const store = await listeningStore();
    const [id = ''] = await deliveriesOf(store, 1);
    await ended(store, [id], FAILED);
    const installationId = await installationOf(store, id);
    const at = (level: 'organization' | 'site', place: string) =>
      intakeOf(store).deliveryActions.replay(
        { installationId, state: 'failed', place: { level, place } },
        OPERATOR,
      );
    expect(await at('site', SITE)).toEqual({ replayed: 0 });
    expect(await at('organization', '')).toEqual({ replayed: 1 });
  });

  test('redelivers at most deliveriesPerReplay, and returns a cursor', async () => {
    const store = await listeningStore();
    const { deliveryActions } = openTestIntake(store, { deliveriesPerReplay: 3 });
    const ids = await deliveriesOf(store, 7);
    await ended(store, ids.slice(1), FAILED);
    const query = { installationId: await installationOf(store, ids[0]), state: 'failed' } as const;
    const first = await deliveryActions.replay(query, OPERATOR);
    expect(first).toEqual({ replayed: 3, next: ids[3] });
    expect(await deliveryActions.replay({ ...query, cursor: first.next }, OPERATOR)).toEqual({
      replayed: 3,
    });
    expect((await store.deliveryClaims.claim(ids)).map(({ id }) => id)).toEqual(ids);
  });

  test('of many uses short transactions, each with an audit entry of its deliveries', async () => {
    const store = await listeningStore();
    const { deliveryActions, woken } = openTestIntake(store, { deliveriesPerReplay: 1_100 });
    const ids = [...(await deliveriesOf(store, 600)), ...(await deliveriesOf(store, 600))];
    await ended(store, ids, FAILED);
    const query = { installationId: await installationOf(store, ids[0]), state: 'failed' } as const;
    expect(await deliveryActions.replay(query, OPERATOR)).toEqual({ replayed: 1_100, next: ids[1_099] });
    expect(woken.map(({ id }) => id)).toEqual(ids.slice(0, 1_100));
    const entries = await auditOf(store, 'delivery.replay');
    expect(entries.map(({ details }) => details['deliveries'])).toEqual([100, 500, 500]);
  });

  test('skips deliveries that were redelivered already', async () => {
    const store = await listeningStore();
    const { deliveryActions } = openTestIntake(store, { deliveriesPerReplay: 2 });
    const ids = await deliveriesOf(store, 4);
    await ended(store, ids);
    const query = { installationId: await installationOf(store, ids[0]), state: 'delivered' } as const;
    const { next } = await deliveryActions.replay(query, OPERATOR);
    await ended(store, ids.slice(0, 2));
    expect(await deliveryActions.replay({ ...query, cursor: next }, OPERATOR)).toEqual({ replayed: 2 });
    expect((await store.deliveryClaims.claim(ids)).map(({ id }) => id)).toEqual(ids.slice(2));
  });
});

describe('the list', () => {
  test('is newest first, page by page, by installation, event, type, state and time', async () => {
    const store = await listeningStore();
    await installHandler(store, 'acme', 'second');
    const [a1 = '', a2 = '', b1 = '', b2 = ''] = await deliveriesOf(store, 2);
    later(1_000);
    const [c1 = '', c2 = ''] = await deliveriesOf(store, 1, { type: 'page_feedback' });
    await ended(store, [a2, b2], FAILED);
    const newest = [c2, c1, b2, b1, a2, a1];
    const installationId = await installationOf(store, a1);
    const second = await installationOf(store, a2);
    const eventId = (await store.deliveryList.read(b1))?.eventId;
    const list = async (query: object) => (await pages(store, { ...query, limit: 100 })).flat();
    expect(await list({})).toEqual(newest);
    expect(await list({ organization: 'acme' })).toEqual(newest);
    expect(await list({ organization: 'umbrella' })).toEqual([]);
    expect(await list({ installationId })).toEqual([c1, b1, a1]);
    expect(await list({ installationId, place: { level: 'organization', place: '' } })).toEqual([c1, b1, a1]);
    expect(await list({ installationId, place: { level: 'site', place: SITE } })).toEqual([]);
    expect(await list({ eventId })).toEqual([b2, b1]);
    expect(await list({ eventId, state: 'failed' })).toEqual([b2]);
    expect(await list({ eventId, installationId: second })).toEqual([b2]);
    expect(await list({ eventId: 'evt_nobody' })).toEqual([]);
    expect(await list({ type: 'page_feedback' })).toEqual([c2, c1]);
    expect(await list({ state: 'failed' })).toEqual([b2, a2]);
    expect(await list({ state: 'pending' })).toEqual([c2, c1, b1, a1]);
    expect(await list({ installationId: second, state: 'failed', type: 'site_view' })).toEqual([b2, a2]);
    expect(await list({ from: CLOCK.now })).toEqual([c2, c1]);
    expect(await list({ to: CLOCK.now, installationId })).toEqual([b1, a1]);
    expect(await list({ from: CLOCK.now - 1_000, to: CLOCK.now - 999 })).toEqual([b2, b1, a2, a1]);
    expect(await pages(store, { limit: 4 })).toEqual([newest.slice(0, 4), newest.slice(4)]);
    expect((await store.deliveryList.ofEvent(eventId ?? '')).map(({ id }) => id)).toEqual([b1, b2]);
    expect(await store.deliveryList.ofEvent('evt_nobody')).toEqual([]);
  });

  test('attack: matches are rare; a page reads a bounded number of rows, and returns a cursor', async () => {
    const store = await listeningStore();
    const ids = [];
    for (let batch = 0; batch < 6; batch += 1) ids.push(...(await deliveriesOf(store, 1_000)));
    const [oldest = ''] = ids;
    await ended(store, [oldest], FAILED);
    const installationId = await installationOf(store, oldest);
    const first = await store.deliveryList.list({ installationId, state: 'failed', limit: 10 });
    expect(first).toEqual({ items: [], next: ids[6_000 - ROWS_PER_SEARCH] });
    const second = await store.deliveryList.list({
      installationId,
      state: 'failed',
      limit: 10,
      cursor: first.next,
    });
    expect(second.items.map(({ id }) => id)).toEqual([oldest]);
    expect(second.next).toBeUndefined();
    // The same in the other direction.
    await ended(store, [ids.at(-1) ?? ''], { ...FAILED, state: 'canceled' });
    const replay = { installationId, state: 'canceled' } as const;
    expect(await intakeOf(store).deliveryActions.replay(replay, OPERATOR)).toEqual({ replayed: 1 });
  });
});
