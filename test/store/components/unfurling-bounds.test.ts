/**
 * Matching a pasted URL against block patterns is bounded, and yields to the event loop.
 */
import { expect, test } from 'vitest';
import { Unfurling } from '../../../src/host/http/control/drawing/unfurling.ts';
import {
  BLOCKS_CHECKED_MAX,
  type InstalledBlock,
} from '../../../src/host/store/installations/installed-blocks.ts';
import {
  coversUrl,
  readUnfurlPattern,
  type UnfurlPattern,
} from '../../../src/model/manifest/unfurl-pattern.ts';
import { OPERATOR, published, temporaryStore } from '../../support/store/temporary-store.ts';

function patternOf(text: string): UnfurlPattern {
  const pattern = readUnfurlPattern(text);
  if (pattern === undefined) throw new Error(`${text} is no pattern`);
  return pattern;
}

/** Counts matches of patterns against a URL: each match reads the parts of the pattern. */
function counted(pattern: UnfurlPattern, compared: () => void): UnfurlPattern {
  return {
    ...pattern,
    get parts() {
      compared();
      return pattern.parts;
    },
  };
}

// Attack: 1,000 integrations of 100 blocks, with expensive patterns for one host.
test('attack: of a huge number of patterns a bounded number is compared, in many turns of the event loop', async () => {
  let compared = 0;
  const slow = patternOf(`https://x.example/*${'a'.repeat(50)}b*a`);
  const pattern = counted(slow, () => (compared += 1));
  const home = { integration: 'i', installationId: 'ins' };
  const block = { block: { id: 'b', title: 'B' }, patterns: [pattern], home } as unknown as InstalledBlock;
  const blocks = new Array<InstalledBlock>(100_000).fill(block);
  const unfurling = new Unfurling({
    renderer: { draw: () => Promise.reject(new Error('Nothing is drawn.')) },
    targets: { named: async () => undefined },
    limits: {} as never,
  });
  let turns = 0;
  let over = false;
  const count = (): void => {
    turns += 1;
    if (!over) setImmediate(count);
  };
  setImmediate(count);
  const url = `https://x.example/${'a'.repeat(2_000)}`;
  await expect(unfurling.unfurl({} as never, {} as never, { url, blocks })).rejects.toMatchObject({
    code: 'UNFURL_UNMATCHED',
  });
  over = true;
  expect(compared).toBeLessThanOrEqual(2_000);
  expect(turns).toBeGreaterThanOrEqual(20);
});

test('attack: a URL that contains the end of a pattern two thousand times is searched once', () => {
  const end = patternOf('https://x.example/*a');
  const text = `/${'ab'.repeat(1_000)}`;
  let searches = 0;
  const searching = <Result>(found: Result): Result => {
    searches += 1;
    return found;
  };
  const rest = {
    length: text.length,
    startsWith: (part: string) => searching(text.startsWith(part)),
    endsWith: (part: string) => searching(text.endsWith(part)),
    includes: (part: string, at: number) => searching(text.includes(part, at)),
    indexOf: (part: string, at: number) => searching(text.indexOf(part, at)),
    charAt: (at: number) => searching(text.charAt(at)),
  } as unknown as string;
  expect(coversUrl(end, { protocol: 'https:', hostname: 'x.example', port: '', rest })).toBe(false);
  expect(searches).toBeLessThan(20);
});

test('a search reads blocks until the bound on blocks and patterns', async () => {
  const store = await temporaryStore();
  const patterns = Array.from({ length: 10 }, (_, at) => `"https://x.example/p${at}"`).join(', ');
  const blocks = Array.from({ length: 100 }, (_, at) => `{id: b${at}, title: B, urlUnfurl: [${patterns}]}`);
  const names = Array.from({ length: 11 }, (_, at) => `i${String(at).padStart(2, '0')}`);
  for (const name of names) {
    const manifest = published({ name }, `blocks: [${blocks.join(', ')}]`);
    await store.registry.publish({ manifest, secrets: new Map(), script: '', sourceMap: '' }, OPERATOR);
    await store.installations.install({ integration: name, organization: 'acme', externalIds: [] }, OPERATOR);
  }
  const found = await store.installedBlocks.all({ organization: 'acme' });
  const lookedAt = found.reduce((sum, one) => sum + 1 + one.patterns.length, 0);
  expect(lookedAt).toBeLessThanOrEqual(BLOCKS_CHECKED_MAX);
  expect(lookedAt).toBeGreaterThan(BLOCKS_CHECKED_MAX - 11);
  expect(new Set(found.map(({ home }) => home.integration))).toEqual(new Set(names.slice(0, 10)));
});
