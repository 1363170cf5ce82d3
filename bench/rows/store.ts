/**
 * What a large store costs: a million waiting deliveries, and a copy to PostgreSQL; and memory
 * while events are posted for ten minutes.
 */
import { spawn } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { type Posted, siteView } from '../../test/support/deliveries/webhook-senders.ts';
import { LedgerReceiver, timedEventId } from '../../test/support/receivers/ledger-receiver.ts';
import { absent, type Bench, type Figure, median, pause, type Round } from '../figures.ts';
import { noServer } from '../peers/peers.ts';
import { CpuMeter, residentMib } from '../processes.ts';
import { databaseUrl, type QueueServer, startPostgres } from '../servers.ts';
import { prefill, type StorePlace } from '../store-fill.ts';
import { Webhooks } from '../webhooks.ts';
import { withReceiver } from './deliveries.ts';

const MILLION = 1_000_000;

/** On each engine whose name has the part; `undefined` is SQLite. */
async function* onEngines(
  { part }: Round,
  work: (engine: string, postgres?: QueueServer) => AsyncGenerator<Figure>,
): AsyncGenerator<Figure> {
  if ('SQLite'.includes(part)) yield* work('SQLite');
  if (!'PostgreSQL'.includes(part)) return;
  const postgres = await startPostgres();
  if (postgres === undefined) return yield absent('PostgreSQL', noServer());
  try {
    yield* work('PostgreSQL', postgres);
  } finally {
    await postgres.stop();
  }
}

const ANSWERING = 50;
const HANGING = 10;
/** Longer than the measurement, but not beyond any retry: that is taken for a clock set back. */
const DUE_IN_MS = 115_000;
const FIRST_EVENTS = 25;
const FIRST_EVERY_MS = 200;

/**
 * New deliveries in an almost empty store, and again with a backlog: half of it is due for
 * receivers that never answer, half waits for its next attempt at those that do.
 */
export const backlog: Bench = (round) =>
  withReceiver((receiver) =>
    onEngines(round, async function* (engine, postgres) {
      const urlOf = (index: number) => receiver.url(`o${index}`, index < ANSWERING ? 'r' : 'hang');
      const webhooks = await Webhooks.start({ receiver, postgres, webhooks: ANSWERING + HANGING, urlOf });
      const [answering, hanging] = [webhooks.places.slice(0, ANSWERING), webhooks.places.slice(ANSWERING)];
      try {
        const empty = await rates(webhooks, answering, hanging, round);
        await webhooks.rig.between((store) => fill(store, answering, hanging, round.size ?? MILLION));
        const first = await firstDelivery(webhooks, answering);
        const behind = await rates(webhooks, answering, hanging, round);
        for (const what of ['delivered', 'accepted'] as const) {
          const row = `${engine}, ${what} beside a backlog`;
          const [annex, other] = [behind[what], empty[what]];
          const beside = { to: 'empty store' };
          yield {
            ...beside,
            row,
            unit: '/s',
            annex: annex.perSecond,
            other: other.perSecond,
            aim: { least: 0.75 },
          };
          yield { ...beside, row: `${row}: CPU`, unit: 'µs', annex: annex.us, other: other.us };
        }
        const aim = { most: 1_000, isAbsolute: true };
        yield {
          row: `${engine}, first deliveries after a start with it, max`,
          unit: 'ms',
          annex: first,
          aim,
        };
      } finally {
        await webhooks.rig.end();
      }
    }),
  );

async function fill(
  store: StorePlace,
  answering: readonly Posted[],
  hanging: readonly Posted[],
  size: number,
): Promise<void> {
  const half = { deliveries: Math.ceil(size / 2), withPayload: true };
  const sitesOf = (places: readonly Posted[]) => {
    const sites = new Set(places.map(({ site }) => site));
    return { isFor: (site: string) => sites.has(site) };
  };
  await prefill(store, { ...half, ...sitesOf(hanging), dueInMs: 0 });
  await prefill(store, { ...half, ...sitesOf(answering), dueInMs: DUE_IN_MS });
  if (store.url === undefined) return;
  // What autovacuum has done of a backlog that grew slowly.
  const client = new Client({ connectionString: store.url });
  await client.connect();
  for (const statement of ['vacuum (analyze)', 'checkpoint']) await client.query(statement);
  await client.end();
}

/** The longest time from a post to its arrival. */
async function firstDelivery(webhooks: Webhooks, places: readonly Posted[]): Promise<number> {
  const { receiver, rig } = webhooks;
  const { received } = await receiver.progress();
  await receiver.latencies();
  for (const place of places.slice(0, FIRST_EVENTS)) {
    await rig.api('POST', '/events', { events: [siteView(place, timedEventId('n', 0))] });
    await pause(FIRST_EVERY_MS);
  }
  while ((await receiver.progress()).received < received + FIRST_EVENTS) await pause(20);
  return (await receiver.latencies()).max;
}

async function rates(
  webhooks: Webhooks,
  answering: readonly Posted[],
  hanging: readonly Posted[],
  round: Round,
) {
  const pouring = await webhooks.pour(answering);
  const { perSecond, ownUs, serverUs } = await webhooks.delivered(round).finally(() => pouring.end());
  const { pids, postgres } = webhooks.rig;
  const flooding = webhooks.flood(hanging);
  await pause(round.warmupSeconds * 1_000);
  const meter = new CpuMeter([...pids, ...(postgres ? [postgres.pid] : [])]);
  const [before, startedAt] = [flooding.acknowledged(), performance.now()];
  await pause(round.seconds * 1_000);
  const count = flooding.acknowledged() - before;
  const accepted = { perSecond: (count * 1_000) / (performance.now() - startedAt), us: meter.us() / count };
  await flooding.end();
  return { delivered: { perSecond, us: ownUs + serverUs }, accepted };
}

const PROGRAM = fileURLToPath(new URL('../../src/local/annex.ts', import.meta.url));
const MEGABYTES = 1_024;
/** Bytes of an event with its delivery and its payload, with their indexes. */
const BYTES_OF_EVENT = 2_900;

/**
 * `annex copy` of a stopped store to a new PostgreSQL; `annex` itself verifies what it has copied.
 */
export const copy: Bench = async function* ({ size = MEGABYTES }) {
  const receiver = await LedgerReceiver.start();
  const webhooks = await Webhooks.start({ receiver, webhooks: 20 });
  const postgres = await startPostgres();
  try {
    if (postgres === undefined) return yield absent('copy to PostgreSQL', noServer());
    const found: Figure[] = [];
    await webhooks.rig.between(async (store) => {
      const deliveries = Math.round((size * 2 ** 20) / BYTES_OF_EVENT);
      await prefill(store, { deliveries, dueInMs: 0, withPayload: true });
      const bytes = (await stat(join(store.folder, 'annex.db'))).size;
      const { copyS, verifyS, peakMib } = await copied(store.folder, databaseUrl(postgres));
      const [perGib, row] = [bytes / 2 ** 30, 'copy to PostgreSQL'];
      found.push({ row: `${row}, a GiB`, unit: 's', annex: copyS / perGib });
      found.push({ row: `${row}, verifying a GiB`, unit: 's', annex: verifyS / perGib });
      found.push({ row: `${row}, peak of memory`, unit: 'MiB', annex: peakMib });
    });
    yield* found;
  } finally {
    await webhooks.rig.end();
    await postgres?.stop();
    receiver.stop();
  }
};

async function copied(folder: string, url: string) {
  const began = performance.now();
  const child = spawn(process.execPath, [PROGRAM, 'copy', '--data', folder], {
    env: { ...process.env, ANNEX_DATABASE_URL: url },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let [verifyingAt, peakMib] = [Number.NaN, 0];
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = text;
    if (/^verifying/m.test(text) && Number.isNaN(verifyingAt)) verifyingAt = performance.now();
  });
  const sampling = setInterval(() => {
    const [mib = 0] = residentMib(child.pid ?? 0).values();
    peakMib = Math.max(peakMib, mib);
  }, 50);
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  clearInterval(sampling);
  if (code !== 0) throw new Error(`annex copy ended with ${code}: ${said}`);
  const [copyS, verifyS] = [verifyingAt - began, performance.now() - verifyingAt].map((ms) => ms / 1_000);
  return { copyS: copyS ?? 0, verifyS: verifyS ?? 0, peakMib };
}

const SOAK_MINUTES = 10;
/** While caches fill and V8 grows its heap, samples do not count. */
const WARMUP_SHARE = 0.1;

/** Memory at half of the rate that the machine delivers: its last third beside its first. */
export const soak: Bench = (round) =>
  withReceiver(async function* (receiver) {
    const webhooks = await Webhooks.start({ receiver, webhooks: 60 });
    try {
      const pouring = await webhooks.pour();
      const { perSecond } = await webhooks.delivered(round).finally(() => pouring.end());
      await webhooks.settled();
      const stream = webhooks.steady(Math.round(perSecond / 2));
      const samples: { host: number; cells: number }[] = [];
      for (let left = (round.size ?? SOAK_MINUTES) * 60; left > 0; left -= 1) {
        await pause(1_000);
        const [host = 0, ...cells] = residentMib(webhooks.rig.host.pid).values();
        samples.push({ host, cells: cells.reduce((sum, mib) => sum + mib, 0) });
      }
      await stream.end();
      await webhooks.settled();
      const counted = samples.slice(Math.floor(samples.length * WARMUP_SHARE));
      const third = Math.floor(counted.length / 3);
      for (const part of ['host', 'cells'] as const) {
        const of = (some: typeof counted) => median(some.map((one) => one[part]));
        const [annex, other] = [of(counted.slice(-third)), of(counted.slice(0, third))];
        yield {
          row: `memory of ${part} under load`,
          unit: 'MiB',
          annex,
          to: 'first third',
          other,
          aim: { most: 1.1 },
        };
      }
    } finally {
      await webhooks.rig.end();
    }
  });
