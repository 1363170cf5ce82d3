/**
 * `npm run bench:backlog`: how much a million pending deliveries slow down other deliveries.
 *
 *   ingest    events accepted in a second, for receivers that never answer: none is delivered
 *   deliver   events accepted, claimed and posted in a second, for receivers that answer
 *
 * Both are measured in an almost empty store, and again with the backlog: half of it is due for
 * receivers that never answer, half waits for its next attempt at those that do. Aim: each rate
 * drops by less than a quarter. CPU of an event is shown, too, for a machine with other programs.
 *
 *   --deliveries N      size of the backlog, 1000000 by default
 *   --installations N   further installations that exist then, 0 by default
 *   --postgres          on PostgreSQL; then the plans of the statements are checked, too: with few
 *                       rows, and with the backlog before and after its statistics are made
 */
import { parseArgs } from 'node:util';
import { Client } from 'pg';
import type { Posted } from '../test/support/deliveries/webhook-senders.ts';
import { LedgerReceiver } from '../test/support/receivers/ledger-receiver.ts';
import { AnnexRig } from './annex-rig.ts';
import { type Measured, measured } from './peers/measure-peer.ts';
import { startPostgres } from './peers/queue-servers.ts';
import { prefill, prefillInstallations, type StorePlace } from './prefilled.ts';
import { CpuMeter } from './process-use.ts';
import { checkPlans } from './statement-plans.ts';

const ANSWERING = 50;
const HANGING = 10;
const LEAST_RATIO = 0.75;
const MEASURE_MS = 5_000;
const WARMUP_MS = 2_000;
/**
 * When the second half is due: longer than the measurement, and less than two minutes. A due time
 * beyond any retry is taken for a clock that was set back, and such deliveries are attempted at
 * once.
 */
const DUE_IN_MS = 115_000;

const { values } = parseArgs({
  options: {
    deliveries: { type: 'string', default: '1000000' },
    installations: { type: 'string', default: '0' },
    postgres: { type: 'boolean', default: false },
  },
});
const backlog = Number(values.deliveries);

interface Rates {
  readonly ingest: Measured;
  readonly deliver: Measured;
}

const postgres = values.postgres ? await startPostgres() : undefined;
if (values.postgres && postgres === undefined) throw new Error('PostgreSQL is not on this machine.');
const receiver = await LedgerReceiver.start();
const rig = await AnnexRig.start({
  receiver,
  postgres,
  webhooks: ANSWERING + HANGING,
  verifyEvery: 16,
  urlOf: (index) => receiver.url(`o${index}`, index < ANSWERING ? 'r' : 'hang'),
});
const answering = rig.places.slice(0, ANSWERING);
const hanging = rig.places.slice(ANSWERING);
const processes = () => ({ hosts: rig.hosts.map(({ pid }) => pid), server: postgres?.pid });
try {
  const empty = await rates();
  await rig.between(fill);
  show(empty, await rates());
} finally {
  await rig.end();
  receiver.stop();
  await postgres?.stop();
}

async function fill(store: StorePlace): Promise<void> {
  await check(store, 'with few rows');
  const half = Math.ceil(backlog / 2);
  const of = (places: readonly Posted[]) => {
    const sites = new Set(places.map(({ site }) => site));
    return (site: string) => sites.has(site);
  };
  await prefillInstallations(store, Number(values.installations));
  await prefill(store, { deliveries: half, dueInMs: 0, withPayload: true, isFor: of(hanging) });
  await check(store, 'without statistics');
  await prefill(store, { deliveries: half, dueInMs: DUE_IN_MS, withPayload: true, isFor: of(answering) });
  await cleanUp(store);
  await check(store, 'with statistics');
}

/** What autovacuum has done of a backlog that grew slowly. */
async function cleanUp({ url }: StorePlace): Promise<void> {
  if (url === undefined) return;
  const client = new Client({ connectionString: url });
  await client.connect();
  for (const sql of ['vacuum (analyze)', 'checkpoint']) await client.query(sql);
  await client.end();
}

async function check({ url, folder }: StorePlace, when: string): Promise<void> {
  const [place] = answering;
  if (url === undefined || place === undefined) return;
  const { statements, slow } = await checkPlans(url, folder, place);
  console.log(`${statements} statements ${when}: ${slow.length} read a long table without an index`);
  for (const line of slow) console.log(`  ${line}`);
  if (slow.length > 0) process.exitCode = 1;
}

async function rates(): Promise<Rates> {
  const pouring = await rig.pour(answering);
  const run = { receiver, warmupMs: WARMUP_MS, measureMs: MEASURE_MS };
  const deliver = await measured(run, processes());
  await pouring.end();
  const flooding = rig.flood(hanging);
  await passed(WARMUP_MS);
  const [before, startedAt] = [flooding.acknowledged(), performance.now()];
  const meter = new CpuMeter(processes());
  await passed(MEASURE_MS);
  const count = flooding.acknowledged() - before;
  const ingest = { rate: (count / (performance.now() - startedAt)) * 1_000, cpu: meter.of(count) };
  await flooding.end();
  return { ingest, deliver };
}

function show(empty: Rates, behind: Rates): void {
  const rows = (['ingest', 'deliver'] as const).map((what) => {
    const ratio = behind[what].rate / empty[what].rate;
    const columns = {
      ...{ 'empty /s': empty[what].rate.toFixed(0), 'backlog /s': behind[what].rate.toFixed(0), ratio },
      ...{ 'empty: µs of CPU': empty[what].cpu, 'backlog: µs of CPU': behind[what].cpu },
    };
    return [what, columns] as const;
  });
  console.log(`With ${backlog} pending deliveries (aim: ratios > ${LEAST_RATIO}):`);
  console.table(Object.fromEntries(rows));
  if (rows.some(([, { ratio }]) => !(ratio > LEAST_RATIO))) process.exitCode = 1;
}

function passed(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
