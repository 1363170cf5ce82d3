/**
 * `npm run client:runtimes`: the packed client in each runtime that it is for. Packs it, installs
 * it with npm in an empty folder, and runs `exercise.js` against a service in this Node, in the
 * `node` of the machine, Bun, Deno and Chromium. Prints a line for each; fails if one fails.
 *
 * No part of the tests: it downloads Bun and Deno (300 MB) from the npm registry. `-- --offline`
 * leaves these two out. Chromium is that of the machine (`CHROMIUM`, or on the path).
 */
import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Annex } from '../../packages/client/src/index.ts';
import { compile } from '../../packages/compile.ts';
import { startTemporaryService } from '../../src/local/temporary-service.ts';
import { signatureHeader } from '../../src/model/signature.ts';
import { PageServer, type PageServerDeps } from './page-server.ts';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const CLIENT = fileURLToPath(new URL('../../packages/client/', import.meta.url));
const BUN = 'bun@1.4.5';
const DENO = 'deno@2.9.6';
const RUN_MS = 120_000;
const INSTALL_MS = 400_000;
const BODY = '{"eventId":"e-1"}';
const SECRET = 'of the exercise';

const run = promisify(execFile);

/** A runtime: runs the exercise in the folder. @returns its output */
interface Runtime {
  readonly name: string;
  exercise(): Promise<string>;
}

const MANIFEST = `name: greeter
title: Greeter
description: For the exercise.
organization: acme
visibility: public
target: all
scopes: [space:content:read]
script: index.ts
`;
const SCRIPT = `import { createIntegration } from '@annex/sdk';
export default createIntegration({
  events: { space_content_updated: (event) => console.log('updated ' + event.revisionId) },
});
`;

/** An empty folder with the packed client in it, and the other runtimes. */
async function install(folder: string, packages: readonly string[]): Promise<void> {
  const packed = join(folder, 'packed');
  await compile({ config: 'packages/client/tsconfig.json', root: '.', into: join(packed, 'dist') });
  await cp(join(CLIENT, 'package.json'), join(packed, 'package.json'));
  await cp(join(CLIENT, 'README.md'), join(packed, 'README.md'));
  const { stdout } = await run('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: packed });
  await writeFile(join(folder, 'package.json'), '{"type":"module","private":true}');
  const archive = join(folder, stdout.trim());
  const flags = ['install', '--silent', '--no-audit', '--no-fund', archive, ...packages];
  await run('npm', flags, { cwd: folder, timeout: INSTALL_MS });
  // Bun puts its program into place by a script of the install, which npm 11 does not run.
  const bun = join(folder, 'node_modules/bun');
  if (existsSync(bun)) await run(process.execPath, ['install.js'], { cwd: bun, timeout: INSTALL_MS });
  for (const name of ['exercise.js', 'main.js']) await cp(join(HERE, name), join(folder, name));
}

/** The `node` of the machine, and not the one that npm puts before it. */
const machinePath = (): string =>
  (process.env['PATH'] ?? '')
    .split(delimiter)
    .filter((each) => !each.includes('node_modules'))
    .join(delimiter);

async function inBrowser(deps: PageServerDeps): Promise<string> {
  const server = await PageServer.start(deps);
  const profile = await mkdtemp(join(tmpdir(), 'annex-chromium-'));
  const flags = ['--headless', '--no-sandbox', '--disable-gpu', `--user-data-dir=${profile}`, server.url];
  const browser = spawn(process.env['CHROMIUM'] ?? 'chromium', flags, { stdio: 'ignore' });
  const exited = new Promise<string>((resolve) => {
    browser.once('error', ({ message }) => resolve(`failed: ${message}`));
    browser.once('exit', () => resolve('failed: Chromium ended.'));
  });
  const late = AbortSignal.timeout(RUN_MS);
  const timedOut = new Promise<string>((resolve) => {
    late.addEventListener('abort', () => resolve('failed: no result in time'));
  });
  try {
    const result = await Promise.race([server.result, exited, timedOut]);
    if (result.startsWith('failed: ')) throw new Error(result.slice('failed: '.length));
    return result;
  } finally {
    browser.kill();
    await exited;
    server.stop();
    await rm(profile, { recursive: true, force: true });
  }
}

async function main(): Promise<void> {
  const isOffline = process.argv.includes('--offline');
  const folder = await mkdtemp(join(tmpdir(), 'annex-client-runtimes-'));
  const { service, end } = await startTemporaryService({
    flags: ['--built-ins', 'none', '--cells', '1'],
    logLevel: 'silent',
  });
  try {
    await mkdir(join(folder, 'packed'));
    await install(folder, isOffline ? [] : [BUN, DENO]);
    const token = service.firstAdminToken ?? '';
    const annex = new Annex({ url: service.controlUrl, token });
    await annex.integrations.publish({ manifest: MANIFEST, files: [new File([SCRIPT], 'index.ts')] });
    const header = signatureHeader([SECRET], Math.floor(Date.now() / 1_000), Buffer.from(BODY));
    const givenTo = (name: string) => ({ name, webhook: { header, body: BODY, secret: SECRET } });
    const program = (name: string, file: string, flags: readonly string[] = []): Runtime => ({
      name,
      async exercise() {
        const given = JSON.stringify(givenTo(name));
        const env = {
          ...process.env,
          PATH: machinePath(),
          URL: service.controlUrl,
          TOKEN: token,
          GIVEN: given,
        };
        const { stdout } = await run(file, [...flags, 'main.js'], { cwd: folder, env, timeout: RUN_MS });
        return stdout.trim();
      },
    });
    const { exports } = JSON.parse(await readFile(join(CLIENT, 'package.json'), 'utf8')) as {
      exports: { '.': { default: string } };
    };
    const client = join('node_modules/@annex/client', exports['.'].default);
    const bin = join(folder, 'node_modules/.bin');
    const runtimes: Runtime[] = [
      program('node-26', process.execPath),
      program('node', 'node'),
      ...(isOffline ? [] : [program('bun', join(bin, 'bun'), ['run'])]),
      ...(isOffline ? [] : [program('deno', join(bin, 'deno'), ['run', '--allow-net', '--allow-env'])]),
      {
        name: 'chromium',
        exercise: () =>
          inBrowser({ folder, client, control: service.controlUrl, token, given: givenTo('chromium') }),
      },
    ];
    for (const runtime of runtimes) await report(runtime);
  } finally {
    await end();
    await rm(folder, { recursive: true, force: true });
  }
}

async function report({ name, exercise }: Runtime): Promise<void> {
  try {
    console.log(await exercise());
  } catch (error) {
    console.log(`${name}: failed: ${(error as Error).message}`);
    process.exitCode = 1;
  }
}

await main();
