/**
 * The README, taken at its word: its walk-through runs line by line in a shell, against the service as `npm start` runs it,
 * and answers what is printed below each line; its tables list what there is, and nothing else.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { configHelp } from '../src/config.ts';
import { OUTCOMES } from '../src/wire.ts';
import { Shell } from './support/shell.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const README = await readFile(join(ROOT, 'README.md'), 'utf8');
const WALK = [README.indexOf('\n## Five minutes'), README.indexOf('\n## The SDK')] as const;
const TOOLS = ['bash', 'curl', 'grep', 'tar'];

/** A block of shell and what the README says it prints; `…` stands for anything. */
interface Step {
  readonly line: number;
  readonly script: string;
  readonly answer: string;
}

const fences = [...README.matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(({ index, 1: language, 2: body }) => ({
  index,
  language,
  body: body?.trim() ?? '',
}));
const inWalk = ({ index }: { index: number }): boolean => index > WALK[0] && index < WALK[1];
const steps: Step[] = fences.flatMap(({ index, language, body }, at) => {
  if (language !== 'sh' || !inWalk({ index })) return [];
  const next = fences[at + 1];
  const line = README.slice(0, index).split('\n').length;
  return [{ line, script: body, answer: next?.language === 'json' ? next.body : '' }];
});

/** The service, started by its own `main.ts` in a folder of its own beside the fixtures. */
let folder: string;
let service: ChildProcess;
let control: string;
let open: string;
let exited: Promise<number | null>;

beforeAll(async () => {
  const home = await mkdtemp(join(tmpdir(), 'annex-readme-'));
  folder = join(home, 'annex');
  await mkdir(folder);
  await symlink(join(ROOT, 'fixtures'), join(folder, 'fixtures'));
  service = spawn(process.execPath, [join(ROOT, 'src/main.ts')], {
    cwd: folder,
    env: {
      ANNEX_CONTROL_PORT: '0',
      ANNEX_PUBLIC_PORT: '0',
      ANNEX_PUBLIC_HOST: '127.0.0.1',
      ANNEX_CELLS: '1',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  exited = new Promise((resolve) => service.once('exit', resolve));
  [control, open] = await listening(service);
});

afterAll(async () => {
  service.kill('SIGTERM');
  await exited;
  await rm(join(folder, '..'), { recursive: true, force: true });
});

/** URLs of the two listeners, from the log line that says the service is ready. */
async function listening({ stdout, stderr }: ChildProcess): Promise<[string, string]> {
  if (stdout === null || stderr === null) throw new Error('The service was started without its output.');
  const complaints = text(stderr);
  return new Promise((resolve, reject) => {
    // Every line is read to the end: a full pipe would hold the service up.
    createInterface(stdout).on('line', (line) => {
      const said = line.startsWith('{') ? (JSON.parse(line) as Record<string, string>) : {};
      if (said['msg'] === 'annex is ready') resolve([said['control'] ?? '', said['public'] ?? '']);
    });
    void exited.then(async (code) => reject(new Error(`Exit code ${code}. ${await complaints}`)));
  });
}

/** The README names the default ports; a machine that runs tests may have them taken. */
const onFreePorts = (printed: string): string =>
  printed.replaceAll('http://127.0.0.1:7700', control).replaceAll('http://127.0.0.1:7701', open);

/** @returns the answer itself where the output fits it, `…` standing for anything on its line; otherwise the output */
function told(output: string, answer: string): string {
  const pattern = answer.split('…').map(RegExp.escape).join('.*?');
  return new RegExp(`^${pattern}$`).test(output) ? answer : output;
}

const missingTools = TOOLS.filter((tool) => spawnSync(tool, ['--version']).error !== undefined);

describe.skipIf(missingTools.length > 0)(`the walk-through (needs ${TOOLS.join(', ')})`, () => {
  let shell: Shell;
  beforeAll(() => {
    shell = new Shell(folder);
  });
  afterAll(() => shell.end());

  test.each(steps)('README.md:$line answers what is printed below it', async (step) => {
    const answer = onFreePorts(step.answer);
    const run = async () => told(await shell.run(onFreePorts(step.script)), answer);
    // A log line can be read a moment after the call; every other step happens once.
    if (step.script.includes('/logs?')) await expect.poll(run).toBe(answer);
    else expect(await run()).toBe(answer);
  });
});

describe('the README', () => {
  test('prints no curl line outside of the walk-through', () => {
    const outside = fences.filter((fence) => fence.body.includes('curl') && !inWalk(fence));
    expect(outside.map(({ body }) => body)).toEqual([]);
  });

  test('lists every route of the API, and no other', async () => {
    const { paths } = (await (await fetch(`${control}/v1/openapi.json`)).json()) as {
      paths: Record<string, Record<string, unknown>>;
    };
    const routes = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const listed = [...README.matchAll(/^\| `([A-Z]+)` \| `(\/v1[^`]*)` \|/gm)];
    expect(listed.map(([, method, path]) => `${method} ${path}`).sort()).toEqual(routes.sort());
  });

  test('lists every metric of calls and cells, and no other', async () => {
    const exposed = (await (await fetch(`${control}/metrics`)).text()).matchAll(/^# TYPE (annex_\w+)/gm);
    const listed = README.matchAll(/^\| `(annex_\w+)` \|/gm);
    expect([...listed].map(([, name]) => name).sort()).toEqual([...exposed].map(([, name]) => name).sort());
  });

  test('lists every setting with its flag and its variable, and no other', () => {
    const settings = [...configHelp().matchAll(/^ +(--\S+) +(ANNEX_\S+)/gm)];
    const listed = [...README.matchAll(/^\| `(--[a-z-]+)` \| `(ANNEX_\w+)` \|/gm)];
    const pairs = (rows: RegExpExecArray[]) => rows.map(([, flag, variable]) => `${flag} ${variable}`);
    expect(pairs(listed)).toEqual(pairs(settings));
  });

  test('lists every outcome of a call, and no other', () => {
    const table = README.slice(README.indexOf('\n## Outcomes'), README.indexOf('\n## Metrics'));
    const listed = [...table.matchAll(/^\| `(\w+)` \|/gm)].map(([, outcome]) => outcome);
    expect(listed).toEqual([...OUTCOMES]);
  });
});
