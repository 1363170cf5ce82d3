/**
 * A ledger in storage, through crashes: calls increment numbers of many installations while the
 * host, or one of two nodes, is killed again and again. No increment that was acknowledged is lost,
 * and what is beyond them was in flight on a killed process.
 *
 * `STORAGE_LEDGER=full` counts 100,000 increments of 200 installations, with 20 kills.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as passed } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { HostProcess } from '../support/host-process.ts';
import { PostgresCluster } from '../support/nodes/postgres-cluster.ts';
import { needs } from '../support/programs.ts';

const SIZE =
  process.env['STORAGE_LEDGER'] === 'full'
    ? { installations: 200, increments: 100_000, kills: 20 }
    : { installations: 20, increments: 3_000, kills: 3 };
const INCREMENTS_PER_CALL = 10;
const CLIENTS = 8;
const RETRY_MS = 20;

const SOURCE = `import { createIntegration } from '@annex/sdk';
export default createIntegration({
  async fetch(request, { storage, integration }) {
    if (request.method === 'GET') return Response.json([await storage.get('n') ?? 0, await integration.storage.get('all') ?? 0]);
    const count = Number(await request.text());
    await Promise.all(Array.from({ length: count }, () => storage.increment('n')));
    await integration.storage.increment('all', count);
    return new Response('counted');
  },
});`;
const MANIFEST = `name: ledger
title: Ledger
description: Counts.
organization: acme
visibility: public
scopes: []
script: index.js
`;

/** The processes of a service, each of which may be killed. */
class Processes {
  readonly #options: readonly Parameters<typeof HostProcess.start>[0][];
  readonly running: (HostProcess | undefined)[];

  constructor(options: readonly Parameters<typeof HostProcess.start>[0][]) {
    this.#options = options;
    this.running = options.map(() => undefined);
  }

  async start(index: number): Promise<HostProcess> {
    const options = this.#options[index];
    if (options === undefined) throw new Error(`There is no process ${index}.`);
    const host = await HostProcess.start(options);
    this.running[index] = host;
    return host;
  }

  async kill(index: number): Promise<void> {
    const host = this.running[index];
    this.running[index] = undefined;
    await host?.kill();
  }

  async end(): Promise<void> {
    for (const index of this.running.keys()) await this.kill(index);
  }
}

async function installLedgers(host: HostProcess): Promise<string[]> {
  const form = new FormData();
  form.append('manifest', MANIFEST);
  form.append('files', new Blob([SOURCE]), 'index.js');
  await host.api('POST', '/integrations', form);
  const paths: string[] = [];
  for (let at = 0; at < SIZE.installations; at += 1) {
    const installed = await host.api('POST', '/integrations/ledger/installations', {
      organization: `org-${at}`,
    });
    paths.push(new URL((installed['urls'] as { publicEndpoint: string }).publicEndpoint).pathname);
  }
  return paths;
}

interface Count {
  acknowledged: number;
  /** Of calls whose answer was lost. */
  unknown: number;
}

/** Counts until all increments are acknowledged, while processes are killed in turn. */
async function count(processes: Processes, paths: readonly string[]): Promise<Map<string, Count>> {
  const counts = new Map(paths.map((path): [string, Count] => [path, { acknowledged: 0, unknown: 0 }]));
  const total = () => [...counts.values()].reduce((sum, { acknowledged }) => sum + acknowledged, 0);
  let turn = 0;
  const client = async (): Promise<void> => {
    while (total() < SIZE.increments) {
      turn += 1;
      const path = paths[turn % paths.length] ?? '';
      const living = processes.running.filter((host) => host !== undefined);
      const host = living[turn % Math.max(1, living.length)];
      if (host === undefined) {
        await passed(RETRY_MS);
        continue;
      }
      const body = String(INCREMENTS_PER_CALL);
      const answer = await fetch(`${host.open}${path}`, { method: 'POST', body }).catch(() => undefined);
      const text = await answer?.text().catch(() => undefined);
      const counted = counts.get(path) as Count;
      if (text === 'counted') counted.acknowledged += INCREMENTS_PER_CALL;
      else counted.unknown += INCREMENTS_PER_CALL;
    }
  };
  const killer = async (): Promise<void> => {
    for (let kill = 1; kill <= SIZE.kills; kill += 1) {
      // Kills are spread over the whole of it.
      while (total() < (SIZE.increments * kill) / (SIZE.kills + 1)) await passed(RETRY_MS);
      const index = kill % processes.running.length;
      await processes.kill(index);
      await processes.start(index);
    }
  };
  await Promise.all([killer(), ...Array.from({ length: CLIENTS }, client)]);
  return counts;
}

async function check(processes: Processes, counts: ReadonlyMap<string, Count>): Promise<void> {
  const host = processes.running.find((one) => one !== undefined);
  const wrong: object[] = [];
  let [all, allCounted, allUnknown, doubtful] = [0, 0, 0, 0];
  for (const [path, { acknowledged, unknown }] of counts) {
    const [counted = 0, shared = 0] = (await (await fetch(`${host?.open}${path}`)).json()) as number[];
    if (counted < acknowledged || counted > acknowledged + unknown)
      wrong.push({ path, counted, acknowledged, unknown });
    all = shared;
    allCounted += acknowledged;
    allUnknown += unknown;
    doubtful += counted - acknowledged;
  }
  process.stdout.write(
    `ledger: ${allCounted} acknowledged, ${allUnknown} in calls without an answer, of which ${doubtful} were made\n`,
  );
  expect(wrong).toEqual([]);
  expect(allCounted).toBeGreaterThanOrEqual(SIZE.increments);
  // One number that all installations increment, on all nodes.
  expect(all).toBeGreaterThanOrEqual(allCounted);
  expect(all).toBeLessThanOrEqual(allCounted + allUnknown);
}

async function ledger(options: readonly Parameters<typeof HostProcess.start>[0][]): Promise<void> {
  const processes = new Processes(options);
  onTestFinished(() => processes.end());
  const first = await processes.start(0);
  const paths = await installLedgers(first);
  for (const index of options.keys()) if (index > 0) await processes.start(index);
  await check(processes, await count(processes, paths));
}

async function folderFor(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'annex-ledger-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return join(folder, 'data');
}

const FLAGS = ['--cells', '1'];

test('no increment is lost or doubled while the host is killed (SQLite)', async () => {
  await ledger([{ data: await folderFor(), flags: FLAGS, env: {} }]);
}, 3_600_000);

test('no increment is lost or doubled while nodes are killed (PostgreSQL)', {
  ...needs('postgres'),
  timeout: 3_600_000,
}, async () => {
  const cluster = await PostgresCluster.start();
  onTestFinished(() => cluster.remove());
  const env = { ANNEX_DATABASE_URL: cluster.url() };
  const data = await folderFor();
  await ledger([
    { data, flags: FLAGS, env },
    { data, flags: FLAGS, env },
  ]);
});
