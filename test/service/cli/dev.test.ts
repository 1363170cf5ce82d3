/**
 * `annex dev` as an author has it: a real process watches a real folder, and its endpoint answers
 * what the last good save says.
 */
import { readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { annex } from '../../support/cli/annex-run.ts';
import { manifestOf, suiteFolder } from '../../support/cli/author-folder.ts';
import { DevProcess } from '../../support/cli/dev-process.ts';

const SETTINGS = `configurations:
  account:
    properties:
      greeting: { type: string }
secrets: { KEY: '\${{ env.KEY }}' }
`;
const answering = (text: string) => `import { createIntegration } from '@annex/sdk';
import { word } from './word.ts';
export default createIntegration({
  async fetch(request, { environment }) {
    if (request.url.endsWith('/throw')) throw new Error('thrown by ' + word);
    return new Response(${JSON.stringify(text)} + ' ' + word + ' ' + environment.secrets.KEY);
  },
});
`;

const running = new Set<DevProcess>();
const folders = new Set<string>();
afterAll(async () => {
  for (const dev of running) await dev.stop();
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

function started(folder: string): DevProcess {
  const dev = new DevProcess(folder);
  running.add(dev);
  return dev;
}

const answerOf = async (endpoint: string) => (await fetch(endpoint)).text();

describe('a session', () => {
  let folder: string;
  let dev: DevProcess;
  let endpoint: string;
  const save = (path: string, text: string) => writeFile(join(folder, path), text);
  /** Saves a file, and waits for the answer that it leads to. @returns the version */
  const saved = async (path: string, text: string, answer: string): Promise<number> => {
    await save(path, text);
    await expect.poll(() => answerOf(endpoint)).toBe(answer);
    return (await dev.next('live')).version;
  };

  beforeAll(async () => {
    folder = await folderOf();
    folders.add(folder);
    dev = started(folder);
    ({ endpoint } = await dev.next('live'));
  });

  test('publishes and installs the folder', async () => {
    expect(await answerOf(endpoint)).toBe('one plain sealed');
  });

  test('makes a saved file live', async () => {
    await saved('src/index.ts', answering('two'), 'two plain sealed');
  });

  test('sees each file of the upload: an imported one, the variables', async () => {
    await saved('src/word.ts', "export const word = 'other';", 'two other sealed');
    await saved('.env', 'KEY=changed', 'two other changed');
  });

  test('publishes nothing for a file that is in no upload, or is saved unchanged', async () => {
    const before = await saved('src/index.ts', answering('three'), 'three other changed');
    await save('notes.txt', 'not imported');
    await save('src/index.ts', answering('three'));
    expect(await saved('src/index.ts', answering('four'), 'four other changed')).toBe(before + 1);
  });

  test('reports an error at its place, and the version before goes on', async () => {
    const before = await saved('src/index.ts', answering('five'), 'five other changed');
    await save('src/index.ts', `${answering('six')}export const broken = ;\n`);
    expect(await dev.next('refused')).toMatchObject({
      version: before,
      problems: [{ severity: 'error', line: 9, column: 23, message: 'Unexpected ";"' }],
    });
    expect(await answerOf(endpoint)).toBe('five other changed');
    await saved('src/index.ts', answering('six'), 'six other changed');
  });

  test('ends in the last of 100 quick saves', async () => {
    for (let at = 1; at <= 100; at += 1) await save('src/index.ts', answering(`save ${at}`));
    await expect.poll(() => answerOf(endpoint)).toBe('save 100 other changed');
  });

  test('follows the log, with stacks at the lines of the source', async () => {
    await fetch(`${endpoint}/throw`);
    const { line } = await dev.next('log', (event) => event.line.level === 'error');
    expect(line.text).toMatch(/thrown by other[\s\S]*src\/index\.ts:5:/);
  });

  test('ends in order at the first signal', async () => {
    expect(await dev.stop()).toBe(0);
  });

  test('goes on in the next run with the same installation and its configuration', async () => {
    const again = started(folder);
    const live = await again.next('live');
    expect(live.installation).toBe((await firstLive(dev)).installation);
    expect(new URL(live.endpoint).pathname).toBe(new URL(endpoint).pathname);
    await again.stop();
  });

  test('keeps its data where only the author reads it, and where no upload has it', async () => {
    const { mode } = await stat(join(folder, '.annex'));
    expect(mode & 0o777).toBe(0o700);
    expect(await readdir(join(folder, '.annex'))).toContain('.gitignore');
    const listed = await annex({ words: ['publish', folder, '--list'] });
    expect(listed.stdout).not.toContain('.annex');
  });
});

const folderOf = (): Promise<string> =>
  suiteFolder({
    'platform-manifest.yaml': manifestOf('dev-loop', 'src/index.ts', SETTINGS),
    'src/index.ts': answering('one'),
    'src/word.ts': "export const word = 'plain';",
    '.env': 'KEY=sealed',
  });

const firstLive = async (dev: DevProcess) => {
  const live = dev.events.find((event) => event.event === 'live');
  if (live?.event !== 'live') throw new Error('nothing was live');
  return live;
};
