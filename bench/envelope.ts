/**
 * `npm run bench`: the cost of one call, from socket to isolate and back.
 *
 *   warm    requests/s, p50 and p99 of envelopes: 32 connections, one installation, a tiny handler
 *   cold    p50 of the first call of an installation: a 75 KB application that all cells have
 *   memory  resident bytes that each of 200 installations of the tiny handler adds to the cells
 *
 * Host, cell and client share the cores of the machine. Figures of one run compare with each other;
 * across machines and hours only ratios do.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { Service } from '../src/host/service.ts';
import { startTemporaryService } from '../src/local/temporary-service.ts';
import { onAnswers } from './answers.ts';
import type { Load, Measured } from './load.ts';

import { routerApp } from './router-app.ts';

const CONNECTIONS = 32;
const WARMUP_MS = 3_000;
const MEASURE_MS = 8_000;
const COLD_CALLS = 100;
const RESIDENT = 200;
const AIMS = { requestsPerS: 8_000, coldMs: 5, residentMib: 2 };

const TINY = `
import { createIntegration } from '@annex/sdk';
export default createIntegration({
  async fetch() {
    return new Response('{"received":true}', { headers: { 'content-type': 'application/json' } });
  },
});`;

interface Bench {
  readonly service: Service;
  readonly platform: string;
  readonly admin: string;
  /** @returns the public endpoint */
  install(integration: 'tiny' | 'router', organization: string): Promise<string>;
}

async function main(): Promise<void> {
  const { service, end } = await startTemporaryService({
    flags: process.argv.slice(2),
    limits: { isolatesPerCell: COLD_CALLS + RESIDENT },
  });
  try {
    const bench = await prepare(service);
    const rows = [...(await warm(bench)), ...(await cold(bench)), ...(await memory(bench))];
    console.table(Object.fromEntries(rows.map(([what, figure, aim]) => [what, { figure, aim }])));
  } finally {
    await end();
  }
}

type Row = [what: string, figure: string, aim: string];

async function warm({ service, platform, install }: Bench): Promise<Row[]> {
  const endpoint = new URL(await install('tiny', 'warm'));
  const request = envelopeRequest(endpoint, platform);
  const measured = await load({
    port: Number(new URL(service.publicUrl).port),
    request: request.toString('base64'),
    connections: CONNECTIONS,
    warmupMs: WARMUP_MS,
    measureMs: MEASURE_MS,
  });
  return [
    ['warm: requests/s', measured.requestsPerS.toFixed(0), `≥ ${AIMS.requestsPerS}`],
    ['warm: p50 ms', measured.p50Ms.toFixed(2), ''],
    ['warm: p99 ms', measured.p99Ms.toFixed(2), ''],
    ['warm: failures', String(measured.failures), '0'],
  ];
}

async function cold({ platform, install }: Bench): Promise<Row[]> {
  const endpoints = await installMany('router', COLD_CALLS, install);
  const latencies: number[] = [];
  for (const endpoint of endpoints) latencies.push(await firstCall(endpoint, platform));
  latencies.sort((a, b) => a - b);
  return [
    ['cold: first call p50 ms', quantile(latencies, 0.5).toFixed(2), `≤ ${AIMS.coldMs}`],
    ['cold: first call p90 ms', quantile(latencies, 0.9).toFixed(2), ''],
  ];
}

async function memory({ service, platform, install }: Bench): Promise<Row[]> {
  const endpoints = await installMany('tiny', RESIDENT, install);
  const before = rssBytes(service);
  const grown: number[] = [];
  for (const [count, endpoint] of endpoints.entries()) {
    await firstCall(endpoint, platform);
    grown.push((rssBytes(service) - before) / (count + 1));
  }
  grown.sort((a, b) => a - b);
  const mib = (bytes: number | undefined) => ((bytes ?? Number.NaN) / 2 ** 20).toFixed(2);
  return [
    [`memory: MiB per installation (${RESIDENT})`, mib((rssBytes(service) - before) / RESIDENT), ''],
    ['memory: median', mib(quantile(grown, 0.5)), `≤ ${AIMS.residentMib}`],
  ];
}

async function installMany(
  integration: 'tiny' | 'router',
  count: number,
  install: Bench['install'],
): Promise<string[]> {
  const endpoints: string[] = [];
  for (let i = 0; i < count; i++) endpoints.push(await install(integration, `${integration}-${i}`));
  return endpoints;
}

/** Milliseconds from the first byte sent to the last received, on an open connection. */
async function firstCall(endpoint: string, platform: string): Promise<number> {
  const url = new URL(endpoint);
  const socket = connect(Number(url.port), '127.0.0.1').setNoDelay(true);
  await once(socket, 'connect');
  const startedAt = performance.now();
  socket.write(envelopeRequest(url, platform));
  const status = await new Promise<string>((resolve) => onAnswers(socket, resolve));
  const elapsedMs = performance.now() - startedAt;
  socket.destroy();
  if (status !== '200') throw new Error(`A first call answered ${status}.`);
  // First calls of new tenants do not come back to back.
  await new Promise((resolve) => setTimeout(resolve, 25));
  return elapsedMs;
}

const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.floor(sorted.length * share)] ?? Number.NaN;

async function prepare(service: Service): Promise<Bench> {
  const admin = service.firstAdminToken ?? '';
  const api = async (path: string, init: RequestInit): Promise<Record<string, unknown>> => {
    const headers = { ...init.headers, authorization: `Bearer ${admin}` };
    const response = await fetch(`${service.controlUrl}/v1/${path}`, { ...init, method: 'POST', headers });
    if (response.status !== 201)
      throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
    return (await response.json()) as Record<string, unknown>;
  };
  const json = (body: object) => ({
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  });
  const platform = String((await api('tokens', json({ kind: 'platform' })))['token']);
  const publish = async (name: string, files: Record<string, string>): Promise<void> => {
    const form = new FormData();
    form.append(
      'manifest',
      `name: ${name}\ntitle: Bench\ndescription: For the benchmark.\norganization: acme\nvisibility: public\nscopes: []\nscript: ${Object.keys(files)[0]}\n`,
    );
    for (const [path, source] of Object.entries(files)) form.append('files', new Blob([source]), path);
    await api('integrations', { body: form });
  };
  await publish('tiny', { 'index.ts': TINY });
  await publish('router', await routerApp());
  const install: Bench['install'] = async (integration, organization) => {
    const { urls } = await api(`integrations/${integration}/installations`, json({ organization }));
    return (urls as { publicEndpoint: string }).publicEndpoint;
  };
  return { service, platform, admin, install };
}

const BOUNDARY = 'annex-bench';

function envelopeBody(): string {
  const event = JSON.stringify({
    eventId: 'bench',
    type: 'fetch',
    request: {
      method: 'POST',
      url: 'https://example.com/hook?a=1',
      headers: { 'content-type': 'application/json' },
    },
  });
  const part = (disposition: string, value: string) =>
    `--${BOUNDARY}\r\ncontent-disposition: form-data; ${disposition}\r\n\r\n${value}\r\n`;
  return `${part('name="event"', event)}${part('name="environment"', '{}')}${part('name="fetch-body"; filename="fetch-body"', '{"hello":"world"}')}--${BOUNDARY}--\r\n`;
}

function envelopeRequest(endpoint: URL, platform: string): Buffer {
  const body = envelopeBody();
  return Buffer.from(
    `POST ${endpoint.pathname}/v1 HTTP/1.1\r\nhost: ${endpoint.host}\r\nauthorization: Bearer ${platform}\r\n` +
      `content-type: multipart/form-data; boundary=${BOUNDARY}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

function load(settings: Load): Promise<Measured> {
  const child = fork(fileURLToPath(new URL('load.ts', import.meta.url)));
  child.send(settings);
  return new Promise((resolve, reject) => {
    child.once('message', (measured) => resolve(measured as Measured));
    child.once('exit', (code) => reject(new Error(`The load generator exited with ${code}.`)));
  });
}

/** Resident memory of all cells (Linux). */
function rssBytes({ pool }: Service): number {
  const pages = pool.cells.map(({ pid }) =>
    Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]),
  );
  return pages.reduce((sum, count) => sum + count * 4_096, 0);
}

await main();
