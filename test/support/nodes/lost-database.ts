/**
 * A node under load loses its database for a while, and gets it back. What was acknowledged
 * arrives; events are refused with `Retry-After` meanwhile; calls of warm installations go on; and
 * work goes on soon after the return.
 */
import { setTimeout as passed } from 'node:timers/promises';
import { CallLoad } from './call-load.ts';
import { EventLoad } from './event-load.ts';
import type { LogLine, NodeGroup } from './node-group.ts';
import { type Refusals, refusalsIn, type Verdict, verdictOn } from './verdict.ts';

const OK = 200;
const POLL_EVERY_MS = 10;
/** Before the failure: caches are filled, and deliveries are in flight. */
const WARM_MS = 3_000;
/** A return that takes longer is a failure. */
const RETURN_MS = 60_000;
const SETTLED_WITHIN_MS = 120_000;

export interface Failure {
  readonly name: string;
  /** Milliseconds that it lasts. */
  readonly lastsMs: number;
  begin(): Promise<void>;
  /** Resolves when it is over. */
  end(): Promise<void>;
}

export interface LossResult extends Verdict {
  readonly failure: string;
  /** Answers to events during the failure. */
  readonly events: Refusals;
  /** Answers to calls during the failure. */
  readonly calls: Refusals;
  /** From the end of the failure to the first 202, and to the first delivery that arrives. */
  readonly firstAcceptedMs: number;
  readonly firstDeliveredMs: number;
  /** Whether lines that calls wrote to the integration's log during the failure were kept. */
  readonly areLinesKept: boolean;
  /** Lines of the operator's log about it: warnings and errors, and notes of its end. */
  readonly logged: readonly string[];
  /** All lines of that time. */
  readonly lines: number;
  /** Health during the failure, and after it. */
  readonly ready: readonly [during: number, after: number];
  readonly healthy: readonly [during: number, after: number];
  /** Status of a scrape of the metrics, in the same way. */
  readonly scraped: readonly [during: number, after: number];
  readonly isAlive: boolean;
}

export interface LoadOfLoss {
  readonly clients: number;
  readonly clientEveryMs: number;
}

/** Makes a group of nodes go through a failure of its database, with load at the first. */
export async function lostDatabase(
  group: NodeGroup,
  failure: Failure,
  { clients, clientEveryMs: everyMs }: LoadOfLoss,
): Promise<LossResult> {
  const node = group.node(0);
  const load = new EventLoad({ nodes: [node], places: group.places, clients, everyMs, failsOver: false });
  const calls = new CallLoad(group, node);
  let ended: Promise<void> | undefined;
  const endFailure = () => (ended ??= failure.end());
  // Where a step throws, the next failure begins with a database that works and without load.
  await using ends = new AsyncDisposableStack();
  for (const end of [() => load.end(), () => calls.end(), endFailure]) ends.defer(end);
  await passed(WARM_MS);
  const linesBefore = node.lines.length;
  await failure.begin();
  const wallBefore = Date.now();
  const since = performance.now();
  const isOver = () => performance.now() - since >= failure.lastsMs;
  // A failure is noticed at the first statement that fails.
  let during = await healthOf(group);
  while (during.ready === OK && !isOver()) {
    await passed(POLL_EVERY_MS);
    during = await healthOf(group);
  }
  await passed(Math.max(0, failure.lastsMs - (performance.now() - since)));
  const refused = load.since(since);
  const refusedCalls = calls.since(since);
  const wallAfter = Date.now();
  await endFailure();
  const over = performance.now();
  const { received } = await group.receiver.progress();
  const firstDeliveredMs = await until(async () => (await group.receiver.progress()).received > received);
  const firstAcceptedMs = await until(async () =>
    load.since(over).some(({ status }) => status < 300 && status > 0),
  );
  const areLinesKept = () => group.hasLineBetween(node, wallBefore, wallAfter).catch(() => false);
  const kept = until(areLinesKept).then(areLinesKept);
  // What was on its way before the failure may arrive during it, and after it.
  await load.end();
  await calls.end();
  await group.settled(SETTLED_WITHIN_MS);
  await node.logged('the database answers again', linesBefore);
  const after = await healthOf(group);
  const lines = node.lines.slice(linesBefore);
  return {
    failure: failure.name,
    events: refusalsIn(refused),
    calls: refusalsIn(refusedCalls),
    ...{ firstAcceptedMs, firstDeliveredMs },
    logged: lines.filter(isAboutIt).map(({ level, msg }) => `${level} ${msg}`),
    lines: lines.length,
    areLinesKept: await kept,
    ready: [during.ready, after.ready],
    healthy: [during.healthy, after.healthy],
    scraped: [during.scraped, after.scraped],
    isAlive: group.nodes.every(({ isAlive }) => isAlive),
    ...(await verdictOn(group, load, new Set())),
  };

  async function until(isSo: () => Promise<boolean>): Promise<number> {
    while (!(await isSo()) && performance.now() - over < RETURN_MS) await passed(POLL_EVERY_MS);
    return Math.round(performance.now() - over);
  }
}

const isAboutIt = ({ level, msg }: LogLine): boolean => level >= 40 || msg.includes('database');

async function healthOf(group: NodeGroup) {
  const { control } = group.node(0).host;
  const status = async (path: string) => {
    const response = await fetch(`${control}${path}`);
    await response.body?.cancel();
    return response.status;
  };
  return {
    ready: await status('/readyz'),
    healthy: await status('/healthz'),
    scraped: await status('/metrics'),
  };
}
