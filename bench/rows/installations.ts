/**
 * The cost of many installations beside the worker loader of workerd, which loads the same bundles,
 * one for each name; and of a start of either program.
 */

import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { HostProcess } from '../../test/support/host-process.ts';
import { type Bench, inTurn, pause, quantile, type Round } from '../figures.ts';
import { firstAnswerMs, type Target } from '../load.ts';
import { missingPeers, startWorkerd, withWorkerd } from '../peers/peers.ts';
import { residentMib } from '../processes.ts';
import { withRig } from '../rig.ts';

/** The first answers of each cell compile its own code, and do not count. */
const WARM = 4;
/** First calls of new tenants do not come back to back. */
const PAUSE_MS = 25;
/** Installations are idle after that time without calls, on either side. */
const IDLE_MS = 10_000;

/** Applications by name, as one script each; of most, a call runs a little. */
const APPLICATIONS: Readonly<Record<string, string>> = {
  tiny: `export default { fetch: () => Response.json({ received: true }) };`,
  'hono, 80 KB': `
    import { Hono } from 'hono';
    import { cors } from 'hono/cors';
    import { jwt } from 'hono/jwt';
    import { logger } from 'hono/logger';
    const app = new Hono();
    app.use('/api/*', cors());
    app.use('/admin/*', logger(), jwt({ secret: 'of the benchmark', alg: 'HS256' }));
    app.all('*', (context) => context.json({ received: true }));
    export default { fetch: (request) => app.fetch(request) };`,
  'octokit, 160 KB': `
    import { Octokit } from '@octokit/rest';
    const client = new Octokit();
    export default { fetch: () => Response.json(typeof client.rest.issues.create) };`,
  'stripe, 640 KB': `
    import Stripe from 'stripe';
    const client = new Stripe('sk_test_1', { httpClient: Stripe.createFetchHttpClient() });
    export default { fetch: () => Response.json(typeof client.customers.create) };`,
};

const LOADER = `import application from 'application';
export default { fetch(request, { LOADER }) {
  const worker = LOADER.get(new URL(request.url).pathname, async () => ({
    compatibilityDate: '2026-11-01',
    mainModule: 'index.js',
    modules: { 'index.js': application },
  }));
  return worker.getEntrypoint().fetch(request);
} };`;

async function bundled(source: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: source, resolveDir: import.meta.dirname },
    ...{ bundle: true, write: false, format: 'esm', platform: 'browser', target: 'esnext' },
    ...{ conditions: ['worker'], mainFields: ['module', 'main'], logLevel: 'error' },
  });
  return outputFiles[0]?.text ?? '';
}

/** Makes so many new installations. */
type Open = (count: number) => Promise<readonly Target[]>;

/** @returns what `measure` says of each side */
async function besideLoader<T>(
  round: Round,
  { name, count }: { readonly name: string; readonly count: number },
  measure: (open: Open, pid: number) => Promise<T>,
): Promise<[T, T | undefined]> {
  const script = await bundled(APPLICATIONS[name] ?? '');
  const annex = () =>
    withRig({ flags: ['--built-ins', 'none'], limits: { isolatesPerCell: 2 * count } }, async (rig) => {
      await rig.client.publish('measured', { 'index.js': script });
      const open = async (wanted: number) => {
        const targets: Target[] = [];
        for (let left = wanted; left > 0; left -= 1)
          targets.push(await rig.client.install('measured', `org-${randomUUID()}`));
        return targets;
      };
      return measure(open, rig.host.pid);
    });
  const workerd = () =>
    withWorkerd([LOADER, script], ({ url, pid }) => {
      const open = async (wanted: number) =>
        Array.from({ length: wanted }, () => ({ url: new URL(`/${randomUUID()}`, url) }));
      return measure(open, pid);
    });
  return inTurn(round, annex, workerd);
}

async function firstAnswers(targets: readonly Target[]): Promise<readonly number[]> {
  const latencies: number[] = [];
  for (const target of targets) {
    await pause(PAUSE_MS);
    latencies.push(await firstAnswerMs(target));
  }
  return latencies;
}

export const first: Bench = async function* (round) {
  const which = { name: 'hono, 80 KB', count: round.isQuick ? 25 : 100 };
  const [annex, workerd] = await besideLoader(round, which, async (open) =>
    firstAnswers(await open(WARM + which.count)),
  );
  const of = (share: number, all = annex) => quantile(all.slice(WARM), share);
  const beside = { unit: 'ms', to: 'workerd', missing: missingPeers() };
  for (const [share, aim] of [
    [0.5, { most: 0.4 }],
    [0.9, undefined],
  ] as const)
    yield {
      ...{ ...beside, row: `first answer of a new installation, p${share * 100}`, annex: of(share) },
      ...{ other: workerd && of(share, workerd), ...(aim && { aim }) },
    };
};

export const memory: Bench = async function* (round) {
  for (const name of Object.keys(APPLICATIONS).filter((one) => one.includes(round.part))) {
    const count = Math.ceil((name === 'tiny' ? 100 : 60) / (round.isQuick ? 5 : 1));
    const [annex, workerd] = await besideLoader(round, { name, count }, async (open, pid) => {
      await firstAnswers(await open(WARM));
      const before = residentMib(pid);
      await firstAnswers(await open(count));
      await pause(IDLE_MS);
      return growth(before, residentMib(pid)) / count;
    });
    yield {
      ...{
        row: `memory of an idle installation: ${name}`,
        unit: 'MiB',
        annex,
        to: 'workerd',
        other: workerd,
      },
      ...{ missing: missingPeers(), aim: name === 'tiny' ? { most: 1.3, isAbsolute: true } : { most: 1 } },
    };
  }
};

/** MiB by which processes have grown that still run: the one that bundles an upload ends. */
const growth = (before: ReadonlyMap<number, number>, now: ReadonlyMap<number, number>): number =>
  [...now].reduce((sum, [pid, mib]) => sum + mib - (before.get(pid) ?? 0), 0);

/** A start until the program answers: Annex with a new data folder, and with one that exists. */
export const start: Bench = async function* (round) {
  const folder = await mkdtemp(join(tmpdir(), 'annex-start-'));
  const annex = async () => {
    const startedAt = performance.now();
    const host = await HostProcess.start({ data: join(folder, 'data') });
    const { status } = await fetch(`${host.control}/readyz`);
    const elapsed = (performance.now() - startedAt) / 1_000;
    await host.stop();
    if (status !== 200) throw new Error(`/readyz answered ${status}.`);
    return elapsed;
  };
  const workerd = async () => {
    if (missingPeers() !== undefined) return undefined;
    const started = await startWorkerd(APPLICATIONS['tiny'] ?? '');
    await fetch(started.url);
    await started.end();
    return started.startMs / 1_000;
  };
  try {
    const [fresh, other] = await inTurn(round, annex, workerd);
    const beside = { unit: 's', to: 'workerd', other, missing: missingPeers() };
    const aim = (most: number) => ({ aim: { most, isAbsolute: true } });
    yield { ...beside, row: 'start, new data folder', annex: fresh, ...aim(0.8) };
    yield { ...beside, row: 'start, existing data folder', annex: await annex(), ...aim(0.5) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};
