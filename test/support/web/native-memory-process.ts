/**
 * A process that runs code in one isolate of the project, and reports the growth of its memory.
 *
 * `node native-memory-process.ts <MiB of heap> <code>`; prints `{ "grewMib": …, "thrown": … }`.
 */
import { readFileSync, writeSync } from 'node:fs';
import ivm from 'isolated-vm';
import type { Engine } from '../../../src/cell/engine.ts';
import { BlankIsolates } from '../../../src/cell/isolates/blank-isolates.ts';
import { buildCell } from '../../../src/host/launch/cell-build.ts';
import { DEFAULT_LIMITS } from '../../../src/limits.ts';

const [heapMib = '64', code = ''] = process.argv.slice(2);
/** Peak memory of the process, MiB. */
const peakMib = () => Number(/VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) / 1024;

const build = await buildCell();
const sources = build.sources.map((bytes) => Buffer.from(bytes).toString('utf8'));
build.remove();
const limits = { ...DEFAULT_LIMITS, isolateHeapMib: Number(heapMib) };
const blanks = new BlankIsolates({
  engine: ivm as unknown as Engine,
  sources,
  limits,
  inspectable: false,
  onCatastrophe: () => undefined,
});
const { context } = await blanks.take(limits.isolateHeapMib, false);
const before = peakMib();
const thrown = await context
  .eval(`{ let thrown = ''; try { ${code} } catch (error) { thrown = String(error); } thrown }`)
  .catch(String);
writeSync(1, JSON.stringify({ grewMib: Math.round(peakMib() - before), thrown }));
process.kill(process.pid, 'SIGKILL');
