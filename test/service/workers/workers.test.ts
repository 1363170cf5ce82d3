/**
 * Several nodes behind one pair of ports, as `npm start -- --workers 2` runs them on one PostgreSQL
 * database.
 */
import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HostProcess } from '../../support/host-process.ts';
import { temporaryFolder } from '../../support/store/temporary-store.ts';
import { onServer, postgresUrl } from '../../support/store/test-engine.ts';

/** Answers `served`, after a while for `?slow`; or the status of the URL in the query. */
const SOURCE = `import { createIntegration } from '@annex/sdk';
export default createIntegration({
  async fetch(request) {
    const url = new URL(request.url).searchParams.get('url');
    if (request.url.endsWith('?slow')) await new Promise((resolve) => setTimeout(resolve, 2_000));
    if (url === null) return new Response('served');
    return fetch(url).then(({ status }) => new Response(String(status)));
  },
});`;
const MANIFEST = `name: served
title: Served
description: Answers.
organization: acme
visibility: public
scopes: []
script: index.js
`;

type Entry = Readonly<Record<string, unknown>>;

class Workers {
  readonly host: HostProcess;
  readonly #lines: readonly string[];
  readonly #made: { readonly name: string; readonly folder: string };

  private constructor(host: HostProcess, lines: readonly string[], made: { name: string; folder: string }) {
    this.host = host;
    this.#lines = lines;
    this.#made = made;
  }

  /** Two workers on a new database; resolves when the first one serves. */
  static async start(): Promise<Workers> {
    const name = `annex_workers_${randomUUID().slice(0, 8)}`;
    await onServer(`create database ${name}`);
    const folder = await mkdtemp(join(tmpdir(), 'annex-workers-'));
    const lines: string[] = [];
    const host = await HostProcess.start({
      data: join(folder, 'data'),
      flags: ['--workers', '2', '--cells', '1', '--built-ins', 'none', '--egress-allow', '127.0.0.0/8'],
      env: { ANNEX_DATABASE_URL: postgresUrl('', name) },
      onLine: (line) => lines.push(line),
    });
    return new Workers(host, lines, { name, folder });
  }

  /** Also after they have stopped. */
  async end(): Promise<void> {
    await this.host.kill();
    await onServer(`drop database if exists ${this.#made.name} with (force)`);
    await rm(this.#made.folder, { recursive: true, force: true });
  }

  /** Process ids of the workers that have served, in the order of their starts. */
  get pids(): number[] {
    return this.logged('a worker serves').map(({ workerPid }) => Number(workerPid));
  }

  logged(message: string): Entry[] {
    return this.#lines
      .filter((line) => line.startsWith('{') && line.includes(message))
      .map((line) => JSON.parse(line) as Entry);
  }

  printed(words: string): number {
    return this.#lines.filter((line) => line.includes(words)).length;
  }

  /** Publishes and installs. @returns the URL of the endpoint */
  async endpoint(): Promise<string> {
    const form = new FormData();
    form.append('manifest', MANIFEST);
    form.append('files', new Blob([SOURCE]), 'index.js');
    await this.host.api('POST', '/integrations', form);
    const installed = await this.host.api('POST', '/integrations/served/installations', {
      organization: 'acme',
    });
    return (installed['urls'] as { publicEndpoint: string }).publicEndpoint;
  }

  async metric(name: string): Promise<number> {
    const scraped = await (await fetch(`${this.host.control}/metrics`)).text();
    return Number(new RegExp(`^${RegExp.escape(name)} (.*)$`, 'm').exec(scraped)?.[1]);
  }
}

/** One request on a connection of its own. @returns the status; undefined if it was dropped */
async function call(url: string): Promise<number | undefined> {
  try {
    const answer = await fetch(url, { headers: { connection: 'close' } });
    await answer.text();
    return answer.status;
  } catch {
    return undefined;
  }
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

// One start for all: each test leaves two workers to the next, and the last one stops them.
describe('two workers on one database', () => {
  let workers: Workers;
  let endpoint: string;
  beforeAll(async () => {
    workers = await Workers.start();
    endpoint = await workers.endpoint();
  });
  afterAll(() => workers?.end());

  test('serve what either of them published, and make keys and the first token once', async () => {
    await expect.poll(() => workers.pids.length).toBe(2);
    const statuses = await Promise.all(Array.from({ length: 8 }, () => call(endpoint)));
    expect(statuses).toEqual(Array(8).fill(200));
    expect(await workers.metric('annex_workers')).toBe(2);
    expect(await workers.metric('annex_calls_total{outcome="ok"}')).toBe(8);
    expect(workers.logged('annex is ready')).toMatchObject([{ workers: 2 }]);
    expect(workers.printed('Admin token')).toBe(1);
    const folder = String(workers.logged('annex is ready')[0]?.['data']);
    expect((await readdir(folder)).sort()).toEqual(['admin-token', 'vault.key']);
    expect(await readFile(join(folder, 'admin-token'), 'utf8')).toBe(`${workers.host.adminToken}\n`);
  });

  test('go on when one is killed: requests are served, and another takes its place', async () => {
    const statuses: (number | undefined)[] = [await call(endpoint)];
    process.kill(workers.pids[1] ?? 0, 'SIGKILL');
    while (workers.pids.length < 3) statuses.push(await call(endpoint));
    // Only a request that was on its way to the worker when it died may be dropped.
    expect(statuses.filter((status) => status !== 200).length).toBeLessThanOrEqual(1);
    expect(statuses.length).toBeGreaterThan(10);
    expect(await workers.metric('annex_worker_restarts_total')).toBe(1);
    expect(await workers.metric('annex_workers')).toBe(2);
  });

  test('serve their own endpoints in process, and keep the control listener from integrations', async () => {
    const fetched = async (url: string) =>
      (
        await fetch(`${endpoint}?url=${encodeURIComponent(url)}`, { headers: { connection: 'close' } })
      ).text();
    // Two of each, so that each worker is asked.
    expect(await Promise.all([endpoint, endpoint].map(fetched))).toEqual(['200', '200']);
    // Of the control listener, only the API is open to them.
    const metrics = `${workers.host.control}/metrics`;
    expect(await Promise.all([metrics, metrics].map(fetched))).toEqual(['404', '404']);
    expect((await fetch(metrics)).status).toBe(200);
  });

  test('stop on SIGTERM, all of them, after what they have in flight', async () => {
    const slow = Promise.all([call(`${endpoint}?slow`), call(`${endpoint}?slow`)]);
    await expect.poll(() => workers.metric('annex_calls_in_flight')).toBe(2);
    const { pids } = workers;
    await workers.host.stop();
    expect(await slow).toEqual([200, 200]);
    expect(pids.filter(isAlive)).toEqual([]);
    expect(workers.printed('"stopped"')).toBe(1);
  });
});

test('a database that cannot be reached ends the start with one error, without the password', async () => {
  const started = HostProcess.start({
    data: join(await temporaryFolder(), 'data'),
    flags: ['--workers', '2'],
    env: { ANNEX_DATABASE_URL: 'postgres://annex:hunter2@127.0.0.1:9/annex' },
  });
  const message = await started.then(
    () => '',
    (error: Error) => error.message,
  );
  expect(message.match(/PostgreSQL database \(ANNEX_DATABASE_URL\) cannot be used/g)).toHaveLength(1);
  expect(message).not.toContain('hunter2');
});
