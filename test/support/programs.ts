/**
 * The programs that tests start and that a bare machine lacks: one table. A test that needs one
 * says so with `needs`; where the program is missing, the test is skipped, and the run ends with a
 * list (`vitest/end-of-run.ts`). With `CI=true` nothing may be missing, except in a run that says
 * with `ANNEX_TEST_BARE=true` that its machine is bare.
 *
 * As a program, it prints for `.ci/run` the `packages` that are missing, or the `files` of these
 * tests.
 */
import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestOptions } from 'vitest';

declare module 'vitest' {
  interface TaskMeta {
    /** Programs for which a test was skipped. */
    missing?: readonly ProgramName[];
  }
}

interface Program {
  /** Debian's package. */
  readonly package: string;
  /** What it is needed for. */
  readonly use: string;
  /** Where it is: on the `PATH`, unless the table says otherwise. */
  readonly find?: () => string | undefined;
  /** Arguments with which it exits with 0 where it works: being installed is no permission. */
  readonly works?: readonly string[];
}

export const PROGRAMS = {
  bwrap: {
    package: 'bubblewrap',
    use: 'cells in bubblewrap, and a machine without a library',
    works: ['--dev-bind', '/', '/', 'true'],
  },
  chromium: { package: 'chromium', use: 'pages in a browser' },
  curl: { package: 'curl', use: 'the walk-throughs of the documentation' },
  fish: { package: 'fish', use: 'its completions' },
  go: { package: 'golang-go', use: 'the example receiver', works: ['version'] },
  grep: { package: 'grep', use: 'the walk-throughs of the documentation' },
  mount: { package: 'mount', use: 'a disk that is full' },
  nginx: { package: 'nginx-light', use: 'the configuration of the load balancer' },
  openssl: { package: 'openssl', use: 'signatures in a shell' },
  perl: { package: 'perl-base', use: 'native code in the place of a cell' },
  pgbouncer: { package: 'pgbouncer', use: 'nodes behind a pooler' },
  php: { package: 'php-cli', use: 'the example receiver', works: ['--version'] },
  postgres: {
    package: 'postgresql',
    use: 'stores and services on PostgreSQL, and several nodes',
    find: () => postgresFolder() && join(postgresFolder() ?? '', 'postgres'),
  },
  python3: { package: 'python3', use: 'the example receiver', works: ['--version'] },
  ruby: {
    package: 'ruby',
    use: 'the example receiver',
    works: ['-e', 'require "webrick"; require "openssl"'],
  },
  script: { package: 'bsdutils', use: 'a command at a real terminal' },
  strace: { package: 'strace', use: 'system calls', works: ['-o', '/dev/null', 'true'] },
  zsh: { package: 'zsh', use: 'its completions' },
} as const satisfies Record<string, Program>;

export type ProgramName = keyof typeof PROGRAMS;

const NAMES = Object.keys(PROGRAMS) as ProgramName[];
/** Whether the machine of this run has nothing but its `PATH`. */
const isBare = process.env['ANNEX_TEST_BARE'] === 'true';

const onPath = (name: string): string | undefined =>
  (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find(isExecutable);

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

const DEBIAN_POSTGRES = '/usr/lib/postgresql';

/**
 * Folder of `initdb` and `postgres`, of the newest version; undefined if there is none. Debian
 * keeps them in a folder for each version, outside of the `PATH`: a bare machine has none.
 */
export function postgresFolder(): string | undefined {
  const versions = !isBare && existsSync(DEBIAN_POSTGRES) ? readdirSync(DEBIAN_POSTGRES) : [];
  const folders = versions
    .toSorted((one, other) => Number(other) - Number(one))
    .map((version) => join(DEBIAN_POSTGRES, version, 'bin'));
  return [...folders, ...(process.env['PATH'] ?? '').split(delimiter)].find((folder) =>
    ['initdb', 'postgres'].every((name) => isExecutable(join(folder, name))),
  );
}

const found = new Map<ProgramName, string | undefined>();

/** The path of a program that is there and works; undefined where there is none. */
export function pathOf(name: ProgramName): string | undefined {
  if (!found.has(name)) {
    const { find = () => onPath(name), works }: Program = PROGRAMS[name];
    const path = find();
    const isFit = path !== undefined && (!works || spawnSync(path, works, { stdio: 'ignore' }).status === 0);
    found.set(name, isFit ? path : undefined);
  }
  return found.get(name);
}

/**
 * Those of the programs that are missing.
 *
 * @throws in continuous integration (`CI=true`), where nothing may be left out
 */
export function missing(...names: readonly ProgramName[]): ProgramName[] {
  const absent = names.filter((name) => pathOf(name) === undefined);
  if (absent.length > 0 && process.env['CI'] === 'true' && !isBare)
    throw new Error(`Tests need ${absent.join(' and ')}: install ${packagesOf(absent)}.`);
  return absent;
}

/** Options of a test or a suite that needs programs: it is skipped where one is missing. */
export function needs(...names: readonly ProgramName[]): TestOptions {
  const absent = missing(...names);
  return absent.length > 0 ? { skip: true, meta: { missing: absent } } : {};
}

/** What has to be installed for programs. */
export const packagesOf = (names: readonly ProgramName[]): string =>
  names.map((name) => PROGRAMS[name].package).join(' ');

/** The test files that need a program, or start one that a bare machine has. */
export const filesInNeed = (root = '.'): string[] =>
  globSync('test/**/*.test.ts', { cwd: root })
    .filter((path) => /\bneeds\(|(spawn|execFile)(Sync)?\)?\('/.test(readFileSync(join(root, path), 'utf8')))
    .sort();

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [what] = process.argv.slice(2);
  const absent = NAMES.filter((name) => pathOf(name) === undefined);
  console.log(what === 'packages' ? packagesOf(absent) : filesInNeed().join(' '));
}
