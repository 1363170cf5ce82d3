/**
 * The insert menu of an organization with thousands of integrations: each page reads a bounded
 * number.
 */
import { expect, test } from 'vitest';
import { INTEGRATIONS_READ_MAX } from '../../../src/host/store/installations/installed-blocks.ts';
import { openStore } from '../../../src/host/store/store.ts';
import { OPERATOR, published, storeOptions, temporaryFolder } from '../../support/store/temporary-store.ts';

test('a menu of many integrations is listed page by page, however few of them have blocks', async () => {
  const count = INTEGRATIONS_READ_MAX + 5;
  const limits = { installationsPerOrganization: count };
  const store = await openStore(storeOptions(await temporaryFolder({ inMemory: true }), limits));
  try {
    const { registry, installations, installedBlocks } = store;
    const expected: string[] = [];
    for (let at = 0; at < count; at += 1) {
      const name = `app-${String(at).padStart(5, '0')}`;
      const has = at % 150 === 0 || at === count - 1;
      const manifest = published(
        { name },
        has ? 'blocks: [{id: one, title: One}, {id: two, title: Two}]' : '',
      );
      await registry.publish({ manifest, secrets: new Map(), script: '', sourceMap: '' }, OPERATOR);
      await installations.install({ integration: name, organization: 'acme', externalIds: [] }, OPERATOR);
      if (has) expected.push(`${name}/one`, `${name}/two`);
    }
    for (const limit of [3, 100]) {
      const found: string[] = [];
      let pages = 0;
      for (let cursor: string | undefined, more = true; more; pages += 1) {
        const page = await installedBlocks.page({ organization: 'acme', limit, cursor });
        expect(page.items.length).toBeLessThanOrEqual(limit);
        found.push(...page.items.map(({ home, block }) => `${home.integration}/${block.id}`));
        cursor = page.next;
        more = cursor !== undefined;
      }
      expect(found).toEqual(expected);
      expect(pages).toBeLessThanOrEqual(expected.length / limit + 2);
    }
    // A search for one block, in a URL or in a document, reads a bounded number of integrations.
    const all = await installedBlocks.all({ organization: 'acme' });
    expect(all.map(({ home, block }) => `${home.integration}/${block.id}`)).toEqual(expected.slice(0, -2));
    for (const cursor of ['nonsense', '/', 'app-00000/x', 'zzz/1'])
      await expect(installedBlocks.page({ organization: 'acme', limit: 1, cursor })).resolves.toBeDefined();
  } finally {
    await store.close();
  }
});
