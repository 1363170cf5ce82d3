/**
 * Lifecycle events of several nodes over one database: each has a `LifecycleEvents` and a
 * worker of its own, and none is told what the others commit. Calls of handlers end as the test
 * says. The test advances the time.
 */
import { randomBytes } from 'node:crypto';
import { onTestFinished } from 'vitest';
import type { CallResult } from '../../../src/host/calls/call.ts';
import { Sequence } from '../../../src/host/database/sequence.ts';
import { LifecycleWorker } from '../../../src/host/delivery/lifecycle/lifecycle-worker.ts';
import { Installations } from '../../../src/host/store/installations/installations.ts';
import { LifecycleEvents } from '../../../src/host/store/installations/lifecycle-events.ts';
import { Vault } from '../../../src/host/store/vault/vault.ts';
import { DEFAULT_LIMITS } from '../../../src/limits.ts';
import { type TargetName, wholeInstallation } from '../../../src/model/installation.ts';
import { VirtualTime } from '../deliveries/delivery-worker.ts';
import { publication } from './installed.ts';
import { NO_NOTICES, registryOver } from './targets.ts';
import { OPERATOR, temporaryFolder } from './temporary-store.ts';
import { openTestDatabase } from './test-engine.ts';

export const ANSWERED: CallResult = {
  outcome: 'ok',
  response: { status: 200, headers: [], body: Buffer.alloc(0) },
};

/** What a call for an event ends with. */
type Handler = (call: {
  readonly installationId: string;
  readonly eventId: string;
}) => Promise<CallResult> | CallResult;

export async function sharedLifecycleEvents() {
  const time = new VirtualTime();
  const folder = await temporaryFolder({ inMemory: true });
  const database = await openTestDatabase(folder);
  onTestFinished(() => database.destroy());
  const vault = new Vault([randomBytes(32)], randomBytes);
  const parts = { database, vault, wallNow: time.wallNow, randomBytes, limits: DEFAULT_LIMITS };
  const { registry, targets, changes } = registryOver(database, vault);
  const installations = new Installations({
    ...parts,
    auditIds: new Sequence(randomBytes),
    productNotices: NO_NOTICES,
    changed: (id, organization) => void changes.emit('installation', id, organization),
    removed: (ids) => void changes.emit('removed', ...ids),
  });
  await registry.publish(publication(), OPERATOR);
  let organizations = 0;

  return {
    time,
    installations,
    /** Installs into another organization. @returns the id; one event is pending */
    async install(): Promise<string> {
      organizations += 1;
      const request = { integration: 'hello', organization: `o${organizations}`, externalIds: [] };
      return (await installations.install(request, OPERATOR)).installationId;
    },
    /** Adds an event. */
    edit: (installationId: string, count: number) =>
      installations.edit(wholeInstallation(installationId), { configuration: { count } }, {}, OPERATOR),
    pause: (name: TargetName) => installations.pause(name, OPERATOR),
    resume: (name: TargetName) => installations.resume(name, OPERATOR),
    uninstall: (name: TargetName) => installations.uninstall(name, OPERATOR),
    /** The events as one more node sees them. */
    events: () => new LifecycleEvents(parts),
    /** A worker of one more node. */
    worker(handle: Handler, { isShared = true } = {}): LifecycleWorker {
      const worker = new LifecycleWorker({
        events: new LifecycleEvents(parts),
        targets,
        dispatch: {
          call: async ({ installationId = '' }, _envelope, eventId) => handle({ installationId, eventId }),
        },
        callLog: { log: () => undefined },
        wallNow: time.wallNow,
        monotonicNow: time.monotonicNow,
        after: time.after,
        random: () => 0.5,
        isShared,
        settled: () => undefined,
        onError(error) {
          throw error;
        },
      });
      onTestFinished(() => worker.stop());
      return worker;
    },
  };
}
