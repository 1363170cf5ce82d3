/** The process that an operator runs: first start, settings, orderly stop. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { BUNDLED } from '../../src/libraries.ts';
import { filesIn, read } from '../support/repository/sources.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

interface Running {
  readonly child: ChildProcess;
  readonly output: () => string;
  /** The URLs that it prints when it listens. */
  readonly ready: Promise<{ control: string; public: string }>;
  readonly exited: Promise<number | null>;
}

function start(flags: string[], env: NodeJS.ProcessEnv = {}): Running {
  const child = spawn(process.execPath, [MAIN, ...flags], {
    env: { ...process.env, ...env },
    // A process group of its own, as a terminal gives it.
    detached: true,
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let output = '';
  const { promise: ready, resolve } = Promise.withResolvers<{ control: string; public: string }>();
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      const line = output.split('\n').find((candidate) => candidate.includes('"annex is ready"'));
      if (line) resolve(JSON.parse(line));
    });
  }
  const exited = new Promise<number | null>((done) => child.once('close', done));
  return { child, output: () => output, ready, exited };
}

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'annex-process-'));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return join(path, 'data');
}

const free = (data: string): string[] => [
  '--data',
  data,
  '--control-port',
  '0',
  '--public-port',
  '0',
  '--public-host',
  '127.0.0.1',
  '--cells',
  '1',
  // Bundling them would be half of each start.
  '--built-ins',
  'none',
];

test('the first start makes an admin token, prints it once and keeps it where only the owner can read it', async () => {
  const data = await folder();
  const first = start(free(data));
  const { control } = await first.ready;
  const file = join(data, 'admin-token');
  const token = (await readFile(file, 'utf8')).trim();
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(first.output().split(token)).toHaveLength(2);
  const authorization = `Bearer ${token}`;
  expect((await fetch(`${control}/v1/tokens`, { headers: { authorization } })).status).toBe(200);
  first.child.kill('SIGTERM');
  expect(await first.exited).toBe(0);
  expect(first.output().trimEnd().split('\n').at(-1)).toContain('"stopped"');

  const second = start(free(data));
  const again = await second.ready;
  expect(second.output()).not.toContain('annex_admin_');
  expect((await fetch(`${again.control}/v1/tokens`, { headers: { authorization } })).status).toBe(200);
  second.child.kill('SIGTERM');
  expect(await second.exited).toBe(0);
  for (const path of ['annex.db', 'annex.db-wal']) {
    const bytes = await readFile(join(data, path)).catch(() => Buffer.alloc(0));
    expect(bytes.includes(token)).toBe(false);
  }
});

// Ctrl-C, and a supervisor that stops a whole group, signal the cells, too: these must not end
// before the host has ended.
test.each([
  ['SIGTERM to the host', 'SIGTERM', 1, []],
  ['SIGINT to all its processes', 'SIGINT', -1, []],
  ['SIGTERM to all its processes, without bubblewrap', 'SIGTERM', -1, ['--cell-sandbox', 'off']],
] as const)('%s lets the call in flight finish, then exits 0', async (_what, signal, whom, flags) => {
  const data = await folder();
  const annex = start([...free(data), ...flags]);
  const { control } = await annex.ready;
  const headers = { authorization: `Bearer ${(await readFile(join(data, 'admin-token'), 'utf8')).trim()}` };
  const form = new FormData();
  form.append(
    'manifest',
    'name: slow\ntitle: Slow\ndescription: Takes its time.\norganization: acme\nvisibility: public\nscopes: []\nscript: index.js\n',
  );
  const source =
    'export default { async fetch() { await new Promise((done) => setTimeout(done, 1_000)); return new Response("late, but complete"); } };';
  form.append('files', new Blob([source]), 'index.js');
  expect((await fetch(`${control}/v1/integrations`, { method: 'POST', headers, body: form })).status).toBe(
    201,
  );
  const installed = await fetch(`${control}/v1/integrations/slow/installations`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: '{"organization":"acme"}',
  });
  const { urls } = (await installed.json()) as { urls: { publicEndpoint: string } };
  const metrics = async () => (await fetch(`${control}/metrics`)).text();
  // The lifecycle event was delivered, so the call in flight is that of the request.
  await expect.poll(metrics).toContain('annex_calls_total{outcome="ok"} 1');
  const answer = fetch(urls.publicEndpoint);
  await expect.poll(metrics).toContain('annex_calls_in_flight 1');
  process.kill(whom * (annex.child.pid ?? Number.NaN), signal);
  expect(await (await answer).text()).toBe('late, but complete');
  expect(await annex.exited).toBe(0);
});

test('all mistakes in the settings are named at once, and nothing is started', async () => {
  const wrong = start(['--control-port', '70000', '--cells', 'many', '--public-url', 'ftp://x'], {
    ANNEX_LIMIT_CALL_CPU_MS: '-1',
    ANNEX_LIMIT_CALL_CPU: '5',
    ANNEX_EGRES_DENY: 'planted-value',
    // Kubernetes sets these where a service has this name.
    ANNEX_SERVICE_HOST: '10.0.0.1',
    ANNEX_SERVICE_PORT_HTTP: '7701',
    ANNEX_PORT: 'tcp://10.0.0.1:7701',
    ANNEX_PORT_7701_TCP_ADDR: '10.0.0.1',
  });
  expect(await wrong.exited).toBe(2);
  for (const name of [
    '--control-port',
    '--cells',
    '--public-url',
    'ANNEX_LIMIT_CALL_CPU_MS',
    'ANNEX_LIMIT_CALL_CPU ',
  ]) {
    expect(wrong.output()).toContain(name);
  }
  expect(wrong.output()).toContain(
    'ANNEX_EGRES_DENY is not the name of a setting (did you mean ANNEX_EGRESS_DENY?).',
  );
  for (const name of ['planted-value', 'ANNEX_SERVICE', 'ANNEX_PORT'])
    expect(wrong.output()).not.toContain(name);
});

test('a mistyped flag is refused, and --help lists the right ones', async () => {
  const mistyped = start(['--prot', '1']);
  expect(await mistyped.exited).toBe(2);
  expect(mistyped.output()).toContain("'--prot'");
  const help = start(['--help']);
  expect(await help.exited).toBe(0);
  expect(help.output()).toContain('--control-port');
});

test('a data folder that another process has open is refused', async () => {
  const data = await folder();
  const first = start(free(data));
  await first.ready;
  const second = start(free(data));
  expect(await second.exited).toBe(1);
  expect(second.output()).toContain(`another process has the data folder open: ${data} (--data)`);
});

test('a port that is taken ends the start with its number, and leaves nothing running', async () => {
  const data = await folder();
  const first = start(free(data));
  const port = new URL((await first.ready).control).port;
  const second = start([...free(await folder()), '--control-port', port]);
  expect(await second.exited).toBe(1);
  expect(second.output()).toContain(`--control-port: port ${port} is in use`);
});

test('an impossible data folder or key file is named with its flag', async () => {
  const data = await folder();
  const isFile = start(['--data', MAIN]);
  expect(await isFile.exited).toBe(1);
  expect(isFile.output()).toContain(`the data folder ${MAIN} is a file; name a folder (--data)`);
  const nowhere = join(data, 'none', 'keys');
  const missing = start([...free(data), '--vault-key-file', nowhere]);
  expect(await missing.exited).toBe(1);
  expect(missing.output()).toContain(`${nowhere} cannot be made`);
  expect(missing.output()).toContain('(--vault-key-file)');
});

test('a start with a damaged log fails with advice, and --accept-loss starts and keeps the log', async () => {
  const data = await folder();
  const first = start(free(data));
  await first.ready;
  first.child.kill('SIGKILL');
  await first.exited;
  const wal = join(data, 'annex.db-wal');
  const bytes = await readFile(wal);
  bytes.writeUInt8(bytes.readUInt8(20) ^ 1, 20);
  await writeFile(wal, bytes);

  const refused = start(free(data));
  expect(await refused.exited).toBe(1);
  expect(refused.output()).toContain(`${wal}, the write-ahead log of the database, is damaged`);
  expect(refused.output()).toContain('--accept-loss');
  // No variable: it would hold for later starts, too.
  const byVariable = start(free(data), { ANNEX_ACCEPT_LOSS: 'true' });
  expect(await byVariable.exited).toBe(2);
  expect(byVariable.output()).toContain('ANNEX_ACCEPT_LOSS is not the name of a setting');

  const accepted = start([...free(data), '--accept-loss']);
  await accepted.ready;
  expect(accepted.output()).toContain('The loss is accepted');
  expect((await readdir(data)).filter((name) => name.startsWith('annex.db-wal.damaged-'))).toHaveLength(1);
  accepted.child.kill('SIGTERM');
  expect(await accepted.exited).toBe(0);
});

test('libraries of many files are loaded as one file each, and once', async () => {
  const names = [...BUNDLED];
  const code = `
    const { useBundledLibraries } = await import(${JSON.stringify(join(MAIN, '../libraries.ts'))});
    await useBundledLibraries();
    for (const name of ${JSON.stringify(names)}) {
      const found = import.meta.resolve(name);
      console.log(found.includes('/libraries-'), Object.keys(await import(name)).length > 1);
    }`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', code]);
  const lines = (await child.stdout.setEncoding('utf8').toArray()).join('').trim().split('\n');
  expect(lines).toEqual(names.map(() => 'true true'));
  // Another path of theirs would be loaded from the package, as a second copy.
  const imported = filesIn('src').flatMap((file) =>
    [...read(file).matchAll(/from '((?:typebox|kysely)[^']*)'/g)].map(([, name]) => name),
  );
  expect([...new Set(imported)].sort()).toEqual(names.sort());
});
