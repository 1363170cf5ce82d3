/**
 * Two nodes under load, one of which is killed again and again. Every acknowledged event arrives;
 * what arrives twice was in flight on a killed node; a version that is activated on one node is
 * served by the other soon after.
 */
import { existsSync } from 'node:fs';
import { setTimeout as passed } from 'node:timers/promises';
import { CallLoad } from './call-load.ts';
import { EventLoad } from './event-load.ts';
import { type GroupNode, NodeGroup, type NodeOptions } from './node-group.ts';
import { PostgresCluster } from './postgres-cluster.ts';
import { type Verdict, verdictOn } from './verdict.ts';

/** After this long, what was in flight on a living node has been settled. */
const ORPHANED_AFTER_MS = 2_000;
const SETTLED_WITHIN_MS = 120_000;

/** Runs a process whose wall clock is wrong, and whose monotonic clock is not. */
const FAKETIME = '/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1';
const CLOCK_SHIFT_S = 60;

export interface KillOptions {
  /** For how long nodes are killed, in milliseconds. */
  readonly forMs: number;
  /** From one kill to the next, at least: the node has to be back. */
  readonly everyMs: number;
  /** Of each delivery, in milliseconds. */
  readonly leaseMs: number;
  /** What differs between the nodes. */
  readonly nodes: readonly [NodeOptions, NodeOptions];
  readonly clients: number;
  readonly clientEveryMs: number;
  onKill?(kill: number, acknowledged: number): void;
}

export interface KillResult extends Verdict {
  readonly kills: number;
  /** From the answer to an activation on one node to the first call of it on the other. */
  readonly activationsMs: readonly number[];
  readonly refusedCalls: number;
  readonly calls: number;
}

/** A node with a clock that is a minute fast; undefined where libfaketime is not installed. */
export function shiftedClock(): NodeOptions | undefined {
  if (!existsSync(FAKETIME)) return undefined;
  return { env: { LD_PRELOAD: FAKETIME, FAKETIME: `+${CLOCK_SHIFT_S}s`, FAKETIME_DONT_FAKE_MONOTONIC: '1' } };
}

export async function killedNodes(options: KillOptions): Promise<KillResult> {
  const cluster = await PostgresCluster.start();
  try {
    const env = { ANNEX_LIMIT_DELIVERY_LEASE_MS: String(options.leaseMs) };
    const group = await NodeGroup.start({ cluster, nodes: options.nodes, env });
    try {
      return await new Kills(options, group).run();
    } finally {
      await group.end();
    }
  } finally {
    await cluster.remove();
  }
}

class Kills {
  readonly #options: KillOptions;
  readonly #group: NodeGroup;
  readonly #mayRepeat = new Set<string>();
  readonly #activationsMs: number[] = [];

  constructor(options: KillOptions, group: NodeGroup) {
    this.#options = options;
    this.#group = group;
  }

  async run(): Promise<KillResult> {
    const { forMs, clients, clientEveryMs: everyMs, onKill } = this.#options;
    const group = this.#group;
    const { nodes, places } = group;
    const load = new EventLoad({ nodes, places, clients, everyMs, failsOver: true });
    let [kills, calls, refusedCalls] = [0, 0, 0];
    for (const until = performance.now() + forMs; performance.now() < until; kills += 1) {
      const killed = group.node(kills % 2);
      const other = group.node((kills + 1) % 2);
      const callLoad = new CallLoad(group, other);
      await this.#kill(killed, other);
      await callLoad.end();
      calls += callLoad.answers.length;
      refusedCalls += callLoad.answers.filter(({ status }) => status !== 200).length;
      onKill?.(kills + 1, load.acknowledged.size);
    }
    await load.end();
    await group.settled(SETTLED_WITHIN_MS);
    const verdict = await verdictOn(group, load, this.#mayRepeat);
    return { kills, activationsMs: this.#activationsMs, calls, refusedCalls, ...verdict };
  }

  async #kill(killed: GroupNode, other: GroupNode): Promise<void> {
    const { everyMs } = this.#options;
    const group = this.#group;
    const since = performance.now();
    // Serves the version before it is activated on the other: the notice has to be what changes it.
    await group.served(killed);
    await group.served(other);
    this.#activationsMs.push(await group.activated(killed, other), await group.activated(other, killed));
    await killed.kill();
    const leased = await group.leased();
    const [restarted] = [killed.start(), await passed(ORPHANED_AFTER_MS)];
    const orphaned = await group.leased();
    for (const key of leased) if (orphaned.has(key)) this.#mayRepeat.add(key.split(' ')[0] ?? '');
    await restarted;
    await passed(Math.max(0, everyMs - (performance.now() - since)));
  }
}
