/**
 * `npm run bench:nodes`: several nodes on one PostgreSQL while nodes and database fail. Each
 * scenario has a server of its own, which syncs to disk, and compares what clients were told with
 * what the receiver got.
 *
 * Arguments are the scenarios, all if there are none: `kills`, `stopped`, `killed`, `cut`,
 * `connections`, `locked`, `readonly`, `diskfull`. `--seconds` is how long each failure lasts, and
 * `--minutes` how long nodes are killed. The short versions are `test/slow/nodes-*.test.ts`.
 */
import { parseArgs } from 'node:util';
import { cutNode } from '../test/support/nodes/cut-node.ts';
import * as failures from '../test/support/nodes/database-failures.ts';
import { killedNodes, shiftedClock } from '../test/support/nodes/killed-nodes.ts';
import { lostDatabase } from '../test/support/nodes/lost-database.ts';
import { NodeGroup } from '../test/support/nodes/node-group.ts';
import { PostgresCluster } from '../test/support/nodes/postgres-cluster.ts';
import type { Refusals, Verdict } from '../test/support/nodes/verdict.ts';

const KILL_EVERY_MS = 5_000;
const LEASE_MS = 30_000;
const CONNECTIONS_MAX = 30;
const DISK_MIB = 320;
const LOAD = { clients: 8, clientEveryMs: 100 };

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seconds: { type: 'string' }, minutes: { type: 'string', default: '5' } },
});

type Row = Readonly<Record<string, string | number>>;

/** Scenario → what it shows. */
const SCENARIOS: Readonly<Record<string, () => Promise<Row>>> = {
  kills,
  stopped: () => loss(failures.stopped, 30),
  killed: () => loss(failures.killed, 30),
  cut,
  connections: () => loss(failures.outOfConnections, 20, { max_connections: CONNECTIONS_MAX }),
  locked: () => loss(failures.locked, 20),
  readonly: () => loss(failures.readOnly, 20),
  diskfull: () => loss(failures.diskFull, 20, { max_wal_size: '64MB', min_wal_size: '32MB' }, DISK_MIB),
};

for (const name of positionals.length === 0 ? Object.keys(SCENARIOS) : positionals) {
  const scenario = SCENARIOS[name];
  if (scenario === undefined)
    throw new Error(`There is no scenario ${name}: ${Object.keys(SCENARIOS).join(', ')}.`);
  console.log(`\n${name}`);
  for (const [what, value] of Object.entries(await scenario())) console.log(`  ${what}: ${value}`);
}

async function kills(): Promise<Row> {
  const shifted = shiftedClock();
  if (shifted === undefined) throw new Error('The clocks are not apart: install libfaketime.');
  const { activationsMs, calls, refusedCalls, ...verdict } = await killedNodes({
    forMs: Number(values.minutes) * 60_000,
    everyMs: KILL_EVERY_MS,
    leaseMs: LEASE_MS,
    nodes: [{}, shifted],
    ...LOAD,
    onKill: (kill, acknowledged) => {
      if (kill % 10 === 0) console.log(`kill ${kill}: ${acknowledged} acknowledged`);
    },
  });
  const slowest = Math.round(Math.max(...activationsMs));
  if (slowest > 1_000 || refusedCalls > 0) process.exitCode = 1;
  return {
    kills: verdict.kills,
    ...verdictRow(verdict),
    'versions activated on one node': activationsMs.length,
    'served by the other within, ms, max': slowest,
    'served by the other within, ms, median': Math.round(median(activationsMs)),
    'calls at the other node': calls,
    'of them refused': refusedCalls,
  };
}

async function cut(): Promise<Row> {
  const lastsMs = Number(values.seconds ?? 60) * 1_000;
  const result = await cutNode({ lastsMs, leaseMs: LEASE_MS, ...LOAD });
  const { cutOff, other, calls, callsServedForMs, firstAcceptedMs, logged, ready, otherReady, isAlive } =
    result;
  if (!isAlive || firstAcceptedMs > 5_000) process.exitCode = 1;
  return {
    'cut off for, ms': lastsMs,
    ...verdictRow(result),
    'in flight when it was cut off': result.inFlight,
    'events at the node': refusalsText(cutOff),
    'events at the other': refusalsText(other),
    'calls at the node': refusalsText(calls),
    'calls served from caches for, ms': callsServedForMs,
    'first 202 after the return, ms': firstAcceptedMs,
    '/readyz of the node': ready.join(' then '),
    '/readyz of the other': otherReady.join(' then '),
    'lines in its log': logged.join('; '),
  };
}

async function loss(
  make: failures.MakeFailure,
  seconds: number,
  settings: Readonly<Record<string, string | number>> = {},
  diskMib?: number,
): Promise<Row> {
  const disk = diskMib === undefined ? undefined : await failures.SmallDisk.mount(diskMib);
  if (diskMib !== undefined && disk === undefined) throw new Error('A small disk cannot be mounted.');
  const cluster = await PostgresCluster.start({ settings, ...(disk && { place: disk.folder }) });
  try {
    const group = await NodeGroup.start({ cluster, nodes: [{}, {}] });
    try {
      const failure = make(cluster, Number(values.seconds ?? seconds) * 1_000);
      return lossRow(await lostDatabase(group, failure, LOAD), failure);
    } finally {
      await group.end();
    }
  } finally {
    await cluster.remove();
    await disk?.unmount();
  }
}

function lossRow(result: Awaited<ReturnType<typeof lostDatabase>>, { lastsMs }: { lastsMs: number }): Row {
  const { events, calls, firstAcceptedMs, firstDeliveredMs, logged, lines, ready, healthy, isAlive } = result;
  if (!isAlive || firstAcceptedMs > 5_000 || firstDeliveredMs > 5_000) process.exitCode = 1;
  if (Object.keys(events.statuses).some((status) => !['200', '202', '503'].includes(status)))
    process.exitCode = 1;
  return {
    'lasts, ms': lastsMs,
    ...verdictRow(result),
    'events meanwhile': refusalsText(events),
    'calls meanwhile': refusalsText(calls),
    'first 202 after it, ms': firstAcceptedMs,
    'first delivery after it, ms': firstDeliveredMs,
    '/readyz': ready.join(' then '),
    '/healthz': healthy.join(' then '),
    'lines in the log of a node': `${lines}: ${logged.join('; ')}`,
  };
}

function verdictRow({
  acknowledged,
  requests,
  lost,
  repeated,
  doubled,
  forked,
  badSignatures,
}: Verdict): Row {
  if (lost.length + doubled.length + forked.length + badSignatures > 0) process.exitCode = 1;
  return {
    'events acknowledged': acknowledged,
    'acknowledged and lost': lost.length,
    requests,
    'repeated, in flight at a failure': repeated.length,
    'repeated otherwise': doubled.length,
    'as two deliveries': forked.length,
    'bad signatures': badSignatures,
  };
}

function refusalsText({ statuses, withoutRetryAfter, slowestMs }: Refusals): string {
  const counts = Object.entries(statuses).map(([status, count]) => `${count} × ${status}`);
  if (withoutRetryAfter > 0) process.exitCode = 1;
  return `${counts.join(', ')}; slowest ${slowestMs} ms${withoutRetryAfter > 0 ? `; ${withoutRetryAfter} without Retry-After` : ''}`;
}

function median(all: readonly number[]): number {
  return [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)] ?? Number.NaN;
}
