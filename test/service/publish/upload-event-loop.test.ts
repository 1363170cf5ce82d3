/**
 * Attack: uploads that are expensive to read. The host serves other requests meanwhile, because it
 * does not read them on its event loop. The test measures CPU time of that thread, and compares it
 * with the cost of reading on it.
 */
import { beforeAll, expect, test } from 'vitest';
import { readUpload } from '../../../src/host/bundle/reading/read-upload.ts';
import { DEFAULT_LIMITS } from '../../../src/limits.ts';
import { formOf, uploaded } from '../../support/bundle/uploaded.ts';
import { TestService } from '../../support/service.ts';
import { manifestYaml } from '../../support/store/temporary-store.ts';

let annex: TestService;
beforeAll(async () => {
  annex = await TestService.start();
  return () => annex.stop();
});

const threadMs = () => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};

/** Longest CPU time of one turn of the event loop while `work` runs. */
async function longestStepMs(work: () => Promise<unknown>): Promise<number> {
  let [longest, before, over] = [0, threadMs(), false];
  const turn = () => {
    const now = threadMs();
    longest = Math.max(longest, now - before);
    before = now;
    if (!over) setImmediate(turn);
  };
  setImmediate(turn);
  await work().finally(() => {
    over = true;
  });
  turn();
  return longest;
}

const MANIFEST = manifestYaml({}, 'script: index.js');
const DEEP = 3_000_000;

/**
 * A chain of links: each descends missing folders and ascends again; all end in an empty folder.
 */
async function linkFlood(): Promise<Uint8Array> {
  const made = (await import('../../../fixtures/hostile/publishing-link-flood/upload.js' as string)) as {
    default(links: number): [string, Uint8Array, string][];
  };
  return made.default(3_990)[0]?.[1] ?? new Uint8Array();
}

test.each([
  ['links that lead on for long', async () => ({ manifest: MANIFEST, archive: await linkFlood() })],
  ['YAML with 65,000 errors', async () => ({ manifest: ']'.repeat(65_000) })],
  [
    'secrets that are nested without end',
    async () => ({ manifest: MANIFEST, secrets: `{"a":${'['.repeat(DEEP)}${']'.repeat(DEEP)}}` }),
  ],
])('%s are read without a long step of the host', async (_what, make) => {
  const parts: Record<string, string | Uint8Array> = await make();
  const files = parts['archive'] === undefined ? uploaded({ 'index.js': '' }) : new Map<string, Uint8Array>();
  const before = threadMs();
  await readUpload(formOf(files, parts), { limits: DEFAULT_LIMITS, rules: {} });
  const costMs = threadMs() - before;
  const form = new FormData();
  for (const [name, bytes] of files) form.append('files', new Blob([Uint8Array.from(bytes)]), name);
  for (const [name, content] of Object.entries(parts))
    form.append(name, new Blob([typeof content === 'string' ? content : Uint8Array.from(content)]), name);
  let status = 0;
  const longest = await longestStepMs(async () => {
    status = (await annex.api('POST', '/v1/integrations', { form })).status;
  });
  expect(status).toBe(422);
  expect(longest).toBeLessThan(costMs / 2);
});
