/**
 * What authors wait for: a save until `annex dev` serves it, tests with `@annex/testing`, and
 * much-used packages of npm beside an integration without packages.
 */
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildPackages } from '../../packages/build.ts';
import { DEFAULT_LIMITS } from '../../src/limits.ts';
import { bundle, uploaded } from '../../test/support/bundle/uploaded.ts';
import { annex } from '../../test/support/cli/annex-run.ts';
import { DevProcess } from '../../test/support/cli/dev-process.ts';
import { withNodePackages } from '../../test/support/node-package.ts';
import { nodeFolders } from '../../test/support/packages/nodes.ts';
import { UserFolder } from '../../test/support/packages/user-folder.ts';
import { type Bench, median, pause, quantile } from '../figures.ts';
import { type Rig, withRig } from '../rig.ts';

async function elapsed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'annex-author-'));
  // Where root runs it, cells run as another user, who has to find Node there.
  await chmod(folder, 0o755);
  return work(folder).finally(() => rm(folder, { recursive: true, force: true }));
}

const SAVES = 10;
const POLL_MS = 5;
/** An author thinks between two saves; the next bundler starts meanwhile. */
const THINKING_MS = 1_000;

export const dev: Bench = async function* () {
  const times = await inFolder(async (base) => {
    const folder = join(base, 'hello');
    await annex({ words: ['new', 'hello', folder] });
    const file = join(folder, 'src/index.ts');
    const source = await readFile(file, 'utf8');
    const process = new DevProcess(folder);
    try {
      const { endpoint } = await process.next('live');
      const isLive = async (text: string) => (await (await fetch(endpoint)).text()).includes(text);
      await isLive('');
      const found: number[] = [];
      for (let save = 1; save <= SAVES; save += 1) {
        await pause(THINKING_MS);
        await writeFile(file, source.replace("?? 'world'", `?? 'save ${save}.'`));
        found.push(
          await elapsed(async () => {
            while (!(await isLive(`save ${save}.`))) await pause(POLL_MS);
          }),
        );
      }
      return found;
    } finally {
      await process.stop();
    }
  });
  for (const share of [0.5, 0.95])
    yield { row: `annex dev: save to answer, p${share * 100}`, unit: 'ms', annex: quantile(times, share) };
};

/** Processes that fill Node's cache of compiled code, and those that count. */
const FILLING = 3;
const COUNTED = 5;
const HELLO = fileURLToPath(new URL('../../fixtures/hello', import.meta.url));
/** A process of tests: the first starts the service and publishes, the next ones install again. */
const TESTS = `
import { load } from '@annex/testing';
const times = [];
for (let at = 0; at < 20; at += 1) {
  const from = performance.now();
  const installation = await (await load(${JSON.stringify(HELLO)})).install();
  const { status } = await installation.fetch('/');
  if (status !== 200) throw new Error('The call answered ' + status);
  times.push(performance.now() - from);
}
console.log(JSON.stringify(times));
`;

export const testing: Bench = async function* () {
  const times = await inFolder(async (base) => {
    const archives = await buildPackages(join(base, 'dist'));
    const node = (await nodeFolders(['26'], join(base, 'nodes'))).get('26');
    const user = await UserFolder.install(join(base, 'user'), archives, node);
    await writeFile(join(user.path, 'tests.mjs'), TESTS);
    const rounds: number[][] = [];
    for (let round = 0; round < FILLING + COUNTED; round += 1) {
      const cache = { XDG_CACHE_HOME: join(base, 'cache') };
      const { code, stdout, stderr } = await user.run(['node', 'tests.mjs'], node ?? '', cache);
      if (code !== 0) throw new Error(`The tests ended with ${code}: ${stderr}`);
      rounds.push(JSON.parse(stdout) as number[]);
    }
    return rounds.slice(FILLING);
  });
  const [first, next] = [times.map(([one]) => one ?? 0), times.flatMap(([, ...others]) => others)];
  const aim = (most: number) => ({ most, isAbsolute: true });
  yield { row: '@annex/testing: the first test', unit: 'ms', annex: median(first), aim: aim(1_000) };
  yield { row: '@annex/testing: each next test', unit: 'ms', annex: median(next), aim: aim(50) };
};

const INSTALLATIONS = 15;
/** Time between first calls: those of new tenants do not come back to back. */
const PAUSE_MS = 25;
const NO_PACKAGE = 'no package';

/** Name → what an integration imports, and what its answer says. */
const USES: Readonly<Record<string, readonly [imports: string, use: string]>> = {
  'no package': ['', `'hello'`],
  stripe: [`import Stripe from 'stripe';`, `new Stripe('sk_test_1').customers.constructor.name`],
  '@slack/web-api': [
    `import { WebClient } from '@slack/web-api';`,
    `typeof new WebClient('x').chat.postMessage`,
  ],
  '@octokit/rest': [`import { Octokit } from '@octokit/rest';`, `typeof new Octokit().rest.issues.create`],
  openai: [
    `import OpenAI from 'openai';`,
    `typeof new OpenAI({ apiKey: 'x', dangerouslyAllowBrowser: true }).chat`,
  ],
  '@aws-sdk/client-s3': [
    `import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';`,
    `typeof new S3Client({ region: 'eu-central-1' }).send + typeof PutObjectCommand`,
  ],
  twilio: [`import twilio from 'twilio';`, `typeof twilio('AC1', 'token').messages.create`],
  jsonwebtoken: [`import jwt from 'jsonwebtoken';`, `jwt.sign({ a: 1 }, 'secret')`],
  axios: [`import axios from 'axios';`, `typeof axios.create().get`],
  'graphql-request, graphql': [
    `import { GraphQLClient } from 'graphql-request';`,
    `typeof new GraphQLClient('https://a.example').request`,
  ],
  'react, react-dom/server': [
    `import { createElement } from 'react'; import { renderToString } from 'react-dom/server';`,
    `renderToString(createElement('p', null, 'hello'))`,
  ],
  zod: [`import { z } from 'zod';`, `z.object({ a: z.string() }).safeParse({ a: 'b' }).success`],
  jose: [`import { SignJWT, jwtVerify } from 'jose';`, `typeof SignJWT + typeof jwtVerify`],
  'date-fns': [`import { addDays, format } from 'date-fns';`, `format(addDays(new Date(0), 1), 'yyyy')`],
  nanoid: [`import { nanoid } from 'nanoid';`, `nanoid()`],
  'itty-router': [`import { AutoRouter } from 'itty-router';`, `typeof AutoRouter().fetch`],
};

interface Library {
  readonly publish: number;
  readonly first: number;
  readonly next: number;
}

/**
 * Says the files and bytes of each upload and of its script, too: `docs/npm-packages.md` has them.
 */
export const libraries: Bench = async function* ({ part }) {
  const names = Object.keys(USES).filter((name) => name === NO_PACKAGE || name.includes(part));
  const options = {
    flags: ['--built-ins', 'none', '--cells', '1'],
    limits: { isolatesPerCell: INSTALLATIONS },
  };
  const found = await withRig(options, async (rig) => {
    const measured = new Map<string, Library>();
    for (const [at, name] of names.entries()) measured.set(name, await library(rig, name, `app-${at}`));
    return measured;
  });
  const none = found.get(NO_PACKAGE);
  for (const [name, times] of found)
    for (const what of ['publish', 'first', 'next'] as const) {
      const row = `${name}: ${what === 'publish' ? what : `${what} call`}`;
      yield {
        row,
        unit: 'ms',
        annex: times[what],
        ...(name !== NO_PACKAGE && { to: 'none', other: none?.[what] }),
      };
    }
};

async function library(rig: Rig, name: string, app: string): Promise<Library> {
  const [imports, use] = USES[name] ?? ['', ''];
  const files = await withNodePackages(
    `import { createIntegration } from '@annex/sdk';\n${imports}\n` +
      `export default createIntegration({ fetch: () => new Response(String(${use})) });\n`,
  );
  const publish = await elapsed(() => rig.client.publish(app, files));
  const result = await bundle(uploaded(files), 'index.js', { limits: DEFAULT_LIMITS });
  if (!result.ok) throw new Error(`${name} does not bundle.`);
  const kib = (texts: readonly string[]) =>
    `${(texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0) / 1_024).toFixed(1)} KiB`;
  const texts = Object.values(files);
  console.error(`${name}: ${texts.length} files, ${kib(texts)}; script ${kib([result.script])}`);
  const times = { first: [] as number[], next: [] as number[] };
  for (let at = 0; at < INSTALLATIONS; at += 1) {
    const { url } = await rig.client.install(app, `${app}-${at}`);
    await pause(PAUSE_MS);
    for (const some of [times.first, times.next])
      some.push(
        await elapsed(async () => {
          const response = await fetch(url);
          await response.text();
          if (response.status !== 200) throw new Error(`${name} answered ${response.status}.`);
        }),
      );
  }
  return { publish, first: median(times.first), next: median(times.next) };
}
