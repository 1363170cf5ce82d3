/**
 * Nodes under load whose database stops doing its work for some seconds, in each way that it may.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as failures from '../support/nodes/database-failures.ts';
import { lostDatabase } from '../support/nodes/lost-database.ts';
import { NodeGroup } from '../support/nodes/node-group.ts';
import { PostgresCluster } from '../support/nodes/postgres-cluster.ts';
import { needs } from '../support/programs.ts';

/** A server that runs out of connections soon. */
const CONNECTIONS_MAX = 30;
const DISK_MIB = 320;
const LASTS_MS = 4_000;
/** Longer than a request waits for a transaction before its own, and then for a lock. */
const LOCK_LASTS_MS = 10_000;
const LOAD = { clients: 6, clientEveryMs: 100 };

const WAYS: readonly (readonly [string, failures.MakeFailure, number])[] = [
  ['stopped and started again', failures.stopped, LASTS_MS],
  ['killed and started again', failures.killed, LASTS_MS],
  ['out of connections', failures.outOfConnections, LASTS_MS],
  ['locked by somebody', failures.locked, LOCK_LASTS_MS],
  ['read-only', failures.readOnly, LASTS_MS],
];

let cluster: PostgresCluster;
let group: NodeGroup;

async function survives(make: failures.MakeFailure, lastsMs = LASTS_MS): Promise<void> {
  const { events, calls, logged, ...result } = await lostDatabase(group, make(cluster, lastsMs), LOAD);
  const none = { lost: [], doubled: [], forked: [], badSignatures: 0 };
  expect(result).toMatchObject({
    ...none,
    isAlive: true,
    areLinesKept: true,
    ready: [503, 200],
    healthy: [200, 200],
    scraped: [200, 200],
  });
  expect(Object.keys(events.statuses)).toContain('503');
  // What was on its way when it began, or small enough for a full disk, is accepted.
  expect(['200', '202', '503']).toEqual(expect.arrayContaining(Object.keys(events.statuses)));
  expect(events.withoutRetryAfter).toBe(0);
  expect(Object.keys(calls.statuses)).toEqual(['200']);
  expect(logged).toEqual([
    expect.stringContaining('the database is not available'),
    expect.stringContaining('the database answers again'),
  ]);
}

describe('nodes whose database is', needs('postgres'), () => {
  beforeAll(async () => {
    cluster = await PostgresCluster.start({ settings: { max_connections: CONNECTIONS_MAX } });
    group = await NodeGroup.start({ cluster, nodes: [{}, {}] });
  });
  afterAll(async () => {
    await group?.end();
    await cluster?.remove();
  });

  test.each(WAYS)(
    '%s refuse events for a while, lose none, and serve calls',
    async (_, make, lastsMs) => {
      await survives(make, lastsMs);
    },
    600_000,
  );
});

test('nodes whose database has no disk space left lose no event, and serve calls', {
  ...needs('postgres', 'mount'),
  timeout: 600_000,
}, async ({ skip }) => {
  const disk = await failures.SmallDisk.mount(DISK_MIB);
  if (disk === undefined) return skip('This process may not mount a small disk.');
  try {
    const settings = { max_wal_size: '64MB', min_wal_size: '32MB' };
    cluster = await PostgresCluster.start({ settings, place: disk.folder });
    group = await NodeGroup.start({ cluster, nodes: [{}] });
    await survives(failures.diskFull);
  } finally {
    await group?.end();
    await cluster?.remove();
    await disk.unmount();
  }
});
