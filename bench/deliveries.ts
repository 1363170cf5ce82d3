/**
 * `npm run bench:deliveries`: signed deliveries of 600 bytes in a second, compared with other
 * queues.
 *
 *   isolate path    HTTP ingest in batches → fan-out → isolate of the integration → signed POST →
 *                   stored result
 *   declared        the isolate path, with events of a type of the product, checked by its schema
 *   bare engine     claim → signed POST → stored result: payloads exist, no isolate is entered
 *   two nodes       the isolate path, and the bare engine, by two nodes on one PostgreSQL
 *   BullMQ, pg-boss the same signed POSTs from a queue on Redis or PostgreSQL, without ingest over
 *                   HTTP and without isolates; needs `npm ci` in `bench/`, and the servers
 *
 * Processes of their own feed each system as fast as it delivers; all post to the same receiver,
 * which counts, and share the cores of the machine. Rates of one run compare with each other;
 * across machines and hours only ratios do, and CPU of a delivery where other programs run. Redis
 * answers a command after its log is synced, as Annex and PostgreSQL do; with `everysec`, shown
 * beside, it may lose a second. Each row on PostgreSQL has a new server with its default settings.
 *
 *   --seconds 5     duration of each measurement
 *   --warmup 8      duration of the warm-up before it. Each process compiles its code meanwhile:
 *                   two nodes on two cores need some seconds until CPU of a delivery settles
 *   --rounds 1      measures everything in turn so often, and shows the medians
 *   --only a,b      of sqlite, postgres, nodes, isolates, peers, pg-boss; default: all
 *   --profile DIR   writes CPU profiles of the hosts into this folder
 */
import { existsSync } from 'node:fs';
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { LedgerReceiver } from '../test/support/receivers/ledger-receiver.ts';
import { AnnexRig } from './annex-rig.ts';
import { type Measured, measured, measurePeer, type Run } from './peers/measure-peer.ts';
import { type QueueServer, startPostgres, startRedis } from './peers/queue-servers.ts';
import { prefill } from './prefilled.ts';

const WEBHOOKS = 60;
/**
 * Sites of an organization, each with a webhook: they share an isolate, which stays in the caches
 * of a core.
 */
const PER_ORGANIZATION = 10;
const VERIFY_EVERY = 16;
const IN_FLIGHT = 256;
const SECRET = 'a secret that both sides of the peers know.';
/** More than any system delivers, so that deliveries are always left. */
const PREFILLED_PER_S = 16_000;

interface Names {
  readonly isolate: string;
  /** Present where the events of a declared type are measured, too. */
  readonly declared?: string;
  readonly engine: string;
}

const ISOLATES = WEBHOOKS / PER_ORGANIZATION;
const DECLARED = `Annex on SQLite: declared events, ${ISOLATES} isolates`;
const SQLITE: Names = {
  isolate: `Annex on SQLite: isolate path, ${ISOLATES} isolates`,
  declared: DECLARED,
  engine: 'Annex on SQLite: bare engine',
};
const POSTGRES: Names = {
  isolate: `Annex on PostgreSQL: isolate path, ${ISOLATES} isolates`,
  engine: 'Annex on PostgreSQL: bare engine',
};
const TWO_NODES: Names = {
  isolate: `Two nodes on PostgreSQL: isolate path, ${ISOLATES} isolates`,
  engine: 'Two nodes on PostgreSQL: bare engine',
};
const PG_BOSS = 'pg-boss on PostgreSQL';

const AIMS: Readonly<Record<string, number>> = { [SQLITE.isolate]: 3_000, [SQLITE.engine]: 6_000 };
/** A rate, in relation to another of the same run. */
const RATIO_AIMS: readonly (readonly [of: string, to: string, least: number])[] = [
  [DECLARED, SQLITE.isolate, 0.9],
  [POSTGRES.isolate, SQLITE.isolate, 0.8],
  [POSTGRES.engine, SQLITE.engine, 0.8],
  [POSTGRES.isolate, PG_BOSS, 1],
  [POSTGRES.engine, PG_BOSS, 1],
  [TWO_NODES.isolate, POSTGRES.isolate, 1],
  [TWO_NODES.engine, POSTGRES.engine, 1],
];

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '5' },
    warmup: { type: 'string', default: '8' },
    rounds: { type: 'string', default: '1' },
    only: { type: 'string', default: 'sqlite,postgres,nodes,isolates,peers,pg-boss' },
    profile: { type: 'string', default: '' },
  },
});
const measureMs = Number(values.seconds) * 1_000;
const warmupMs = Number(values.warmup) * 1_000;
const isProfiled = values.profile !== '';
const node = isProfiled ? ['--cpu-prof', `--cpu-prof-dir=${values.profile}`] : [];
const only = new Set(values.only.split(','));

const RIG = { webhooks: WEBHOOKS, verifyEvery: VERIFY_EVERY, node };

interface Row extends Partial<Measured> {
  readonly what: string;
}

async function main(): Promise<void> {
  const receiver = await LedgerReceiver.start();
  const rows = new Map<string, Row[]>();
  try {
    for (let round = 0; round < Number(values.rounds); round += 1)
      for await (const row of measurements(receiver)) {
        console.log(shown(row), `load ${loadavg()[0]?.toFixed(1)}`);
        rows.set(row.what, [...(rows.get(row.what) ?? []), row]);
      }
  } finally {
    receiver.stop();
  }
  show([...rows.values()].map(median));
}

/** All measurements of a round; a row without a rate needs a server that is not on this machine. */
async function* measurements(receiver: LedgerReceiver): AsyncGenerator<Row> {
  const run: Run = { receiver, warmupMs, measureMs };
  if (only.has('sqlite')) yield* annex(SQLITE, run);
  if (only.has('postgres')) yield* onPostgres(POSTGRES, 1, run);
  if (only.has('nodes')) yield* onPostgres(TWO_NODES, 2, run);
  if (only.has('isolates')) yield* manyIsolates(run);
  if (only.has('peers') || only.has('pg-boss')) yield* peers(run);
}

async function* onPostgres(names: Names, nodes: number, run: Run): AsyncGenerator<Row> {
  const postgres = await startPostgres();
  if (postgres === undefined) {
    for (const what of Object.values(names)) yield { what };
    return;
  }
  try {
    yield* annex(names, run, { postgres, nodes });
  } finally {
    await postgres.stop();
  }
}

async function* annex(
  { isolate, declared, engine }: Names,
  run: Run,
  on: { readonly postgres?: QueueServer; readonly nodes?: number } = {},
): AsyncGenerator<Row> {
  const { receiver } = run;
  const declares = declared !== undefined;
  const rig = await AnnexRig.start({ ...RIG, ...on, receiver, declares, perOrganization: PER_ORGANIZATION });
  try {
    yield await isolatePath(isolate, rig, run);
    if (declares) yield await isolatePath(declared, rig, run, true);
    const deliveries = Math.ceil(((warmupMs + measureMs) / 1_000) * PREFILLED_PER_S);
    await rig.between((store) => prefill(store, { deliveries, dueInMs: 0, withPayload: true }));
    yield await measuredRig(engine, rig, run);
  } finally {
    await rig.end();
  }
}

async function* manyIsolates(run: Run): AsyncGenerator<Row> {
  const rig = await AnnexRig.start({ ...RIG, receiver: run.receiver });
  try {
    yield await isolatePath(`Annex on SQLite: isolate path, ${WEBHOOKS} isolates`, rig, run);
  } finally {
    await rig.end();
  }
}

async function isolatePath(what: string, rig: AnnexRig, run: Run, declared = false): Promise<Row> {
  const pouring = await rig.pour(rig.places, declared);
  const row = await measuredRig(what, rig, run);
  await pouring.end();
  await rig.delivered();
  return row;
}

async function measuredRig(what: string, { hosts, postgres }: AnnexRig, run: Run): Promise<Row> {
  const processes = { hosts: hosts.map(({ pid }) => pid), server: postgres?.pid };
  return { what, ...(await measured(run, processes)) };
}

async function* peers({ receiver, ...run }: Run): AsyncGenerator<Row> {
  const installed = existsSync(new URL('node_modules/bullmq', import.meta.url));
  if (!installed) {
    console.log('The peers are not installed: npm ci in bench/.');
    return;
  }
  const settings = { verifyEvery: VERIFY_EVERY, keepsLedger: false, answerWithinMs: 0 };
  await receiver.configure({ ...settings, secrets: { '*': [SECRET] } });
  const urls = Array.from({ length: WEBHOOKS }, (_, index) => receiver.url(`peer${index}`));
  const peerSettings = { secret: SECRET, urls, inFlight: IN_FLIGHT };
  const measure = async (what: string, peer: 'bullmq' | 'pg-boss', server: QueueServer | undefined) => ({
    what,
    ...(await measurePeer(peer, server, peerSettings, { receiver, ...run })),
  });
  if (only.has('peers')) {
    yield await measure('BullMQ on Redis', 'bullmq', await startRedis('always'));
    yield await measure('BullMQ on Redis, everysec', 'bullmq', await startRedis('everysec'));
  }
  yield await measure(PG_BOSS, 'pg-boss', await startPostgres());
}

/** The row with the median rate. */
function median(rows: readonly Row[]): Row {
  const sorted = rows.toSorted((one, other) => (one.rate ?? 0) - (other.rate ?? 0));
  return sorted[sorted.length >> 1] as Row;
}

function show(rows: readonly Row[]): void {
  console.table(Object.fromEntries(rows.map((row) => [row.what, columns(row, rows)])));
  const ratios = RATIO_AIMS.flatMap(([of, to, least]) => {
    const ratio = ratioOf(rows, of, to);
    return ratio === undefined ? [] : [[`${of} / ${to}`, { ratio: ratio.toFixed(2), aim: `≥ ${least}` }]];
  });
  if (ratios.length > 0) console.table(Object.fromEntries(ratios));
}

function columns(row: Row, rows: readonly Row[]) {
  const aim = AIMS[row.what];
  return {
    'deliveries/s': row.rate?.toFixed(0) ?? 'its server is not on this machine',
    aim: aim === undefined ? '' : `≥ ${aim}`,
    'µs of CPU a delivery: host + cells + server': row.cpu ?? '',
    'SQLite isolate path is … times that': ratioOf(rows, SQLITE.isolate, row.what)?.toFixed(2) ?? '',
    'SQLite bare engine is … times that': ratioOf(rows, SQLITE.engine, row.what)?.toFixed(2) ?? '',
  };
}

function ratioOf(rows: readonly Row[], of: string, to: string): number | undefined {
  const [one, other] = [of, to].map((name) => rows.find(({ what }) => what === name)?.rate);
  return one === undefined || other === undefined ? undefined : one / other;
}

const shown = ({ what, rate, cpu }: Row): string => `${what}: ${rate?.toFixed(0)}/s, CPU ${cpu} µs,`;

await main();
