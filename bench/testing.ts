/**
 * `npm run bench:testing`: how long tests with `@annex/testing` take.
 *
 *   first  from the start of a process to the end of its first test: with service and publish
 *   next   each further test of the process: the same folder, a fresh install, a call
 *
 * Each round is a process of its own. The aims, on a machine that has nothing else to do, are a
 * second and 50 ms.
 */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROUNDS = 5;
const NEXT = 20;
const FOLDER = fileURLToPath(new URL('../fixtures/hello', import.meta.url));

const CODE = `
const started = performance.now();
const { load } = await import(${JSON.stringify(new URL('../packages/testing/src/index.ts', import.meta.url).href)});
async function test() {
  const installation = await (await load(${JSON.stringify(FOLDER)})).install();
  const { status } = await installation.fetch('/');
  if (status !== 200) throw new Error('The call answered ' + status);
}
await test();
const firstMs = performance.now() - started;
const nextMs = [];
for (let at = 0; at < ${NEXT}; at += 1) {
  const from = performance.now();
  await test();
  nextMs.push(performance.now() - from);
}
console.log(JSON.stringify({ firstMs, nextMs }));
`;

interface Measured {
  readonly firstMs: number;
  readonly nextMs: readonly number[];
}

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

const rounds: Measured[] = [];
for (let round = 0; round < ROUNDS; round += 1) {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', CODE]);
  rounds.push(JSON.parse(stdout) as Measured);
}
console.table({
  first: { 'median ms': Math.round(median(rounds.map(({ firstMs }) => firstMs))) },
  next: { 'median ms': Math.round(median(rounds.flatMap(({ nextMs }) => nextMs))) },
});
