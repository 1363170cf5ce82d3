/** How `annex publish` and `annex check` show on a terminal how much of an upload is sent. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { annex } from '../../support/cli/annex-run.ts';
import { folderWith, manifestOf } from '../../support/cli/author-folder.ts';
import { TestService } from '../../support/service.ts';

let service: TestService;
let env: Record<string, string>;
beforeAll(async () => {
  service = await TestService.start();
  env = { ANNEX_URL: service.service.controlUrl, ANNEX_TOKEN: service.admin };
});
afterAll(() => service.stop());

/** A folder of an integration that imports a text of this size. */
const folderOf = (name: string, bytes: number) =>
  folderWith({
    'platform-manifest.yaml': manifestOf(name),
    'src/index.ts':
      'import text from "./text.txt"; export default { fetch: () => new Response(text.slice(0, 1)) };',
    'src/text.txt': randomBytes(bytes / 2).toString('hex'),
  });

test.each(['publish', 'check'])('a long %s shows percentages in one place, up to 100', async (command) => {
  const cwd = await folderOf(`long-${command}`, 2 * 1024 * 1024);
  const { code, stdout, stderr } = await annex({ words: [command], cwd, env, isTerminal: true });
  expect({ code, stderr }).toMatchObject({ code: 0 });
  const percents = [...stderr.matchAll(/\rUploading 3 files, 2\.0 MiB … (\d+) %/g)].map(([, text]) =>
    Number(text),
  );
  expect(percents.length).toBeGreaterThan(5);
  expect(percents).toEqual([...new Set(percents)].toSorted((one, other) => one - other));
  expect(percents.at(-1)).toBe(100);
  // What follows takes the place of the percentage.
  expect(stderr).toMatch(/100 %; the service builds it\r +\r/);
  expect(stdout).not.toContain('%');
});

test('a short one is one sentence, and without a terminal there is none', async () => {
  const cwd = await folderOf('short', 64);
  const shown = await annex({ words: ['publish'], cwd, env, isTerminal: true });
  expect(shown.stderr).toMatch(/Uploading 3 files, \d+ B …/);
  expect(shown.stderr).not.toContain('\r');
  const quiet = await annex({ words: ['publish'], cwd: await folderOf('quiet', 2 * 1024 * 1024), env });
  expect(quiet).toMatchObject({ code: 0, stderr: '' });
});
