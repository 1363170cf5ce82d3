/**
 * Pages of the audit read a bounded number of rows, however many rows they
 * skip.
 */
import { describe, expect, onTestFinished, test } from 'vitest';
import { bulk, runForEach, TEXT } from '../../src/host/database/bulk.ts';
import { ROWS_PER_SEARCH } from '../../src/host/store/audit.ts';
import { openStore, type Store } from '../../src/host/store/store.ts';
import { storeOptions, temporaryFolder } from '../support/store/temporary-store.ts';
import { openTestDatabase } from '../support/store/test-engine.ts';

/** A store with so many entries. */
async function storeOf({ entries }: { readonly entries: number }): Promise<Store> {
  const folder = await temporaryFolder({ inMemory: true });
  await fill(folder, entries);
  const store = await openStore(storeOptions(folder));
  onTestFinished(() => store.close());
  return store;
}

const idOf = (at: number) => String(at).padStart(26, '0');

/**
 * Inserts so many edits of one integration for each of two organizations; the oldest entry is a
 * deletion by the first.
 */
async function fill(folder: string, entries: number): Promise<void> {
  const database = await openTestDatabase(folder);
  const insert = bulk`
    insert into audit (id, at, action, actor, request_id, organization, integration, details)
    values (${TEXT}, 0, ${TEXT}, 'organization', '', ${TEXT}, 'shared', '{}')`;
  const rows = Array.from({ length: entries }, (_, at) => [
    idOf(at),
    at === 0 ? 'installation.delete' : 'installation.edit',
    at % 2 === 0 ? 'acme' : 'other',
  ]);
  await database.transaction().execute((transaction) => runForEach(transaction, insert, rows));
  await database.destroy();
}

describe('a page of the audit', () => {
  const ENTRIES = 2 * ROWS_PER_SEARCH + 2_000;
  /** The last entry of `acme` that a first page reads. */
  const end = idOf(ENTRIES - 2 * ROWS_PER_SEARCH);

  test.each([
    ['action', { organization: 'acme', action: 'installation.delete' }],
    ['integration', { organization: 'acme', integration: 'none' }],
  ] as const)(
    'attack: reads a bounded number of rows for a rare %s, and returns a cursor',
    async (_, query) => {
      const store = await storeOf({ entries: ENTRIES });
      expect(await store.audit.list({ ...query, limit: 10 })).toEqual({ items: [], next: end });
    },
  );

  test('finds every entry over several pages', async () => {
    const store = await storeOf({ entries: ENTRIES });
    const query = { organization: 'acme', action: 'installation.delete', limit: 10 } as const;
    const { items, next } = await store.audit.list({ ...query, cursor: end });
    expect([items.map(({ id }) => id), next]).toEqual([[idOf(0)], undefined]);
    const ofAll = await store.audit.list({
      ...query,
      organization: undefined,
      cursor: idOf(ROWS_PER_SEARCH),
    });
    expect(ofAll).toMatchObject({ items: [{ id: idOf(0) }], next: idOf(0) });
  });

  test('contains all matching entries, in pages of the requested size', async () => {
    const store = await storeOf({ entries: 20 });
    const query = {
      organization: 'acme',
      integration: 'shared',
      action: 'installation.edit',
      limit: 5,
    } as const;
    const first = await store.audit.list(query);
    const second = await store.audit.list({ ...query, cursor: first.next });
    const ids = [...first.items, ...second.items].map(({ id }) => Number(id));
    expect([ids, second.next]).toEqual([[18, 16, 14, 12, 10, 8, 6, 4, 2], undefined]);
  });
});
