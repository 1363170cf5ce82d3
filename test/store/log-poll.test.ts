/**
 * Followers of logs with several nodes on one database: each line is handed on once, wherever and
 * whenever it was written (docs/contract/nodes.md#logs).
 */
import { describe, expect, onTestFinished, test } from 'vitest';
import type { StoredLine } from '../../src/host/store/logs.ts';
import { openStore, type Store } from '../../src/host/store/store.ts';
import { CLOCK, storeOptions, temporaryFolder } from '../support/store/temporary-store.ts';

const TENANT = 'ins_1';

async function write({ logs }: Store, texts: readonly string[], at = CLOCK.now): Promise<void> {
  const line = { tenant: TENANT, version: 1, requestId: 'r', level: 'info', at } as const;
  for (const text of texts) logs.append({ ...line, text });
  await logs.pass();
}

async function follow({ logs }: Store): Promise<readonly string[]> {
  const got: string[] = [];
  const following = logs.follow(TENANT, (lines: readonly StoredLine[]) => {
    got.push(...lines.map(({ text }) => text));
  });
  onTestFinished(() => following.end());
  await following.begun;
  return got;
}

async function twoNodes(): Promise<readonly [Store, Store]> {
  const folder = await temporaryFolder();
  const open = async () => {
    const store = await openStore(storeOptions(folder));
    onTestFinished(() => store.close());
    return store;
  };
  return [await open(), await open()];
}

describe('on PostgreSQL, a follower', () => {
  test('gets the lines of both nodes once, without those that were written before', async () => {
    const [a, b] = await twoNodes();
    await write(b, ['before']);
    const got = await follow(a);
    await write(a, ['own 1']);
    await write(b, ['other 1', 'other 2']);
    await write(a, ['own 2']);
    await expect.poll(() => got.toSorted()).toEqual(['other 1', 'other 2', 'own 1', 'own 2']);
    await write(b, ['last']);
    await expect.poll(() => got).toContain('last');
    expect(got).toHaveLength(5);
  });

  test('gets a line that sorts before the last one that it got', async () => {
    const [a, b] = await twoNodes();
    const got = await follow(a);
    await write(b, ['later']);
    await expect.poll(() => got).toEqual(['later']);
    await write(b, ['earlier'], CLOCK.now - 5_000);
    await expect.poll(() => got).toEqual(['later', 'earlier']);
  });

  test('that begins later gets nothing of what others have got, and they lose nothing by it', async () => {
    const [a, b] = await twoNodes();
    const first = await follow(a);
    await write(b, ['1']);
    const second = await follow(a);
    await write(b, ['2']);
    await expect.poll(() => [first, second]).toEqual([['1', '2'], ['2']]);
  });

  test('gets a thousand lines of another node in their order', async () => {
    const [a, b] = await twoNodes();
    const got = await follow(a);
    const texts = Array.from({ length: 999 }, (_, index) => `${index}`);
    await write(b, texts);
    await expect.poll(() => got).toEqual(texts);
  });
});
