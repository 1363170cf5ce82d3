/**
 * A service moves from SQLite to PostgreSQL: it is killed with deliveries waiting and in flight,
 * its store is copied, and two nodes go on with it.
 */
import { copyFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  installWebhooks,
  type Posted,
  shareSecrets,
  siteView,
} from '../../support/deliveries/webhook-senders.ts';
import { HostProcess } from '../../support/host-process.ts';
import { LedgerReceiver } from '../../support/receivers/ledger-receiver.ts';
import { openTarget, runCopy } from '../../support/store/copy-command.ts';
import { temporaryFolder } from '../../support/store/temporary-store.ts';

const EVENTS = 400;

/** A node with a folder of its own, and the keys of the store. */
async function startNode(name: string, from: string, url: string, flags: string[]): Promise<HostProcess> {
  const data = join(from, '..', name);
  await mkdir(data, { mode: 0o700 });
  await copyFile(join(from, 'admin-token'), join(data, 'admin-token'));
  const keys = ['--vault-key-file', join(from, 'vault.key')];
  const node = await HostProcess.start({
    data,
    flags: [...flags, ...keys],
    env: { ANNEX_DATABASE_URL: url },
  });
  onTestFinished(() => node.stop());
  return node;
}

const eventsOf = (places: readonly Posted[], prefix: string, count: number): object[] =>
  Array.from({ length: count }, (_, index) =>
    siteView(places[index % places.length] as Posted, `${prefix}-${index}`),
  );

async function receivedBy(receiver: LedgerReceiver, prefix: string): Promise<number> {
  const ids = (await receiver.ledger()).map(({ eventId }) => eventId);
  return new Set(ids.filter((id) => id.startsWith(prefix))).size;
}

describe('a store that was moved to PostgreSQL', () => {
  test('is served by two nodes: what waited and what was in flight is delivered, and what comes is', async () => {
    const receiver = await LedgerReceiver.start();
    onTestFinished(() => receiver.stop());
    const folder = await temporaryFolder();
    const data = join(folder, 'data');
    const reach = ['--webhook-http', 'allow', '--egress-allow', `127.0.0.1:${receiver.port}`];
    const flags = ['--cells', '1', '--built-ins', 'none', ...reach];
    const before = await HostProcess.start({ data, flags });
    onTestFinished(() => before.kill());
    const places = await installWebhooks(before, 4, (index) => receiver.url(`o${index}`));
    // Slow answers: deliveries are in flight when the service is killed.
    const slow = { verifyEvery: 1, keepsLedger: true, answerWithinMs: 2_000 };
    await shareSecrets(before, places, receiver, slow);
    await before.api('POST', '/events', { events: eventsOf(places, 'before', EVENTS) });
    await expect.poll(async () => (await receiver.progress()).received).toBeGreaterThan(0);
    await before.kill();
    await receiver.endLife();
    expect(await receivedBy(receiver, 'before')).toBeLessThan(EVENTS);

    const { url } = await openTarget(folder);
    const { code, output } = await runCopy(data, url);
    expect({ code, output }).toMatchObject({
      code: 0,
      output: expect.stringMatching(/^deliveries: 400 rows/m),
    });

    await receiver.configure({ ...slow, answerWithinMs: 0 });
    const nodes = [await startNode('a', data, url, flags), await startNode('b', data, url, flags)];
    for (const [index, node] of nodes.entries())
      await node.api('POST', '/events', { events: eventsOf(places, `after-${index}`, 20) });
    await expect.poll(() => receivedBy(receiver, 'after'), { timeout: 60_000 }).toBe(40);
    await expect.poll(() => receivedBy(receiver, 'before'), { timeout: 60_000 }).toBe(EVENTS);
    expect(await receiver.progress()).toMatchObject({ badSignatures: 0 });
  });
});
