/**
 * `npm run bench:testing`: how long tests with `@annex/testing` take, with the packed npm packages,
 * installed in an empty folder.
 *
 *   first  from the start of the tests' code to the end of the first test: with service and publish
 *   next   each further test of the process: the same folder, a fresh install, a call
 *
 * Each round is a process of its own. The first rounds fill Node's cache of compiled code, and are
 * not counted; the very first is shown apart. The aims, on a machine that has nothing else to do,
 * are a second and 50 ms.
 */
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildPackages } from '../packages/build.ts';
import { nodeFolders } from '../test/support/packages/nodes.ts';
import { UserFolder } from '../test/support/packages/user-folder.ts';

/** Rounds that fill the cache of compiled code. */
const FILLING = 3;
const ROUNDS = 8;
const NEXT = 20;
const FOLDER = fileURLToPath(new URL('../fixtures/hello', import.meta.url));

const CODE = `
import { load } from '@annex/testing';
const started = performance.now();
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
  Math.round([...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0);

const base = await mkdtemp(join(tmpdir(), 'annex-bench-'));
// Where root runs it, cells run as another user, who has to find Node there.
await chmod(base, 0o755);
try {
  const archives = await buildPackages(join(base, 'dist'));
  const nodes = await nodeFolders(['20', '26'], join(base, 'nodes'));
  const user = await UserFolder.install(join(base, 'user'), archives, nodes.get('20'));
  await writeFile(join(user.path, 'round.mjs'), CODE);
  for (const [major, folder] of nodes) {
    const cache = join(base, `cache-${major}`);
    const rounds: Measured[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const { code, stdout, stderr } = await user.run(['node', 'round.mjs'], folder, {
        XDG_CACHE_HOME: cache,
      });
      if (code !== 0) throw new Error(`A round ended with ${code}: ${stderr}`);
      rounds.push(JSON.parse(stdout) as Measured);
    }
    const [cold] = rounds;
    const warm = rounds.slice(FILLING);
    console.log(
      `Node ${major}: first test ${median(warm.map(({ firstMs }) => firstMs))} ms ` +
        `(with an empty cache ${Math.round(cold?.firstMs ?? 0)} ms), ` +
        `each next one ${median(rounds.flatMap(({ nextMs }) => nextMs))} ms`,
    );
  }
} finally {
  await rm(base, { recursive: true, force: true });
}
