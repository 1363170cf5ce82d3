/**
 * A damaged row harms what it describes, and nothing else: events reach the others, and what is
 * damaged can be replaced or removed.
 */
import { expect, onTestFinished, test } from 'vitest';
import { openStore, type Store } from '../../../src/host/store/store.ts';
import { type TargetName, wholeInstallation } from '../../../src/model/installation.ts';
import { openTestIntake } from '../../support/deliveries/intake.ts';
import {
  installListener,
  postedEvent,
  publishListener,
  WEBHOOK,
} from '../../support/deliveries/posted-events.ts';
import { claimEvent, installed } from '../../support/store/installed.ts';
import { OPERATOR, storeOptions, temporaryFolder } from '../../support/store/temporary-store.ts';
import { changeRows } from '../../support/store/test-engine.ts';

const TORN = '{"planted": "by a tenant"';

/** A store, and what damages its rows. */
async function damageable(): Promise<{ store: Store; damage: (statement: string) => Promise<void> }> {
  const folder = await temporaryFolder();
  const store = await openStore(storeOptions(folder));
  onTestFinished(() => store.close());
  return { store, damage: (statement) => changeRows(folder, statement) };
}

const inGarden = (installationId: string): TargetName => ({
  installationId,
  level: 'space',
  place: 'garden',
});

/** Three integrations in one space: two that post webhooks, and one with a handler. */
async function subscribers(store: Store): Promise<ReadonlyMap<string, string>> {
  const ids = new Map<string, string>();
  for (const name of ['first', 'second', 'third']) {
    await publishListener(store, name === 'third' ? { name } : { name, more: WEBHOOK });
    const id = await installListener(store, name);
    ids.set(name, id);
    await store.installations.installBelow({ ...inGarden(id), level: 'space', externalIds: [] }, OPERATOR);
    if (name === 'third') continue;
    const configuration = {
      webhook_url: 'https://receiver.example/hook',
      event_types: ['space_content_updated'],
    };
    await store.installations.edit(inGarden(id), { configuration }, {}, OPERATOR);
  }
  return ids;
}

const OF_FIRST = `where integration = 'first'`;

test.each([
  ['the settings of a webhook', `update targets set configuration = '${TORN}' ${OF_FIRST}`],
  ['settings that are no object', `update targets set configuration = 'null' ${OF_FIRST}`],
  ['a manifest', `update versions set manifest = '${TORN}' ${OF_FIRST}`],
  ['a manifest without scopes', `update versions set manifest = '{}' ${OF_FIRST}`],
  ['the event types of a version', `update versions set handled_events = '${TORN}' ${OF_FIRST}`],
])('%s: damaged, it leaves its target out of events, and the others receive them', async (_, statement) => {
  const { store, damage } = await damageable();
  await subscribers(store);
  await damage(statement);
  const { acceptance, errors } = openTestIntake(store);
  for (const event of [postedEvent(), postedEvent()]) {
    expect(await acceptance.accept([event])).toMatchObject([{ deliveries: 2 }]);
    const traced = await store.deliveryList.ofEvent(event.eventId);
    expect(traced.map(({ integration }) => integration).toSorted()).toEqual(['second', 'third']);
  }
  expect(errors).toEqual([expect.objectContaining({ message: expect.stringMatching(/ is damaged\.$/) })]);
  expect(String(errors)).not.toContain('planted');
});

test('a target with a damaged row can be removed, with what is below it', async () => {
  const { store, damage } = await damageable();
  const id = (await subscribers(store)).get('third') ?? '';
  const damaged = `update targets set configuration = '${TORN}', external_ids = '${TORN}'`;
  await damage(`${damaged} where level = 'space'`);
  await expect(store.installations.read(inGarden(id))).rejects.toThrow(SyntaxError);
  await store.installations.uninstall(inGarden(id), OPERATOR);
  await store.installations.installBelow({ ...inGarden(id), level: 'space', externalIds: [] }, OPERATOR);
  await damage(damaged);
  await store.installations.uninstall(wholeInstallation(id), OPERATOR);
  expect(await store.installations.read(wholeInstallation(id))).toBeUndefined();
});

test('damaged credentials are replaced by an edit that sets them, and by no other', async () => {
  const { store, damage } = await damageable();
  const properties = `oauth_credentials: {type: button, title: A, description: d, button_text: C, callback_url: /o}`;
  const id = await installed(store, `configurations: {account: {properties: {${properties}}}}`);
  const connect = (configuration: Record<string, unknown>) =>
    store.installations.edit(wholeInstallation(id), { configuration }, {}, OPERATOR);
  await connect({ oauth_credentials: { access_token: 'a' } });
  await damage(`update targets set sealed_credentials = 'x'`);
  await expect(connect({})).rejects.toThrow();
  await connect({ oauth_credentials: { access_token: 'b' } });
  const open = await store.installations.credentialsOf(wholeInstallation(id));
  expect(open()).toEqual({ access_token: 'b' });
});

test('a damaged webhook secret is replaced by a rotation, and does not sign beside the next', async () => {
  const { store, damage } = await damageable();
  const name = inGarden((await subscribers(store)).get('first') ?? '');
  await store.webhookSecrets.reveal(name, OPERATOR);
  await damage(`update webhook_secrets set sealed_secret = 'x'`);
  store.webhookSecrets.forget();
  await expect(store.webhookSecrets.signing(name)).rejects.toThrow();
  const { secret } = await store.webhookSecrets.rotate(name, { overlapMs: 60_000 }, OPERATOR);
  expect(await store.webhookSecrets.signing(name)).toEqual([secret]);
});

test('a damaged key of statements is still published, and a rotation puts the next one in its place', async () => {
  const { store, damage } = await damageable();
  const { statementKeys } = store;
  const [next] = await statementKeys.published();
  await damage(`update statement_keys set sealed_key = 'x' where number = 1`);
  statementKeys.forget();
  expect(await statementKeys.published()).toHaveLength(2);
  await expect(statementKeys.signing()).rejects.toThrow();
  await statementKeys.rotate({ forget: false }, OPERATOR);
  expect((await statementKeys.signing()).kid).toBe(next?.kid);
});

test('a lifecycle event with a damaged record can be claimed and finished, so that the next one follows', async () => {
  const { store, damage } = await damageable();
  const id = await installed(store);
  await store.installations.edit(wholeInstallation(id), { configuration: { region: 'eu' } }, {}, OPERATOR);
  await damage(`update life_events set sealed_record = 'x' where position = 1`);
  const first = await claimEvent(store, id);
  if (first === undefined) throw new Error('Nothing was claimed.');
  expect(() => first.record()).toThrow();
  expect(await store.lifecycleEvents.finish(first, { state: 'failed', outcome: 'x', called: true })).toBe(
    true,
  );
  expect((await claimEvent(store, id))?.record().event).toMatchObject({ type: 'installation_setup' });
});
