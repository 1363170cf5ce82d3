/**
 * `annex dev` as an author has it: a real process watches a real folder, and its endpoint answers
 * what the last good save says.
 */
import { readdir, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
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
const relayed = (url) => fetch(url).then(({ status }) => new Response(status), () => new Response('none'));
export default createIntegration({
  async fetch(request, { environment }) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname.endsWith('/throw')) throw new Error('thrown by ' + word);
    if (pathname.endsWith('/relay')) return relayed(searchParams.get('to') + environment.secrets.KEY + '?key=hidden');
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

function started(folder: string, words: readonly string[] = []): DevProcess {
  const dev = new DevProcess(folder, words);
  running.add(dev);
  return dev;
}

const answerOf = async (endpoint: string) => (await fetch(endpoint)).text();

describe('a session', () => {
  let folder: string;
  let dev: DevProcess;
  let endpoint: string;
  let host: string;
  /** What the code reaches: `/never/…` is never answered. */
  const asked = Promise.withResolvers<void>();
  const upstream = createServer(({ url = '' }, response) => {
    if (url.startsWith('/never')) asked.resolve();
    else response.writeHead(201).end();
  });
  const save = (path: string, text: string) => writeFile(join(folder, path), text);
  /** Saves a file, and waits for the answer that it leads to. @returns the version */
  const saved = async (path: string, text: string, answer: string): Promise<number> => {
    await save(path, text);
    await expect.poll(() => answerOf(endpoint)).toBe(answer);
    return (await dev.next('live')).version;
  };

  beforeAll(async () => {
    await new Promise<void>((listening) => upstream.listen(0, '127.0.0.1', listening));
    host = `127.0.0.1:${(upstream.address() as AddressInfo).port}`;
    folder = await folderOf();
    folders.add(folder);
    dev = started(folder, ['--egress-allow', host]);
    ({ endpoint } = await dev.next('live'));
  });
  afterAll(() => {
    upstream.closeAllConnections();
    upstream.close();
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
      problems: [{ severity: 'error', line: 12, column: 23, message: 'Unexpected ";"' }],
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
    expect(line.text).toMatch(/thrown by other[\s\S]*src\/index\.ts:7:/);
  });

  test('tells of a request of others what was asked and fetched, without queries and secrets', async () => {
    const forged = crypto.randomUUID();
    const headers = { 'x-annex-request': forged };
    const relay = (to: string, signal = new AbortController().signal) =>
      fetch(`${endpoint}/relay?to=${to}`, { method: 'POST', headers, signal });
    await relay(`http://${host}/`);
    const fetched = await dev.next('fetch');
    expect(fetched).toMatchObject({ method: 'GET', url: `http://${host}/[redacted]?…`, status: 201 });
    const request = await dev.next('request');
    expect(request).toMatchObject({
      ...{ method: 'POST', path: '/relay?…', status: 200, requestId: fetched.requestId },
      installation: (await firstLive(dev)).installation,
    });
    expect(JSON.stringify([fetched, request])).not.toMatch(/hidden|changed/);
    expect(request.requestId).not.toBe(forged);

    await relay('http://10.0.0.1/');
    expect(await dev.next('fetch')).toMatchObject({
      status: 0,
      failure: expect.stringContaining('10.0.0.1'),
    });

    await dev.next('request');
    const leaving = new AbortController();
    const left = relay(`http://${host}/never/`, leaving.signal);
    await asked.promise;
    leaving.abort();
    await expect(left).rejects.toThrow();
    expect(await dev.next('request')).toMatchObject({ path: '/relay?…', status: 0 });

    const unknown = new URL(`/${'k'.repeat(24)}/hook`, endpoint);
    await fetch(unknown);
    const refused = await dev.next('request');
    expect(refused).toMatchObject({ method: 'GET', path: unknown.pathname, status: 404 });
    expect(refused).not.toHaveProperty('installation');
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
