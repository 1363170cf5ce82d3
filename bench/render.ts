/**
 * `npm run bench:render`: the cost of a drawing over the API, compared with an envelope of the same
 * event.
 *
 *   envelope  p50 of `ui_render` as an envelope: the answer of the component, unchanged
 *   render    p50 of the same at `…/render`: the answer is parsed, checked and written anew
 *
 * Both for the example `counter`, one after the other, in rounds; across machines only the ratio
 * compares.
 */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Service } from '../src/host/service.ts';
import { uploadFolder } from '../src/local/demo/folder-form-data.ts';
import { startTemporaryService } from '../src/local/temporary-service.ts';
import type { Load, Measured } from './load.ts';

const ROUNDS = 3;
const CONNECTIONS = [1, 32];
const WARMUP_MS = 1_500;
const MEASURE_MS = 3_000;
const RATIO_AIM = 2;

const EVENT = {
  componentId: 'counter',
  props: {},
  state: { count: 4 },
  context: {},
  action: { action: 'increment' },
};

async function main(): Promise<void> {
  const { service, end } = await startTemporaryService({ flags: process.argv.slice(2), limits: {} });
  try {
    const subjects = await requests(service);
    for (const connections of CONNECTIONS) console.table(await compare(subjects, connections));
  } finally {
    await end();
  }
}

interface Subject {
  readonly name: string;
  readonly port: number;
  readonly request: string;
}

/** Measures in rounds, because the load of the machine changes; returns medians. */
async function compare(subjects: readonly Subject[], connections: number): Promise<Record<string, object>> {
  const p50s = new Map<string, number[]>(subjects.map(({ name }) => [name, []]));
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const { name, port, request } of subjects) {
      const measured = await load({
        ...{ port, request: Buffer.from(request).toString('base64'), connections },
        ...{ warmupMs: WARMUP_MS, measureMs: MEASURE_MS },
      });
      if (measured.failures > 0) throw new Error(`${name}: ${measured.failures} answers were not 200.`);
      p50s.get(name)?.push(measured.p50Ms);
    }
  }
  const bare = median(p50s.get(subjects[0]?.name ?? '') ?? []);
  return Object.fromEntries(
    [...p50s].map(([name, all]) => [
      `${name}, ${connections} connections`,
      { p50Ms: median(all).toFixed(3), ratio: (median(all) / bare).toFixed(2), aim: `≤ ${RATIO_AIM}` },
    ]),
  );
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

/** Requests for the same drawing: as an envelope, and over the API. */
async function requests(service: Service): Promise<Subject[]> {
  const admin = service.firstAdminToken ?? '';
  const api = async (path: string, init: RequestInit): Promise<Record<string, unknown>> => {
    const headers = { ...init.headers, authorization: `Bearer ${admin}` };
    const response = await fetch(`${service.controlUrl}/v1/${path}`, { ...init, method: 'POST', headers });
    if (response.status !== 201) throw new Error(`${path} answered ${response.status}.`);
    return (await response.json()) as Record<string, unknown>;
  };
  const form = await uploadFolder(fileURLToPath(new URL('../fixtures/counter', import.meta.url)));
  await api('integrations', { body: form });
  const { id, urls } = await api('integrations/counter/installations', {
    body: JSON.stringify({ organization: 'bench' }),
    headers: { 'content-type': 'application/json' },
  });
  const endpoint = new URL((urls as { publicEndpoint: string }).publicEndpoint);
  const control = new URL(service.controlUrl);
  const path = `/v1/integrations/counter/installations/${id}/render`;
  const json = JSON.stringify(EVENT);
  const multipart = envelope({ eventId: 'bench', type: 'ui_render', installationId: id, ...EVENT });
  const authorization = `authorization: Bearer ${admin}\r\n`;
  return [
    {
      name: 'envelope',
      port: Number(endpoint.port),
      request:
        `POST ${endpoint.pathname}/v1 HTTP/1.1\r\nhost: ${endpoint.host}\r\n${authorization}` +
        `content-type: multipart/form-data; boundary=${BOUNDARY}\r\ncontent-length: ${multipart.length}\r\n\r\n${multipart}`,
    },
    {
      name: 'render by POST',
      port: Number(control.port),
      request:
        `POST ${path} HTTP/1.1\r\nhost: ${control.host}\r\n${authorization}` +
        `content-type: application/json\r\ncontent-length: ${json.length}\r\n\r\n${json}`,
    },
    {
      name: 'render by GET',
      port: Number(control.port),
      request: `GET ${path}?componentId=counter HTTP/1.1\r\nhost: ${control.host}\r\n${authorization}\r\n`,
    },
  ];
}

const BOUNDARY = 'annex-bench';

function envelope(event: object): string {
  const part = (name: string, value: string) =>
    `--${BOUNDARY}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
  return `${part('event', JSON.stringify(event))}${part('environment', '{}')}--${BOUNDARY}--\r\n`;
}

function load(settings: Load): Promise<Measured> {
  const child = fork(fileURLToPath(new URL('load.ts', import.meta.url)));
  child.send(settings);
  return new Promise((resolve, reject) => {
    child.once('message', (measured) => resolve(measured as Measured));
    child.once('exit', (code) => reject(new Error(`The load generator exited with ${code}.`)));
  });
}

await main();
