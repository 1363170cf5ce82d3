/**
 * `npm run bench:journey`: what a new author does, from an empty folder on, with the packed npm
 * packages, and how long each step takes: install, serve, new, edit, check, publish there and to a
 * second service, tail. Once on each version of Node.
 *
 *   --node 20,22,26   versions of Node
 */
import { appendFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { buildPackages } from '../packages/build.ts';
import { nodeFolders } from '../test/support/packages/nodes.ts';
import { type Served, UserFolder } from '../test/support/packages/user-folder.ts';

const { values } = parseArgs({ options: { node: { type: 'string', default: '20,22,26' } } });
const majors = values.node.split(',');

/** Prints how long a step takes. */
async function step<T>(what: string, work: () => Promise<T>): Promise<T> {
  const startedAt = performance.now();
  const result = await work();
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
  process.stdout.write(`  ${seconds.padStart(6)} s  ${what}\n`);
  return result;
}

class Author {
  readonly #user: UserFolder;
  readonly #node: string;

  constructor(user: UserFolder, node: string) {
    this.#user = user;
    this.#node = node;
  }

  serve(name: string): Promise<Served> {
    return this.#user.serve(name, this.#node, [join(this.#user.path, 'node_modules/.bin/annex')]);
  }

  /** Runs `npx annex …` against a service. @throws an Error with what it printed */
  async annex(words: readonly string[], service?: Served): Promise<string> {
    const line = ['npx', 'annex', ...words];
    const { code, stdout, stderr } = await this.#user.run(line, this.#node, service && variables(service));
    if (code !== 0) throw new Error(`${line.join(' ')} ended with ${code}: ${stdout}${stderr}`);
    return stdout;
  }

  edit(): Promise<void> {
    return appendFile(join(this.#user.path, 'hello/src/index.ts'), "\nconsole.log('edited');\n");
  }

  /** Follows the log until it has the line of a call. */
  async tail(installation: string, endpoint: string, service: Served): Promise<void> {
    const words = ['npx', 'annex', 'tail', installation];
    const child = this.#user.start(words, this.#node, variables(service));
    try {
      await fetch(endpoint);
      for await (const line of createInterface(child.stdout)) if (line.includes('edited')) return;
      throw new Error('annex tail ended without the line.');
    } finally {
      child.kill('SIGINT');
    }
  }
}

const variables = ({ control, adminToken }: Served) => ({ ANNEX_URL: control, ANNEX_TOKEN: adminToken });

async function journey(base: string, archives: readonly string[], node: string): Promise<void> {
  const path = join(base, 'user');
  const user = await step('npm install the three packages', () => UserFolder.install(path, archives, node));
  const author = new Author(user, node);
  const [first, second] = [
    await step('npx annex serve', () => author.serve('data')),
    await step('npx annex serve, a second service', () => author.serve('second')),
  ];
  try {
    await step('npx annex new hello', () => author.annex(['new', 'hello']));
    await step('edit', () => author.edit());
    await step('npx annex check hello', () => author.annex(['check', 'hello'], first));
    const publish = ['publish', 'hello', '--install', 'acme', '--json'];
    const published = await step('npx annex publish hello', () => author.annex(publish, first));
    await step('npx annex publish hello, to the second service', () => author.annex(publish, second));
    const { installation } = JSON.parse(published) as {
      installation: { id: string; publicEndpoint: string };
    };
    await step('npx annex tail, until a call is in it', () =>
      author.tail(installation.id, installation.publicEndpoint, first),
    );
  } finally {
    const [stopped] = await step('stop both', () =>
      Promise.all([first.stop('SIGTERM'), second.stop('SIGTERM')]),
    );
    process.stdout.write(`  exit code ${stopped.code}\n`);
  }
}

const base = await mkdtemp(join(tmpdir(), 'annex-journey-'));
try {
  const archives = await step('npm run packages', () => buildPackages(join(base, 'dist')));
  const nodes = await step('Nodes of npm', () => nodeFolders(majors, join(base, 'nodes')));
  const { version } = JSON.parse(await readFile('package.json', 'utf8')) as { version: string };
  for (const [major, node] of nodes) {
    process.stdout.write(`\nannex ${version} on Node ${major}\n`);
    await journey(join(base, `on-${major}`), archives, node);
  }
} finally {
  await rm(base, { recursive: true, force: true });
}
