/** The service of `@annex/testing` ends with the process of the tests, however that ends. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

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
