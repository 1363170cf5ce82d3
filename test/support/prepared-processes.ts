/**
 * What the cells and bundlers of services start from, prepared once in a process of the tests:
 * services with equal settings share it. The start of each would build the same folder and find out
 * the same layers again, which takes two processes.
 */
import type { Config } from '../../src/host/config.ts';
import { hardeningOf, type Processes, prepareProcesses } from '../../src/host/service-processes.ts';
import { cellSources } from './built-once.ts';

/** By their settings. */
const prepared = new Map<string, Promise<Processes>>();

/** @throws an Error that says what is missing where the settings require a layer */
export function preparedProcesses(config: Config): Promise<Processes> {
  const key = JSON.stringify(hardeningOf(config));
  const known = prepared.get(key);
  if (known !== undefined) return known;
  const made = cellSources().then((sources) => prepareProcesses(config, sources));
  prepared.set(key, made);
  made.then(
    ({ build }) => process.once('exit', () => build.remove()),
    () => prepared.delete(key),
  );
  return made;
}
