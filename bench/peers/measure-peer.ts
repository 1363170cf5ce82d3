/** Measures one peer: starts its server, worker and producer, lets them run, and ends them. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { LedgerReceiver } from '../../test/support/receivers/ledger-receiver.ts';
import { CpuMeter, type CpuProcesses } from '../process-use.ts';
import { feed } from './feed.ts';
import type { PeerSettings } from './peer.ts';
import type { QueueServer } from './queue-servers.ts';

export interface Run {
  readonly receiver: LedgerReceiver;
  readonly warmupMs: number;
  readonly measureMs: number;
}

export interface Measured {
  /** Deliveries in a second, as the receiver counts them. */
  readonly rate: number;
  /** Microseconds of CPU of a delivery: of each kind of process. */
  readonly cpu: string;
}

/** @param processes whose CPU is measured */
export async function measured(
  { receiver, warmupMs, measureMs }: Run,
  processes: CpuProcesses,
): Promise<Measured> {
  await new Promise((resolve) => setTimeout(resolve, warmupMs));
  const startedAt = performance.now();
  const before = await receiver.progress();
  const meter = new CpuMeter(processes);
  await new Promise((resolve) => setTimeout(resolve, measureMs));
  const after = await receiver.progress();
  const cpu = meter.of(after.received - before.received);
  if (after.badSignatures > 0) throw new Error('A signature did not verify.');
  const rate = ((after.received - before.received) / (performance.now() - startedAt)) * 1_000;
  return { rate, cpu };
}

/** @returns deliveries in a second, as the receiver counts them */
export async function rateOf(run: Run): Promise<number> {
  return (await measured(run, { hosts: [] })).rate;
}

/** @returns undefined where the server is not on this machine */
export async function measurePeer(
  peer: 'bullmq' | 'pg-boss',
  server: QueueServer | undefined,
  settings: Omit<PeerSettings, 'role' | 'socket'>,
  run: Run,
): Promise<Measured | undefined> {
  if (server === undefined) return undefined;
  const children: ChildProcess[] = [];
  const start = (role: PeerSettings['role']): ChildProcess => {
    const argument = JSON.stringify({ ...settings, role, socket: server.socket } satisfies PeerSettings);
    const child = fork(fileURLToPath(new URL(`${peer}.ts`, import.meta.url)), [argument]);
    children.push(child);
    return child;
  };
  try {
    await once(start('work'), 'message');
    const { received } = await run.receiver.progress();
    const fed = { producer: start('produce'), acknowledged: () => 0 };
    const endFeed = feed([fed], run.receiver, received);
    try {
      const hosts = children.map(({ pid = 0 }) => pid);
      return await measured(run, { hosts, server: server.pid });
    } finally {
      await endFeed();
    }
  } finally {
    for (const child of children) child.kill('SIGKILL');
    await server.stop();
  }
}
