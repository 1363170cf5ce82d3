/**
 * The service of `@annex/testing` ends with the process of the tests, however that ends, and no
 * fake of that process reaches it.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { folderOf } from '../../support/testing-folders.ts';

const KIT = new URL('../../../packages/testing/src/index.ts', import.meta.url).href;
const PROCESS = new URL('../../../packages/testing/src/service-process.ts', import.meta.url).href;
const FIXTURE = fileURLToPath(new URL('../../../fixtures/greeter', import.meta.url));

/** Loads an integration, prints where its service is, and goes on as `then` says. */
function testProcess(then: string) {
  const code = `
    const { load } = await import('${KIT}');
    const { serviceProcess } = await import('${PROCESS}');
    await (await load('${FIXTURE}')).install();
    console.log((await serviceProcess()).ready.controlUrl);
    ${then}`;
  return spawn(process.execPath, ['--input-type=module', '-e', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

async function urlOf(child: ReturnType<typeof testProcess>): Promise<string> {
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return line.toString().trim();
}

const refused = (url: string) =>
  expect
    .poll(() =>
      fetch(`${url}/healthz`).then(
        () => 'up',
        () => 'down',
      ),
    )
    .toBe('down');

test('a process that has nothing more to do ends by itself, and its service with it', async () => {
  const child = testProcess('');
  const exited = once(child, 'exit');
  const url = await urlOf(child);
  expect((await exited)[0]).toBe(0);
  await refused(url);
});

test('a process that is killed takes its service along', async () => {
  const child = testProcess('setInterval(() => undefined, 1_000);');
  const exited = once(child, 'exit');
  const url = await urlOf(child);
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  child.kill('SIGKILL');
  await exited;
  await refused(url);
});

/** What a library for fakes replaces, by functions that never do anything. */
const FAKES: Readonly<Record<string, string>> = {
  'the timers of node:test': `(await import('node:test')).mock.timers.enable();`,
  'timers that never run': `
    for (const name of ['setTimeout', 'setInterval', 'setImmediate']) globalThis[name] = () => undefined;`,
  'a clock that stands': `performance.now = Date.now = () => 0; process.hrtime = () => [0, 0];`,
  'ticks and microtasks that never run': `process.nextTick = globalThis.queueMicrotask = () => undefined;`,
  'a fetch that refuses': `globalThis.fetch = () => Promise.reject(new Error('no network in tests'));`,
};

test.each(Object.entries(FAKES))('%s do not reach it', async (_name, fake) => {
  const fetching = await folderOf(
    `export default { async fetch(request) {
    const form = await (await request.formData()).get('event');
    const { method } = JSON.parse(form).request;
    await new Promise((resolve) => setTimeout(resolve, 20));
    const answer = await fetch('https://api.example.com/', { method: 'POST', body: method });
    return new Response(await answer.text(), { headers: { 'x-up': answer.headers.get('x-up') } });
  } };`,
    'scopes: []\n',
  );
  const child = testProcess(
    `${fake}
    const app = await load('${fetching}', { fetches: {
      'POST https://api.example.com/': async (request) =>
        Response.json([await request.text()], { headers: { 'x-up': 'mocked' } }),
    } });
    const installation = await app.install({ configuration: { any: 'value' } });
    const form = new FormData();
    form.append('file', new File(['abc'], 'n.txt'));
    for (const body of ['text', form, new URLSearchParams('a=b'), new Uint8Array([1])]) {
      const answer = await installation.fetch('/', { method: 'POST', body });
      console.log(answer.status, answer.headers.get('x-up'), JSON.stringify(await answer.clone().json()), answer.bodyUsed);
    }
    await installation.advance('1h');
    await app.close();
    process.exit();`,
  );
  const [out] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  expect(out.split('\n').slice(1, -1)).toEqual(Array(4).fill('200 mocked ["POST"] false'));
});
