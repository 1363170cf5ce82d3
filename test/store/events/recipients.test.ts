/**
 * Recipients of an event: every combination of the conditions, and the effect of each change on
 * later events.
 */
import { describe, expect, test, vi } from 'vitest';
import { Subscribers } from '../../../src/host/delivery/accept/subscribers.ts';
import type { Store } from '../../../src/host/store/store.ts';
import { type TargetName, wholeInstallation } from '../../../src/model/installation.ts';
import type { EndpointLevel } from '../../../src/model/level.ts';
import {
  acceptOne,
  installListener,
  postedEvent,
  publishListener,
  WEBHOOK,
} from '../../support/deliveries/posted-events.ts';
import { OPERATOR, temporaryStore } from '../../support/store/temporary-store.ts';

const OWN = ['absent', 'active', 'pending', 'paused'] as const;
const NEEDS_CHANNEL = `configurations:
  space:
    properties: {channel: {type: string, title: Channel}}
    required: [channel]
`;

const inSpace = (installationId: string): TargetName => ({ installationId, level: 'space', place: 'garden' });

/** Sets the status of the installation's target in the space. */
async function makeOwn(store: Store, installationId: string, own: (typeof OWN)[number]): Promise<void> {
  if (own === 'absent') return;
  await store.installations.installBelow(
    { ...inSpace(installationId), level: 'space', externalIds: [] },
    OPERATOR,
  );
  if (own === 'pending') return;
  await store.installations.edit(inSpace(installationId), { configuration: { channel: 'x' } }, {}, OPERATOR);
  if (own === 'paused') await store.installations.pause(inSpace(installationId), OPERATOR);
}

/** Targets with deliveries of an event. */
async function recipientsOf(store: Store, more: Parameters<typeof postedEvent>[0] = {}) {
  const event = postedEvent(more);
  const { deliveries } = await acceptOne(store, event);
  const traced = await store.deliveryList.ofEvent(event.eventId);
  const made = traced.filter(({ state }) => state === 'pending');
  expect(made).toHaveLength(deliveries);
  // Entries of inactive targets are the only others in its trace, and come last.
  for (const missed of traced.slice(deliveries))
    expect(missed).toMatchObject({ state: 'canceled', attempts: 0, finishedAt: expect.any(Number) });
  return made.map(({ integration, target: { level, place }, kind }) => ({ integration, level, place, kind }));
}

const levels = async (store: Store, more?: Parameters<typeof postedEvent>[0]): Promise<EndpointLevel[]> =>
  (await recipientsOf(store, more)).map(({ level }) => level);

/** Why targets did not receive an event, from its trace. */
async function missedBy(store: Store, more: Parameters<typeof postedEvent>[0] = {}) {
  const event = postedEvent(more);
  await acceptOne(store, event);
  const traced = await store.deliveryList.ofEvent(event.eventId);
  return traced.flatMap(({ state, outcome, target: { level } }) =>
    state === 'canceled' ? [`${level} ${outcome}`] : [],
  );
}

/** Trace entry of a target in the space, by its status and that of its installation. */
const MISSED = {
  absent: { false: [], true: ['organization paused'] },
  pending: { false: ['space pending'], true: ['space paused'] },
  paused: { false: ['space paused'], true: ['space paused'] },
  active: { false: [], true: ['space paused'] },
} as const;

const TABLE = (['all', 'selected'] as const).flatMap((selection) =>
  [false, true].flatMap((paused) =>
    OWN.map((own) => {
      const fallback = own === 'absent' && selection === 'all' ? (['organization'] as const) : [];
      const reached: readonly EndpointLevel[] = paused ? [] : own === 'active' ? ['space'] : fallback;
      return { selection, own, paused, reached };
    }),
  ),
);

describe('an event in a space', () => {
  test.each(TABLE)(
    'with selection "$selection", a target there: $own, installation paused: $paused, reaches $reached',
    async ({ selection, own, paused, reached }) => {
      const store = await temporaryStore();
      await publishListener(store, { name: 'hello', more: NEEDS_CHANNEL });
      const id = await installListener(store, 'hello');
      await store.installations.edit(wholeInstallation(id), { spaceSelection: selection }, {}, OPERATOR);
      await makeOwn(store, id, own);
      if (paused) await store.installations.pause(wholeInstallation(id), OPERATOR);
      expect(await levels(store)).toEqual(reached);
      const missed = own === 'absent' && selection === 'selected' ? [] : MISSED[own][`${paused}`];
      expect(await missedBy(store)).toEqual(missed);
      // The selection of the other level has no effect.
      const other = { siteSelection: selection === 'all' ? 'selected' : 'all' } as const;
      await store.installations.edit(wholeInstallation(id), other, {}, OPERATOR);
      expect(await levels(store)).toEqual(reached);
      expect(await levels(store, { place: 'elsewhere' })).toEqual(
        selection === 'all' && !paused ? ['organization'] : [],
      );
    },
  );

  test('in a site reaches targets there, by the selection of sites', async () => {
    const store = await temporaryStore();
    await publishListener(store, { name: 'hello' });
    const id = await installListener(store, 'hello');
    const visit = { type: 'site_view', level: 'site', place: 'garden' } as const;
    await store.installations.installBelow({ ...inSpace(id), level: 'space', externalIds: [] }, OPERATOR);
    expect(await levels(store, visit)).toEqual(['organization']);
    await store.installations.edit(wholeInstallation(id), { siteSelection: 'selected' }, {}, OPERATOR);
    expect(await levels(store, visit)).toEqual([]);
    await store.installations.installBelow({ ...inSpace(id), level: 'site', externalIds: [] }, OPERATOR);
    expect(await levels(store, visit)).toEqual(['site']);
  });

  test('reaches integrations whose active version handles it and has the scope', async () => {
    const store = await temporaryStore();
    const reached = async () => (await recipientsOf(store)).map(({ integration }) => integration);
    for (const listener of [
      { name: 'hears', handles: ['space_content_updated'] },
      { name: 'nobody-knows' },
      { name: 'no-handler', handles: ['space_view'] },
      { name: 'no-scope', handles: ['space_content_updated'], scopes: ['space:metadata:read'] },
    ]) {
      await publishListener(store, listener);
      await installListener(store, listener.name);
    }
    expect(await reached()).toEqual(['hears', 'nobody-knows']);
  });

  test('reaches only the installation that it names', async () => {
    const store = await temporaryStore();
    for (const name of ['one', 'two']) await publishListener(store, { name });
    const [one, foreign] = [
      await installListener(store, 'one'),
      await installListener(store, 'two', 'rival'),
    ];
    await installListener(store, 'two');
    const reached = async (installationId: string) =>
      (await recipientsOf(store, { installationId })).map(({ integration }) => integration);
    expect(await reached(one)).toEqual(['one']);
    // Of another organization, which the event does not concern.
    expect(await reached(foreign)).toEqual([]);
    expect(await reached('ins_none')).toEqual([]);
  });

  test('attack: another organization that has installed into the same space receives nothing', async () => {
    const store = await temporaryStore();
    await publishListener(store, { name: 'hello' });
    const spy = await installListener(store, 'hello', 'rival');
    await store.installations.installBelow({ ...inSpace(spy), level: 'space', externalIds: [] }, OPERATOR);
    expect(await levels(store)).toEqual([]);
    expect(await levels(store, { organization: 'rival' })).toEqual(['space']);
  });
});

describe('a webhook', () => {
  async function webhook() {
    const store = await temporaryStore();
    await publishListener(store, { name: 'hook', more: WEBHOOK });
    const id = await installListener(store, 'hook');
    const select = (types: readonly string[]) =>
      store.installations.edit(inSpace(id), { configuration: { event_types: types } }, {}, OPERATOR);
    return { store, id, select };
  }

  test('receives the types selected in its space or site, and nothing at organization level', async () => {
    const { store, id, select } = await webhook();
    expect(await recipientsOf(store)).toEqual([]);
    await store.installations.installBelow({ ...inSpace(id), level: 'space', externalIds: [] }, OPERATOR);
    expect(await recipientsOf(store)).toEqual([]);
    await select(['space_content_updated']);
    const own = { integration: 'hook', level: 'space', place: 'garden', kind: 'webhook' };
    expect(await recipientsOf(store)).toEqual([own]);
    expect(await recipientsOf(store, { type: 'space_view' })).toEqual([]);
    expect(await recipientsOf(store, { place: 'elsewhere' })).toEqual([]);
    await select([]);
    expect(await recipientsOf(store)).toEqual([]);
  });

  test('under test receives a test event alone', async () => {
    const { store, id, select } = await webhook();
    await store.installations.installBelow({ ...inSpace(id), level: 'space', externalIds: [] }, OPERATOR);
    await publishListener(store, { name: 'handler' });
    await installListener(store, 'handler');
    const tried = { installationId: id };
    const own = { integration: 'hook', level: 'space', place: 'garden', kind: 'webhook' };
    expect(await recipientsOf(store, tried)).toEqual([]);
    await select(['space_content_updated']);
    expect(await recipientsOf(store, tried)).toEqual([own]);
    expect(await recipientsOf(store, { ...tried, place: 'elsewhere' })).toEqual([]);
    await store.installations.pause(inSpace(id), OPERATOR);
    expect(await recipientsOf(store, tried)).toEqual([]);
  });
});

describe('an event posted after the answer to', () => {
  const CHANGES: Readonly<Record<string, (store: Store, id: string) => Promise<unknown>>> = {
    'a pause finds it paused': (store, id) => store.installations.pause(wholeInstallation(id), OPERATOR),
    'an uninstallation finds it gone': (store, id) =>
      store.installations.uninstall(wholeInstallation(id), OPERATOR),
    'an edit finds it edited': (store, id) =>
      store.installations.edit(wholeInstallation(id), { spaceSelection: 'selected' }, {}, OPERATOR),
    'a publish finds the new version': (store) =>
      publishListener(store, { name: 'hello', handles: ['space_view'] }),
    'the deletion of an integration finds it gone': (store) =>
      store.registry.delete({ name: 'hello', organization: 'acme' }, { cascade: true }, OPERATOR),
  };

  test.each(Object.entries(CHANGES))('%s', async (_, change) => {
    const store = await temporaryStore();
    await publishListener(store, { name: 'hello' });
    const id = await installListener(store, 'hello');
    expect(await levels(store)).toEqual(['organization']);
    await change(store, id);
    expect(await levels(store)).toEqual([]);
  });

  test('a resumption, an install and a roll-back reach the new targets', async () => {
    const store = await temporaryStore();
    await publishListener(store, { name: 'hello' });
    expect(await levels(store)).toEqual([]);
    const id = await installListener(store, 'hello');
    expect(await levels(store)).toEqual(['organization']);
    await store.installations.pause(wholeInstallation(id), OPERATOR);
    expect(await levels(store)).toEqual([]);
    await store.installations.resume(wholeInstallation(id), OPERATOR);
    expect(await levels(store)).toEqual(['organization']);
    await publishListener(store, { name: 'hello', handles: [] });
    expect(await levels(store)).toEqual([]);
    await store.registry.activate('hello', 1, OPERATOR);
    expect(await levels(store)).toEqual(['organization']);
  });

  test('a pause is not delivered, however many are posted meanwhile', async () => {
    const store = await temporaryStore();
    await publishListener(store, { name: 'hello' });
    const id = await installListener(store, 'hello');
    for (let round = 0; round < 20; round += 1) {
      const place = `space-${round}`;
      // Reads of places that are not cached yet are in flight while the pause is committed.
      const meanwhile = Array.from({ length: 5 }, () => acceptOne(store, postedEvent({ place })));
      await store.installations.pause(wholeInstallation(id), OPERATOR);
      expect(await levels(store, { place })).toEqual([]);
      await Promise.all(meanwhile);
      await store.installations.resume(wholeInstallation(id), OPERATOR);
      expect(await levels(store, { place })).toEqual(['organization']);
    }
  });
});

test('attack: changes in a loop by one organization or author cause no reads for events of others', async () => {
  const store = await temporaryStore();
  await publishListener(store, { name: 'hello', more: 'secrets: {KEY: x}' });
  await installListener(store, 'hello');
  const looping = await installListener(store, 'hello', 'looping');
  await acceptOne(store, postedEvent());
  const reads = vi.spyOn(Subscribers.prototype, 'at');
  try {
    for (let round = 0; round < 5; round += 1) {
      await store.installations.edit(
        wholeInstallation(looping),
        { externalIds: [`x${round}`] },
        {},
        OPERATOR,
      );
      await store.secrets.set({ name: 'hello', organization: 'acme' }, { KEY: `x${round}` }, OPERATOR);
      await publishListener(store, { name: 'not-installed-here' });
      await acceptOne(store, postedEvent());
    }
    expect(reads).not.toHaveBeenCalled();
    await acceptOne(store, postedEvent({ organization: 'looping' }));
    expect(reads).toHaveBeenCalledTimes(1);
  } finally {
    reads.mockRestore();
  }
});
