/**
 * `npm run bench:neighbours`: how much noisy tenants affect a quiet one.
 *
 *   alone             one tenant that is called 50 times a second
 *   beside 4 …        the same, while four others spin for their whole CPU limit, with calls in
 *                     flight all the time: first with the circuit breaker, then without it, which
 *                     no operator would do and which is the hard case
 *
 * Aim: a p99 of at most ten times the quiet one in the same run, and no failure. The callers are a
 * process of their own; it, the host and the cells share the cores of the machine, so a part of
 * each latency is the caller's own wait for a core.
 */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Service } from '../src/host/service.ts';
import { startTemporaryService } from '../src/local/temporary-service.ts';
import type { Steady, SteadyMeasured } from './steady.ts';

const EVERY_MS = 20;
const WARMUP_MS = 2_000;
const MEASURE_MS = 12_000;
const SPINNERS = 4;
const CONNECTIONS_PER_SPINNER = 4;
const RATIO_MAX = 10;
/** Lower than the default, so that circuits open within a run. */
const SOON = 2;
/** More breaches than a run can have. */
const NEVER = 1_000_000;

const QUIET = `export default { fetch: () => new Response('{"received":true}') };`;
const SPINNER = 'export default { fetch() { for (;;); } };';

async function main(): Promise<void> {
  const rows: Record<string, Record<string, string | number>> = {};
  for (const [what, breachesBeforeCoolDown] of [
    ['circuit breaker on', SOON],
    ['circuit breaker off', NEVER],
  ] as const) {
    const { service, end } = await startTemporaryService({
      flags: process.argv.slice(2),
      logLevel: 'fatal',
      limits: { breachesBeforeCoolDown },
    });
    try {
      const { quiet, spinners } = await prepare(service);
      const port = Number(new URL(service.publicUrl).port);
      const steady = { port, quiet, busyConnections: CONNECTIONS_PER_SPINNER, everyMs: EVERY_MS };
      const times = { warmupMs: WARMUP_MS, measureMs: MEASURE_MS };
      const alone = await measure({ ...steady, ...times, busy: [] });
      const beside = await measure({ ...steady, ...times, busy: spinners });
      rows[`${what}: alone`] = row(alone);
      rows[`${what}: beside ${SPINNERS}`] = {
        ...row(beside),
        'p50 ratio': (beside.p50Ms / alone.p50Ms).toFixed(1),
        'p99 ratio': (beside.p99Ms / alone.p99Ms).toFixed(1),
        aim: `≤ ${RATIO_MAX}`,
      };
    } finally {
      await end();
    }
  }
  console.table(rows);
}

const row = ({ calls, failures, p50Ms, p99Ms, maxMs, busyAnswers }: SteadyMeasured) => ({
  calls,
  failures,
  'p50 ms': p50Ms.toFixed(2),
  'p99 ms': p99Ms.toFixed(2),
  'max ms': maxMs.toFixed(2),
  'busy answers': busyAnswers,
});

/** @returns the requests, base64 */
async function prepare(service: Service): Promise<{ quiet: string; spinners: string[] }> {
  const authorization = `Bearer ${service.firstAdminToken ?? ''}`;
  const api = async (path: string, body: FormData | string): Promise<Record<string, unknown>> => {
    const headers = {
      authorization,
      ...(typeof body === 'string' && { 'content-type': 'application/json' }),
    };
    const response = await fetch(`${service.controlUrl}/v1/${path}`, { method: 'POST', headers, body });
    if (response.status !== 201) throw new Error(`${path} answered ${response.status}.`);
    return (await response.json()) as Record<string, unknown>;
  };
  for (const [name, source] of [
    ['quiet', QUIET],
    ['spinner', SPINNER],
  ] as const) {
    const form = new FormData();
    form.append(
      'manifest',
      `name: ${name}\ntitle: Bench\ndescription: For the benchmark.\norganization: acme\nvisibility: public\nscopes: []\nscript: index.js\n`,
    );
    form.append('files', new Blob([source]), 'index.js');
    await api('integrations', form);
  }
  const install = async (integration: string, organization: string): Promise<string> => {
    const { urls } = await api(`integrations/${integration}/installations`, JSON.stringify({ organization }));
    const { pathname, host } = new URL((urls as { publicEndpoint: string }).publicEndpoint);
    return Buffer.from(`GET ${pathname}/ HTTP/1.1\r\nhost: ${host}\r\n\r\n`).toString('base64');
  };
  const spinners: string[] = [];
  for (let i = 0; i < SPINNERS; i++) spinners.push(await install('spinner', `org-${i}`));
  return { quiet: await install('quiet', 'quiet'), spinners };
}

function measure(steady: Steady): Promise<SteadyMeasured> {
  const child = fork(fileURLToPath(new URL('steady.ts', import.meta.url)));
  child.send(steady);
  return new Promise((resolve, reject) => {
    child.once('message', (measured) => resolve(measured as SteadyMeasured));
    child.once('exit', (code) => reject(new Error(`The callers exited with ${code}.`)));
  });
}

await main();
