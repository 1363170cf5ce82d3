/**
 * Stored values: conditions, increments, expiry and the quota of an area, with real commits.
 */
import { expect, onTestFinished, test } from 'vitest';
import {
  type StorageAnswer,
  type StorageChange,
  storedOrThrown,
} from '../../../src/host/store/storage/storage.ts';
import { openStore, type Store } from '../../../src/host/store/store.ts';
import type { StorageArea } from '../../../src/model/stored-value.ts';
import { installed, publication } from '../../support/store/installed.ts';
import {
  CLOCK,
  OPERATOR,
  storeOptions,
  temporaryFolder,
  temporaryStore,
} from '../../support/store/temporary-store.ts';

const LIMITS = { storageBytes: 10_000, storageKeys: 100 };

const text = (value: unknown, more: { expiresInMs?: number; ifVersion?: number } = {}): StorageChange => {
  const json = JSON.stringify(value);
  return { do: 'put', value: { kind: 'json', text: json }, valueBytes: Buffer.byteLength(json), ...more };
};

/** Every test publishes and installs at the time of the clock when it begins. */
async function area(store: Store): Promise<StorageArea & { readonly installationId: string }> {
  const installationId = await installed(store, '');
  return { ...(await shared(store)), installationId };
}

async function shared({ registry }: Store): Promise<StorageArea> {
  const found = await registry.integration('hello');
  return { integration: 'hello', since: found?.createdAt ?? Number.NaN };
}

const versionOf = (answer: StorageAnswer): number => ('version' in answer ? answer.version : Number.NaN);

test('a value is read as it was put, and is another in each area', async () => {
  const store = await temporaryStore();
  const own = await area(store);
  const all = await shared(store);
  expect(await store.storage.change(own, 'a', text({ name: 'ä\u0000' }), LIMITS)).toEqual({
    ...{ kind: 'stored', was: false, version: 1 },
  });
  await store.storage.change(all, 'a', text(2), LIMITS);
  expect(await store.storage.get(own, 'a')).toEqual({
    kind: 'json',
    text: '{"name":"ä\\u0000"}',
    version: 1,
  });
  expect(await store.storage.get(all, 'a')).toEqual({ kind: 'json', text: '2', version: 1 });
  expect(await store.storage.get(all, 'b')).toBeUndefined();
});

test('a change with a condition is made only if the version is the present one, and no version comes twice', async () => {
  const { storage, ...store } = await temporaryStore();
  const own = await area({ storage, ...store });
  const first = versionOf(await storage.change(own, 'a', text(1, { ifVersion: 0 }), LIMITS));
  expect(await storage.change(own, 'a', text(2, { ifVersion: 0 }), LIMITS)).toEqual({
    kind: 'changed',
    version: first,
  });
  const second = versionOf(await storage.change(own, 'a', text(2, { ifVersion: first }), LIMITS));
  expect(await storage.change(own, 'a', { do: 'delete', ifVersion: first }, LIMITS)).toMatchObject({
    kind: 'changed',
  });
  await storage.change(own, 'a', { do: 'delete', ifVersion: second }, LIMITS);
  const third = versionOf(await storage.change(own, 'a', text(1), LIMITS));
  expect(new Set([first, second, third, 0]).size).toBe(4);
  // Attack: a reader from before the deletion believes that nothing has changed.
  expect(await storage.change(own, 'a', text(9, { ifVersion: first }), LIMITS)).toMatchObject({
    kind: 'changed',
  });
});

test('of changes at once with the same condition, one is made', async () => {
  const store = await temporaryStore();
  const own = await area(store);
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, at) => store.storage.change(own, 'a', text(at, { ifVersion: 0 }), LIMITS)),
  );
  expect(answers.filter(({ kind }) => kind === 'stored')).toHaveLength(1);
});

test('increments at once are all counted, and keep when the key expires', async () => {
  const store = await temporaryStore();
  const own = await area(store);
  await store.storage.change(own, 'n', text(5, { expiresInMs: 60_000 }), LIMITS);
  const answers = await Promise.all(
    Array.from({ length: 200 }, () => store.storage.change(own, 'n', { do: 'increment', by: 2 }, LIMITS)),
  );
  expect(new Set(answers.map((answer) => 'number' in answer && answer.number)).size).toBe(200);
  expect(await store.storage.get(own, 'n')).toMatchObject({ text: '405', expiresAt: CLOCK.now + 60_000 });
  await store.storage.change(own, 't', text('5'), LIMITS);
  await store.storage.change(own, 'm', text(Number.MAX_SAFE_INTEGER), LIMITS);
  for (const key of ['t', 'm'])
    expect(await store.storage.change(own, key, { do: 'increment', by: 1 }, LIMITS)).toEqual({
      kind: 'notWhole',
    });
});

test('storageKeys and storageBytes: the quota is exact with changes at once, and what makes an area no larger is stored', async () => {
  const store = await temporaryStore();
  const own = await area(store);
  const answers = await Promise.all(
    Array.from({ length: 130 }, (_, at) => store.storage.change(own, `key-${at}`, text(at), LIMITS)),
  );
  expect(answers.filter(({ kind }) => kind === 'stored')).toHaveLength(100);
  expect(answers.filter(({ kind }) => kind === 'full')[0]).toEqual({
    kind: 'full',
    limit: { name: 'storageKeys', max: 100, used: 101 },
  });
  expect((await store.storage.usage(own)).keys).toBe(100);
  expect(await store.storage.change(own, 'key-1', text(2), { ...LIMITS, storageKeys: 1 })).toMatchObject({
    kind: 'stored',
  });
  await Promise.all(
    Array.from({ length: 130 }, (_, at) => store.storage.change(own, `key-${at}`, { do: 'delete' }, LIMITS)),
  );
  expect(await store.storage.usage(own)).toEqual({ keys: 0, bytes: 0 });

  const big = 'x'.repeat(4_000);
  const kinds = await Promise.all(
    ['a', 'b', 'c'].map((key) => store.storage.change(own, key, text(big), LIMITS)),
  );
  expect(kinds.map(({ kind }) => kind)).toEqual(['stored', 'stored', 'full']);
  expect(await store.storage.usage(own)).toEqual({ keys: 2, bytes: 2 * 4_003 });
  // Another area has a quota of its own.
  expect(await store.storage.change(await shared(store), 'c', text(big), LIMITS)).toMatchObject({
    kind: 'stored',
  });
});

test('an expired key is gone at once, makes room where it is needed, and is removed by housekeeping', async () => {
  const store = await temporaryStore();
  const own = await area(store);
  for (const at of Array(100).keys())
    await store.storage.change(own, `key-${at}`, text(at, { expiresInMs: at < 50 ? 1_000 : 5_000 }), LIMITS);
  CLOCK.now += 1_000;
  expect(await store.storage.get(own, 'key-1')).toBeUndefined();
  expect((await store.storage.list(own, { limit: 100 })).items).toHaveLength(50);
  expect(await store.storage.change(own, 'key-1', text(1, { ifVersion: 0 }), LIMITS)).toMatchObject({
    kind: 'stored',
    was: false,
  });
  expect((await store.storage.usage(own)).keys).toBe(100);
  // The area is full of keys that have expired, one of which this batch has put again.
  const both = [
    store.storage.change(own, 'key-2', text(2), LIMITS),
    store.storage.change(own, 'new', text(1), LIMITS),
  ];
  expect((await Promise.all(both)).map(({ kind }) => kind)).toEqual(['stored', 'stored']);
  expect((await store.storage.usage(own)).keys).toBe(53);
  CLOCK.now += 5_000;
  await store.storage.prune();
  const left = await store.storage.list(own, { limit: 100 });
  expect(left.items.map(({ key }) => key)).toEqual(['key-1', 'key-2', 'new']);
  expect(await store.storage.usage(own)).toEqual({
    keys: 3,
    bytes: left.items.reduce((sum, { bytes }) => sum + bytes, 0),
  });
});

test('keys are listed in one order on every engine, by prefix and page by page', async () => {
  const store = await temporaryStore();
  const own = await area(store);
  const keys = ['a', 'a/', 'a/1', 'a/B', 'a/b', 'a/é', 'a/\ud7ff', 'a/\uffff', 'a/😀', 'a0', 'b', '%', '_'];
  await Promise.all(keys.map((key) => store.storage.change(own, key, text(1), LIMITS)));
  const bytewise = keys.toSorted((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
  const found: string[] = [];
  for (let cursor: string | undefined, more = true; more; ) {
    const page = await store.storage.list(own, { prefix: '', limit: 4, cursor });
    found.push(...page.items.map(({ key }) => key));
    cursor = page.next;
    more = cursor !== undefined;
  }
  expect(found).toEqual(bytewise);
  const listed = async (prefix: string) =>
    (await store.storage.list(own, { prefix, limit: 100 })).items.map(({ key }) => key);
  for (const prefix of ['a/', 'a/\ud7ff', 'a/😀', '%', 'A'])
    expect(await listed(prefix)).toEqual(bytewise.filter((key) => key.startsWith(prefix)));
});

test('values end with their installation, those of an integration with it, and others stay', async () => {
  const store = await temporaryStore();
  const own = await area(store);
  const other = await store.installations.install(
    { integration: 'hello', organization: 'beta', externalIds: [] },
    OPERATOR,
  );
  const others = { ...own, installationId: other.installationId };
  const all = await shared(store);
  for (const one of [own, others, all]) await store.storage.change(one, 'a', text(1), LIMITS);
  await store.installations.uninstall(
    { installationId: own.installationId, level: 'organization', place: '' },
    OPERATOR,
  );
  expect(await store.storage.get(own, 'a')).toBeUndefined();
  expect(await store.storage.change(own, 'a', text(1), LIMITS)).toEqual({ kind: 'gone' });
  expect(await store.storage.get(others, 'a')).toBeDefined();
  const integration = await store.registry.integration('hello');
  await store.registry.delete(integration as NonNullable<typeof integration>, { cascade: true }, OPERATOR);
  for (const one of [others, all]) {
    expect(await store.storage.get(one, 'a')).toBeUndefined();
    expect(await store.storage.usage(one)).toEqual({ keys: 0, bytes: 0 });
    expect(await store.storage.change(one, 'a', text(1), LIMITS)).toEqual({ kind: 'gone' });
  }
  // Attack: a call of the deleted integration is in flight while another owner publishes its name.
  CLOCK.now += 1;
  await store.registry.publish(publication(''), OPERATOR);
  expect(await store.storage.change(all, 'a', text(1), LIMITS)).toEqual({ kind: 'gone' });
  const next = await store.installations.install(
    { integration: 'hello', organization: 'acme', externalIds: [] },
    OPERATOR,
  );
  const nextArea = { ...(await shared(store)), installationId: next.installationId };
  expect(await store.storage.change(nextArea, 'a', text(1), LIMITS)).toMatchObject({ kind: 'stored' });
  expect(
    await store.storage.change(
      { ...nextArea, integration: 'other', installationId: `${next.installationId}x` },
      'a',
      text(1),
      LIMITS,
    ),
  ).toEqual({ kind: 'gone' });
});

test('what is stored when the promise resolves is there after a restart', async () => {
  const folder = await temporaryFolder();
  const first = await openStore(storeOptions(folder));
  const own = await area(first);
  await first.storage.change(own, 'a', text([1]), LIMITS);
  await first.close();
  const second = await openStore(storeOptions(folder));
  try {
    expect(await second.storage.get(own, 'a')).toMatchObject({ text: '[1]' });
    expect(await second.storage.change(own, 'a', text([2]), LIMITS)).toMatchObject({ version: 2 });
  } finally {
    await second.close();
  }
});

test('attack: a value that is written over and over is refused for an area that has written too much in a minute', async () => {
  let now = 0;
  const options = storeOptions(await temporaryFolder(), { storageWrittenBytesPerMinute: 10_000 });
  const store = await openStore({ ...options, monotonicNow: () => now });
  onTestFinished(() => store.close());
  const own = await area(store);
  const all = await shared(store);
  const put = (of: StorageArea, value: string) => store.storage.change(of, 'a', text(value), LIMITS);
  // 2 KiB for the change, and the value.
  expect((await put(own, 'x'.repeat(5_000))).kind).toBe('stored');
  expect((await put(own, '')).kind).toBe('stored');
  const refused = await put(own, '');
  expect(refused).toMatchObject({ kind: 'tooFast', limit: { max: 10_000 } });
  expect(() => storedOrThrown(own, 'a', refused)).toThrow(
    expect.objectContaining({ code: 'REQUEST_RATE_EXCEEDED' }),
  );
  expect((await put(all, '')).kind).toBe('stored');
  expect(await store.storage.get(own, 'a')).toMatchObject({ text: '""', version: 2 });
  now += 60_000;
  expect((await put(own, '')).kind).toBe('stored');
});
