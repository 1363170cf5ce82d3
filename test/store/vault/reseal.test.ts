/**
 * Key rotation: with a new first key all values are resealed, across interruptions and concurrent
 * changes.
 */

import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { SqliteEngine } from '../../../src/host/database/sqlite/sqlite-engine.ts';
import type { Database } from '../../../src/host/database/tables.ts';
import { openSecrets, secretPlace, upsertSecrets } from '../../../src/host/store/integrations/secret-rows.ts';
import { Reseal, type ResealNote } from '../../../src/host/store/reseal/reseal.ts';
import { keysInUse, SEALED_COLUMNS } from '../../../src/host/store/reseal/sealed-columns.ts';
import { openStore, type Store } from '../../../src/host/store/store.ts';
import { Vault, vaultKeyId } from '../../../src/host/store/vault/vault.ts';
import { addKeyTo, type KeyRing, parseKeyRing } from '../../../src/host/store/vault/vault-key.ts';
import { DEFAULT_LIMITS } from '../../../src/limits.ts';
import { wholeInstallation } from '../../../src/model/installation.ts';
import type { Target } from '../../../src/model/target.ts';
import { claimEvent } from '../../support/store/installed.ts';
import { targetsOf } from '../../support/store/targets.ts';
import { OPERATOR, published, storeOptions, temporaryFolder } from '../../support/store/temporary-store.ts';
import { openTestDatabase } from '../../support/store/test-engine.ts';

/** An engine of one node lets everything run. */
const ENGINE = new SqliteEngine({ folder: '', wallNow: Date.now });
/** More than fit into one batch. */
const INTEGRATIONS = 70;
const nameOf = (index: number): string => `app-${index}`;

/** A folder with a store that has values in every sealed column. */
async function filledFolder(): Promise<string> {
  const folder = await temporaryFolder();
  const store = await openStore(storeOptions(folder));
  for (let index = 0; index < INTEGRATIONS; index += 1) {
    const name = nameOf(index);
    const manifest = published({ name }, CREDENTIALS);
    const secrets = new Map([['KEY', `value of ${name}`]]);
    await store.registry.publish({ manifest, script: '', sourceMap: '{}', secrets }, OPERATOR);
  }
  const { installationId } = await setUp(store, 'acme');
  await store.installations.installBelow({ installationId, ...SPACE, externalIds: [] }, OPERATOR);
  await store.webhookSecrets.rotate({ installationId, ...SPACE }, { secret: FORMER }, OPERATOR);
  await store.webhookSecrets.rotate({ installationId, ...SPACE }, { overlapMs: 60_000 }, OPERATOR);
  await store.webhookSecrets.setHeaders({ installationId, ...SPACE }, HEADERS, OPERATOR);
  await store.storage.change(await storageOf(store, installationId), 'kept', STORED, DEFAULT_LIMITS);
  const gone = await setUp(store, 'gone');
  await store.installations.uninstall(gone, OPERATOR);
  await store.close();
  return folder;
}

const HEADERS = { url: 'https://example.com/in', headers: [{ name: 'X-Key', value: 'hush' }] };

/** A value that code has stored. */
const STORED = { do: 'put', value: { kind: 'json', text: '"kept"' }, valueBytes: 6 } as const;

async function storageOf({ registry }: Store, installationId: string) {
  const integration = nameOf(0);
  const since = (await registry.integration(integration))?.createdAt ?? 0;
  return { integration, since, installationId };
}

const SPACE = { level: 'space', place: 'space-1' } as const;
/** The secrets that signed before, and still sign during an overlap. */
const FORMER = 'former-secret-of-the-webhook';

const CREDENTIALS =
  'target: all\nsecrets:\n  KEY: x\nconfigurations:\n  account:\n    properties:\n      oauth_credentials:\n        type: button\n        callback_url: /oauth\n        button_text: Connect\n        title: Account\n        description: Connects';

/** Installs the first integration and connects it. */
async function setUp(store: Store, organization: string) {
  const { installationId } = await store.installations.install(
    { integration: nameOf(0), organization, externalIds: [] },
    OPERATOR,
  );
  const target = wholeInstallation(installationId);
  const configuration = { oauth_credentials: { access_token: `token of ${organization}` } };
  await store.installations.edit(target, { configuration }, {}, OPERATOR);
  return target;
}

async function open(folder: string): Promise<Database> {
  const database = await openTestDatabase(folder);
  onTestFinished(() => database.destroy());
  return database;
}

async function ringOf(folder: string): Promise<KeyRing> {
  const parsed = parseKeyRing(await readFile(join(folder, 'vault.key'), 'utf8'));
  if (!parsed.ok) throw new Error(parsed.problem);
  return parsed.ring;
}

const idsOf = async (database: Database) => (await keysInUse(database)).map(({ keyId }) => keyId);

/** Targets of deletion events, as the calls of those events get them. */
async function goneTargets(store: Store) {
  const targets: (Target | undefined)[] = [];
  const { items } = await store.lifecycleEvents.waitingInstallations({ cursor: undefined, limit: 100 });
  for (const installation of items) {
    for (;;) {
      const event = await claimEvent(store, installation);
      if (event === undefined) break;
      const { gone } = event.record();
      if (gone) targets.push(await targetsOf(store).targets.deleted(gone));
      await store.lifecycleEvents.finish(event, { state: 'delivered', outcome: 'ok', called: true });
    }
  }
  return targets;
}

test('every column named sealed is in the list of sealed columns', async () => {
  const database = await open(await temporaryFolder());
  const tables = await database.introspection.getTables();
  const found = tables.flatMap(({ name, columns }) =>
    columns.filter((column) => column.name.startsWith('sealed_')).map((column) => `${name}.${column.name}`),
  );
  expect(SEALED_COLUMNS.map(({ table, column }) => `${table}.${column}`).sort()).toEqual(found.sort());
});

test('after a new first key the next start reseals all values, and reports when the old key is not needed', async () => {
  const folder = await filledFolder();
  const [old] = await ringOf(folder);
  const file = join(folder, 'vault.key');
  const id = await addKeyTo(file, randomBytes);
  const notes: ResealNote[] = [];
  const options = { ...storeOptions(folder), onReseal: (note: ResealNote) => notes.push(note) };
  const store = await openStore(options);
  await expect
    .poll(() => notes.at(-1)?.message)
    .toBe(`key ${vaultKeyId(old)} is no longer needed by this store; older backups may need it`);
  expect(notes.filter(({ level }) => level === 'warn' || level === 'error')).toEqual([]);
  await store.close();

  // Now without the old key: values sealed inside of sealed records open, too.
  const [first = ''] = (await readFile(file, 'utf8')).split('\n');
  await writeFile(file, `${first}\n`, { mode: 0o600 });
  const again = await openStore(options);
  const { items } = await again.installations.list({ integration: nameOf(0), limit: 9 });
  const target = await targetsOf(again).targets.get(items[0]?.endpointKey ?? '');
  expect(target?.environment.secrets).toEqual({ KEY: `value of ${nameOf(0)}` });
  expect(target?.environment.configuration).toMatchObject({
    oauth_credentials: { access_token: 'token of acme' },
  });
  const posting = { installationId: target?.installationId ?? '', ...SPACE };
  const carried = { secrets: [expect.any(String), FORMER], own: { headers: { 'x-key': 'hush' } } };
  expect(await again.webhookSecrets.posting(posting)).toMatchObject(carried);
  const area = await storageOf(again, posting.installationId);
  expect(await again.storage.get(area, 'kept')).toMatchObject({ text: '"kept"' });
  const gone = await goneTargets(again);
  expect(gone.map((deleted) => deleted?.environment.secrets)).toEqual([{ KEY: `value of ${nameOf(0)}` }]);
  await again.close();
  expect(await idsOf(await open(folder))).toEqual([id]);
});

test('resealing can be stopped after any batch: later starts continue until no value is left', async () => {
  const folder = await filledFolder();
  await addKeyTo(join(folder, 'vault.key'), randomBytes);
  const database = await open(folder);
  const ring = await ringOf(folder);
  const [fresh, old] = ring.map((key) => vaultKeyId(key));
  const left = async () => (await keysInUse(database)).find(({ keyId }) => keyId === old)?.values ?? 0;
  let starts = 0;
  for (let before = await left(); before > 0; before = await left()) {
    starts += 1;
    const reseal = new Reseal({
      engine: ENGINE,
      database,
      vault: new Vault(ring, randomBytes),
      report: ({ message }) => {
        if (message === 'values are resealed') void reseal.stop();
      },
    });
    await reseal.start();
    expect(await left()).toBeLessThan(before);
  }
  // Two columns of seventy values, and six smaller ones.
  expect(starts).toBeGreaterThanOrEqual(9);
  expect(await idsOf(database)).toEqual([fresh]);
});

test('a store closed during resealing continues when it is opened again', async () => {
  const folder = await filledFolder();
  await addKeyTo(join(folder, 'vault.key'), randomBytes);
  const ring = await ringOf(folder);
  const messages: string[] = [];
  let opened = 0;
  while (!messages.some((message) => message.includes('no longer needed'))) {
    const options = {
      ...storeOptions(folder),
      onReseal: ({ message }: ResealNote) => messages.push(message),
    };
    const store = await openStore(options);
    opened += 1;
    await store.close();
  }
  expect(opened).toBeGreaterThan(1);
  expect(await idsOf(await open(folder))).toEqual([vaultKeyId(ring[0])]);
});

test('a value changed while it is being resealed keeps the change', async () => {
  const folder = await filledFolder();
  await addKeyTo(join(folder, 'vault.key'), randomBytes);
  const database = await open(folder);
  const ring = await ringOf(folder);
  const plain = new Vault(ring, randomBytes);
  const change = { integration: nameOf(0), values: new Map([['KEY', 'changed meanwhile']]), now: 1 };
  let drawn = 0;
  let changed: Promise<void> | undefined;
  // Random bytes are drawn when a value was read and is being sealed: the first secret comes after
  // all integrations.
  const vault = new Vault(ring, (size) => {
    drawn += 1;
    if (drawn === INTEGRATIONS + 1) changed = upsertSecrets(database, plain, change);
    return randomBytes(size);
  });
  await new Reseal({ engine: ENGINE, database, vault, report: () => {} }).start();
  expect(changed).toBeDefined();
  await changed;
  const values = await openSecrets(database, plain, nameOf(0), ['KEY']);
  expect(values.get('KEY')).toBe('changed meanwhile');
  expect(await idsOf(database)).toEqual([plain.sealingKey]);
});

test('attack: an altered value is reported by its place, stays as it is, and stops nothing', async () => {
  const folder = await filledFolder();
  await addKeyTo(join(folder, 'vault.key'), randomBytes);
  const database = await open(folder);
  const ring = await ringOf(folder);
  const [, old = ring[0]] = ring;
  // A value moved to a place where another organization would read it.
  const foreign = new Vault([old], randomBytes).seal(secretPlace(nameOf(3), 'KEY'), 'of somebody else');
  const here = { integration: nameOf(4), name: 'KEY' };
  await database
    .updateTable('secrets')
    .set({ sealed_value: foreign })
    .where('integration', '=', here.integration)
    .execute();
  const notes: ResealNote[] = [];
  await new Reseal({
    engine: ENGINE,
    database,
    vault: new Vault(ring, randomBytes),
    report: (note) => notes.push(note),
  }).start();
  expect(notes.filter(({ level }) => level === 'warn' || level === 'error')).toEqual([
    {
      level: 'warn',
      message: 'a sealed value cannot be opened, and stays as it is',
      details: { place: `secrets/sealed_value/${here.integration}/KEY` },
    },
  ]);
  expect(await keysInUse(database)).toEqual([
    { keyId: vaultKeyId(ring[0]), values: expect.any(Number) },
    { keyId: vaultKeyId(old), values: 1 },
  ]);
  expect(notes.some(({ message }) => message.includes('no longer needed'))).toBe(false);
});
