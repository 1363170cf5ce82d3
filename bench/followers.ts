/**
 * `npm run bench:followers`: what clients that follow logs and deliveries cost others.
 *
 * A hundred of them are connected and get nothing, because what they follow is quiet. Envelopes to
 * another installation, and deliveries to its handler, are measured without them and with them in
 * turn; the ratio of each pair is what counts, since other work on the machine touches both alike.
 *
 * `-- --rounds 4` sets the number of pairs.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Service } from '../src/host/service.ts';
import { startTemporaryService } from '../src/local/temporary-service.ts';
import type { Load, Measured } from './load.ts';

const FOLLOWERS = 100;
const CONNECTIONS = 32;
const WARMUP_MS = 500;
const MEASURE_MS = 2_000;
const EVENTS = 1_000;
/** The API takes as many at once. */
const EVENTS_PER_POST = 500;

const MANIFEST = (name: string) => `name: ${name}
title: ${name}
description: For a measurement.
organization: acme
visibility: public
scopes: [space:content:read]
script: index.js
`;
const CODE = `import { createIntegration } from '@annex/sdk';
export default createIntegration({
  fetch: () => new Response('answered'),
  events: { space_content_updated: () => {} },
});`;

type Json = Record<string, unknown>;

class Bench {
  readonly #service: Service;
  readonly #token: string;
  #endpoint = new URL('http://unset.example');
  /** Ids of installations in which nothing happens. */
  readonly #quiet: string[] = [];

  constructor(service: Service) {
    this.#service = service;
    this.#token = service.firstAdminToken ?? '';
  }

  async api(path: string, body: FormData | object): Promise<Json> {
    const isForm = body instanceof FormData;
    const answer = await fetch(`${this.#service.controlUrl}/v1/${path}`, {
      method: 'POST',
      headers: { ...this.#headers, ...(!isForm && { 'content-type': 'application/json' }) },
      body: isForm ? body : JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`);
    return (await answer.json()) as Json;
  }

  get #headers() {
    return { authorization: `Bearer ${this.#token}` };
  }

  /** Publishes what is measured. */
  async prepare(): Promise<void> {
    const form = new FormData();
    form.append('manifest', MANIFEST('busy'));
    form.append('files', new Blob([CODE]), 'index.js');
    await this.api('integrations', form);
    const { urls } = (await this.api('integrations/busy/installations', { organization: 'busy' })) as {
      urls: { publicEndpoint: string };
    };
    this.#endpoint = new URL(urls.publicEndpoint);
    for (let index = 0; index < FOLLOWERS / 2; index += 1) {
      const made = await this.api('integrations/busy/installations', { organization: `quiet-${index}` });
      this.#quiet.push(String(made['id']));
    }
    // What follows an installation is over.
    const { lifecycleEvents } = this.#service.store;
    while ((await lifecycleEvents.waiting()) > 0) await new Promise((resolve) => setTimeout(resolve, 50));
  }

  /** Followers of quiet installations: half of logs, half of deliveries. @returns their end */
  async follow(): Promise<() => void> {
    const abort = new AbortController();
    const bodies: ReadableStream[] = [];
    for (const id of this.#quiet) {
      for (const what of ['logs', 'deliveries']) {
        const url = `${this.#service.controlUrl}/v1/${what}?installation=${id}&follow=true`;
        const { status, body } = await fetch(url, { headers: this.#headers, signal: abort.signal });
        if (status !== 200 || body === null) throw new Error(`A follower was answered ${status}.`);
        bodies.push(body);
      }
    }
    for (const body of bodies) void drain(body);
    return () => abort.abort();
  }

  /** Requests a second to the endpoint. */
  async requests(): Promise<number> {
    const { host, port, pathname } = this.#endpoint;
    const request = `GET ${pathname} HTTP/1.1\r\nhost: ${host}\r\n\r\n`;
    const child = fork(fileURLToPath(new URL('load.ts', import.meta.url)));
    const load: Load = {
      ...{ port: Number(port), request: Buffer.from(request).toString('base64') },
      ...{ connections: CONNECTIONS, warmupMs: WARMUP_MS, measureMs: MEASURE_MS },
    };
    child.send(load);
    const [measured] = (await once(child, 'message')) as [Measured];
    if (measured.failures > 0) throw new Error(`${measured.failures} requests failed.`);
    return measured.requestsPerS;
  }

  /** Deliveries a second to the handler, from the first post to the last outcome. */
  async deliveries(): Promise<number> {
    const event = { type: 'space_content_updated', organization: 'busy', spaceId: 's', revisionId: 'r' };
    const events = Array.from({ length: EVENTS_PER_POST }, () => event);
    const begun = performance.now();
    for (let posted = 0; posted < EVENTS; posted += EVENTS_PER_POST) await this.api('events', { events });
    const { backlog } = this.#service.store;
    while (backlog.waiting > 0) await new Promise((resolve) => setTimeout(resolve, 5));
    return (EVENTS * 1_000) / (performance.now() - begun);
  }
}

async function drain(body: ReadableStream): Promise<void> {
  const reader = body.getReader();
  for (;;) {
    const { done } = await reader.read().catch(() => ({ done: true }));
    if (done) return;
  }
}

const median = (values: readonly number[]): number =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { rounds: { type: 'string', default: '12' } } });
  const rounds = Number(values.rounds);
  const { service, end } = await startTemporaryService({
    flags: ['--built-ins', 'none'],
    limits: {
      ...{ requestsPerSecondPerAddress: 1_000_000, requestsPerSecondPerEndpoint: 1_000_000 },
      // Other work on the machine must not end a cell that starts late.
      cellHeartbeatMs: 60_000,
    },
  });
  try {
    const bench = new Bench(service);
    await bench.prepare();
    // Both warm up.
    await bench.requests();
    await bench.deliveries();
    const pairs: { requests: [number, number]; deliveries: [number, number] }[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const measured = { requests: [0, 0], deliveries: [0, 0] } as (typeof pairs)[number];
      // Which is first alternates: a machine that slows down would favour one of them.
      for (const index of round % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
        const stop = index === 1 ? await bench.follow() : () => undefined;
        measured.requests[index] = await bench.requests();
        measured.deliveries[index] = await bench.deliveries();
        stop();
      }
      pairs.push(measured);
    }
    for (const what of ['requests', 'deliveries'] as const) {
      const ratios = pairs.map((pair) => pair[what][1] / pair[what][0]);
      const rates = (index: 0 | 1) => median(pairs.map((pair) => pair[what][index])).toFixed(0);
      const spread = `${Math.min(...ratios).toFixed(3)} to ${Math.max(...ratios).toFixed(3)}`;
      console.log(
        `${what}/s without ${rates(0)}, with ${FOLLOWERS} followers ${rates(1)}; ratio ${median(ratios).toFixed(3)} (${spread})`,
      );
    }
  } finally {
    await end();
  }
}

await main();
