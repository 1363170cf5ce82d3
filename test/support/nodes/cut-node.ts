/**
 * One of two nodes loses the database behind a proxy that drops everything and closes nothing,
 * while the other goes on. What arrives twice was in flight on the lost node when it was cut off;
 * its later writes change nothing; and both work afterwards.
 */
import { setTimeout as passed } from 'node:timers/promises';
import { CallLoad } from './call-load.ts';
import { DroppingProxy } from './dropping-proxy.ts';
import { EventLoad } from './event-load.ts';
import { NodeGroup } from './node-group.ts';
import { PostgresCluster } from './postgres-cluster.ts';
import { type Refusals, refusalsIn, type Verdict, verdictOn } from './verdict.ts';

const WARM_MS = 3_000;
/** What is on its way through the proxy has arrived, and what was in flight elsewhere has ended. */
const ARRIVED_MS = 300;
const ORPHANED_AFTER_MS = 2_000;
const RETURN_MS = 60_000;
const POLL_EVERY_MS = 10;
const SETTLED_WITHIN_MS = 120_000;

export interface CutOptions {
  readonly lastsMs: number;
  readonly leaseMs: number;
  readonly clients: number;
  readonly clientEveryMs: number;
}

export interface CutResult extends Verdict {
  /** Deliveries in flight on the node when it was cut off. */
  readonly inFlight: number;
  /** Answers of the node that was cut off, and of the other, meanwhile. */
  readonly cutOff: Refusals;
  readonly other: Refusals;
  /** Answers to calls at the node that was cut off, and for how long they were served. */
  readonly calls: Refusals;
  readonly callsServedForMs: number;
  /** From the end of the cut to the first 202 of the node that was cut off. */
  readonly firstAcceptedMs: number;
  readonly logged: readonly string[];
  /** The error of each line. */
  readonly causes: readonly unknown[];
  readonly ready: readonly [during: number, after: number];
  readonly otherReady: readonly [during: number, after: number];
  readonly isAlive: boolean;
}

export async function cutNode(options: CutOptions): Promise<CutResult> {
  const cluster = await PostgresCluster.start();
  const proxy = await DroppingProxy.start({ host: '127.0.0.1', port: cluster.port });
  try {
    const env = { ANNEX_LIMIT_DELIVERY_LEASE_MS: String(options.leaseMs) };
    const nodes = [{ databaseUrl: cluster.url(proxy.port) }, {}];
    const group = await NodeGroup.start({ cluster, nodes, env });
    try {
      return await cut(group, proxy, options);
    } finally {
      await group.end();
    }
  } finally {
    proxy.stop();
    await cluster.remove();
  }
}

async function cut(group: NodeGroup, proxy: DroppingProxy, options: CutOptions): Promise<CutResult> {
  const { clients, clientEveryMs: everyMs, lastsMs } = options;
  const { nodes, places } = group;
  const [node, other] = [group.node(0), group.node(1)];
  const ready = async () => ({
    node: (await node.health('/readyz')).status,
    other: (await other.health('/readyz')).status,
  });
  const load = new EventLoad({ nodes, places, clients, everyMs, failsOver: false });
  const calls = new CallLoad(group, node);
  await passed(WARM_MS);
  const linesBefore = node.lines.length;
  proxy.drop();
  const since = performance.now();
  await passed(ARRIVED_MS);
  const leased = await group.leased();
  await passed(ORPHANED_AFTER_MS);
  const orphaned = await group.leased();
  const mayRepeat = [...leased].filter((key) => orphaned.has(key)).map((key) => key.split(' ')[0] ?? '');
  await passed(lastsMs / 2);
  const during = await ready();
  await passed(Math.max(0, lastsMs - (performance.now() - since)));
  const over = performance.now();
  const answered = load.answers.filter(({ at }) => at >= since && at < over);
  proxy.pass();
  const accepted = () => load.since(over, node.name).some(({ status }) => status === 202 || status === 200);
  while (!accepted() && performance.now() - over < RETURN_MS) await passed(POLL_EVERY_MS);
  const firstAcceptedMs = Math.round(performance.now() - over);
  await load.end();
  await calls.end();
  await group.settled(SETTLED_WITHIN_MS);
  await node.logged('the database answers again', linesBefore);
  const after = await ready();
  const called = calls.answers.filter(({ at }) => at >= since && at < over);
  const lines = node.lines.slice(linesBefore);
  const refusedAt = called.find(({ status }) => status !== 200)?.at ?? over;
  return {
    inFlight: mayRepeat.length,
    cutOff: refusalsIn(answered.filter((answer) => answer.node === node.name)),
    other: refusalsIn(answered.filter((answer) => answer.node === other.name)),
    calls: refusalsIn(called),
    callsServedForMs: Math.round(refusedAt - since),
    firstAcceptedMs,
    logged: lines.map(({ level, msg }) => `${level} ${msg}`),
    causes: lines.map(({ err }) => err),
    ready: [during.node, after.node],
    otherReady: [during.other, after.other],
    isAlive: nodes.every(({ isAlive }) => isAlive),
    ...(await verdictOn(group, load, new Set(mayRepeat))),
  };
}
