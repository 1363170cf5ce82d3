/**
 * `npm run bench:dev`: how long it takes from a save until the endpoint answers with it. An
 * `annex dev` watches a new folder of the template `hello`; each round writes its file and polls.
 *
 *   --rounds 50   number of saves
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { annex } from '../test/support/cli/annex-run.ts';
import { DevProcess } from '../test/support/cli/dev-process.ts';

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '50' } } });
const POLL_MS = 5;
/** An author thinks between two saves; the next bundler starts meanwhile. */
const PAUSE_MS = 1_000;
const ROUND_MS_MAX = 30_000;

async function untilAnswered(endpoint: string, text: string): Promise<number> {
  const startedAt = performance.now();
  for (;;) {
    const answer = await (await fetch(endpoint)).text();
    const ms = performance.now() - startedAt;
    if (answer.includes(text)) return ms;
    if (ms > ROUND_MS_MAX) throw new Error(`Not live after ${ROUND_MS_MAX} ms: ${answer}`);
    await setTimeout(POLL_MS);
  }
}

const at = (sorted: readonly number[], share: number): number =>
  Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0);

const base = await mkdtemp(join(tmpdir(), 'annex-dev-loop-'));
const folder = join(base, 'hello');
await annex({ words: ['new', 'hello', folder] });
const file = join(folder, 'src/index.ts');
const source = await readFile(file, 'utf8');
const dev = new DevProcess(folder);
try {
  const { endpoint } = await dev.next('live');
  await fetch(endpoint);
  const times: number[] = [];
  for (let round = 1; round <= Number(values.rounds); round += 1) {
    await setTimeout(PAUSE_MS);
    const saved = source.replace("?? 'world'", `?? 'save ${round}.'`);
    await writeFile(file, saved);
    times.push(await untilAnswered(endpoint, `save ${round}.`));
  }
  times.sort((one, other) => one - other);
  process.stdout.write(
    `${times.length} saves live: p50 ${at(times, 0.5)} ms, p95 ${at(times, 0.95)} ms, longest ${at(times, 1)} ms\n`,
  );
} finally {
  await dev.stop();
  await rm(base, { recursive: true, force: true });
}
