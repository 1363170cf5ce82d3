/**
 * The peers: programs of npm that do the same work. They are no dependencies of Annex: the first
 * benchmark that needs them installs them in `bench/`.
 */
import { type ChildProcess, execFileSync, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { LedgerReceiver } from '../../test/support/receivers/ledger-receiver.ts';
import { feed } from '../feed.ts';
import type { Round } from '../figures.ts';
import { type QueueServer, startPostgres, startRedis } from '../servers.ts';
import { type Delivered, delivered, VERIFY_EVERY } from '../webhooks.ts';
import type { PeerSettings } from './peer.ts';

const FOLDER = fileURLToPath(new URL('../', import.meta.url));
const URLS = 60;
const IN_FLIGHT = 256;
const SECRET = 'a secret that both sides of the peers know.';

let absence: string | undefined | null = null;

/** Installs the peers where they are not. @returns why they are missing */
export function missingPeers(): string | undefined {
  if (absence === null) absence = install();
  return absence;
}

function install(): string | undefined {
  const json = (path: string) => JSON.parse(readFileSync(join(FOLDER, path), 'utf8'));
  const { dependencies } = json('package.json') as { dependencies: Record<string, string> };
  const isThere = ([name, version]: [string, string]) => {
    try {
      return json(`node_modules/${name}/package.json`).version === version;
    } catch {
      return false;
    }
  };
  if (Object.entries(dependencies).every(isThere)) return undefined;
  console.error(`Installing the peers in bench/, once: ${Object.keys(dependencies).join(', ')}.`);
  try {
    const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
    execFileSync('npm', ['ci', ...flags], { cwd: FOLDER, stdio: ['ignore', 'ignore', 'inherit'] });
    return undefined;
  } catch {
    return 'the peers cannot be installed here: `npm ci` in bench/ fails';
  }
}

export interface Workerd {
  readonly pid: number;
  readonly url: URL;
  /** Milliseconds from its start until it listened. */
  readonly startMs: number;
  end(): Promise<void>;
}

/**
 * Starts one process of workerd, with one worker.
 *
 * @param worker its module, which may load others with `env.LOADER`
 * @param application text that it may import as `application`
 */
export async function startWorkerd(worker: string, application = ''): Promise<Workerd> {
  const folder = await mkdtemp(join(tmpdir(), 'annex-workerd-'));
  await writeFile(join(folder, 'worker.js'), worker);
  await writeFile(join(folder, 'application.js'), application);
  await writeFile(join(folder, 'config.capnp'), CONFIG);
  const program = join(FOLDER, `node_modules/@cloudflare/workerd-linux-${ARCHITECTURE}/bin/workerd`);
  const startedAt = performance.now();
  const flags = ['serve', '--experimental', '--control-fd=1', join(folder, 'config.capnp')];
  const child = spawn(program, flags, { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  const startMs = performance.now() - startedAt;
  const { port } = JSON.parse(line) as { port: number };
  return {
    ...{ pid: child.pid ?? 0, url: new URL(`http://127.0.0.1:${port}/`), startMs },
    end: async () => {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Runs `work` with a process of workerd. @returns undefined where the peers are missing */
export async function withWorkerd<T>(
  [worker, application]: readonly [worker: string, application?: string],
  work: (workerd: Workerd) => Promise<T>,
): Promise<T | undefined> {
  if (missingPeers() !== undefined) return undefined;
  const workerd = await startWorkerd(worker, application);
  try {
    return await work(workerd);
  } finally {
    await workerd.end();
  }
}

const ARCHITECTURE = process.arch === 'x64' ? '64' : process.arch;
const CONFIG = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .main)],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")]
);
const main :Workerd.Worker = (
  compatibilityDate = "2026-11-01",
  bindings = [(name = "LOADER", workerLoader = (id = "loader"))],
  modules = [
    (name = "worker", esModule = embed "worker.js"),
    (name = "application", text = embed "application.js")
  ]
);
`;

const QUEUES = {
  bullmq: ['Redis', 'redis-server', () => startRedis('always')],
  'pg-boss': ['PostgreSQL', 'postgresql', () => startPostgres()],
  'graphile-worker': ['PostgreSQL', 'postgresql', () => startPostgres()],
} as const;

/** What a queue has delivered, or why it is not measured. */
export type Measured = { readonly delivered: Delivered } | { readonly missing: string };

/**
 * Lets a queue post signed webhooks: its producer and its worker are a process each, with a new
 * server. There is no ingest over HTTP, and there are no isolates.
 */
export async function measureQueue(
  queue: keyof typeof QUEUES,
  receiver: LedgerReceiver,
  round: Round,
): Promise<Measured> {
  const missing = missingPeers();
  if (missing !== undefined) return { missing };
  const [name, debian, startServer] = QUEUES[queue];
  const server = await startServer();
  if (server === undefined) return { missing: noServer(name, debian) };
  const settings = { verifyEvery: VERIFY_EVERY, keepsLedger: false, answerWithinMs: 0 };
  await receiver.configure({ ...settings, secrets: { '*': [SECRET] } });
  return { delivered: await run(queue, server, receiver, round) };
}

export const noServer = (name = 'PostgreSQL', debian = 'postgresql'): string =>
  `${name} is not installed (apt-get install ${debian})`;

async function run(
  queue: string,
  server: QueueServer,
  receiver: LedgerReceiver,
  round: Round,
): Promise<Delivered> {
  const urls = Array.from({ length: URLS }, (_, index) => receiver.url(`peer${index}`));
  const children: ChildProcess[] = [];
  const start = (role: PeerSettings['role']): ChildProcess => {
    const settings: PeerSettings = { role, socket: server.socket, secret: SECRET, urls, inFlight: IN_FLIGHT };
    const child = fork(join(FOLDER, `peers/${queue}.ts`), [JSON.stringify(settings)]);
    children.push(child);
    return child;
  };
  try {
    await once(start('work'), 'message');
    const { received } = await receiver.progress();
    const endFeed = feed([{ producer: start('produce'), acknowledged: () => 0 }], receiver, received);
    const pids = children.map(({ pid = 0 }) => pid);
    return await delivered({ receiver, pids, server: server.pid }, round).finally(endFeed);
  } finally {
    for (const child of children) child.kill('SIGKILL');
    await server.stop();
  }
}
