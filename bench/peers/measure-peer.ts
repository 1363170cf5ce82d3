/** Measures one peer: starts its server, worker and producer, lets them run, and ends them. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { LedgerReceiver } from '../../test/support/receivers/ledger-receiver.ts';
import { feed } from './feed.ts';
import type { PeerSettings } from './peer.ts';
import type { QueueServer } from './queue-servers.ts';

export interface Run {
  readonly receiver: LedgerReceiver;
  readonly warmupMs: number;
  readonly measureMs: number;
}

/** @returns deliveries in a second, as the receiver counts them */
export async function rateOf({ receiver, warmupMs, measureMs }: Run): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, warmupMs));
  const startedAt = performance.now();
  const before = await receiver.progress();
  await new Promise((resolve) => setTimeout(resolve, measureMs));
  const after = await receiver.progress();
  if (after.badSignatures > 0) throw new Error('A signature did not verify.');
  return ((after.received - before.received) / (performance.now() - startedAt)) * 1_000;
}

/** @returns undefined where the server is not on this machine */
export async function measurePeer(
  peer: 'bullmq' | 'pg-boss',
  server: QueueServer | undefined,
  settings: Omit<PeerSettings, 'role' | 'socket'>,
  run: Run,
): Promise<number | undefined> {
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
    const endFeed = feed(start('produce'), run.receiver, received);
    try {
      return await rateOf(run);
    } finally {
      await endFeed();
    }
  } finally {
    for (const child of children) child.kill('SIGKILL');
    await server.stop();
  }
}
