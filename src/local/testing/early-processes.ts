/**
 * Finds out how cells and bundlers of the test service are confined while the code of the service
 * is being loaded: each takes a good part of the start. Imports as little as it can.
 */
import { readConfig } from '../../host/config.ts';
import { buildCell } from '../../host/launch/cell-build.ts';
import { confineProcesses, type Processes } from '../../host/service-processes.ts';

/** Flags of the test service beside its folder and its ports. */
export const TEST_SERVICE_FLAGS = ['--built-ins', 'none', '--cells', '1', '--webhook-http', 'allow'];

export interface EarlyProcesses {
  /** Rejects where the sandbox is not possible here. */
  readonly confined: Promise<Processes>;
}

/** Resolves when the self-tests run: loading code would keep their processes from starting. */
export async function earlyProcesses(): Promise<EarlyProcesses> {
  const confined = confineProcesses(readConfig(TEST_SERVICE_FLAGS, {}), await buildCell());
  // The start of the service waits for it, and reports it.
  confined.catch(() => undefined);
  return { confined };
}
