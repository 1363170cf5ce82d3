/**
 * A crash between any two statements of a change leaves all of it or nothing: each change of the
 * store is made in a process of its own, which is killed after its first statement, after its
 * second, and so on until it completes. The content of the store after the next start is compared
 * byte by byte.
 */
import { execFile } from 'node:child_process';
import { copyFile, cp, mkdtemp, rm, symlink } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CHANGES, fill, open } from '../support/store/store-changes.ts';
import { memory } from '../support/store/temporary-store.ts';

const CRASH_PROCESS = fileURLToPath(new URL('../support/crash/crash-process.ts', import.meta.url));
const PACKAGE = fileURLToPath(new URL('../../package.json', import.meta.url));

let root = '';
const filled = () => join(root, 'filled');
const crashScript = () => join(root, 'crash-process.mjs');

beforeAll(async () => {
  // In memory: writes of a killed process survive it on any file system.
  root = await mkdtemp(join(memory(), 'annex-crash-'));
  const store = await open(filled(), 'fill');
  await fill(store);
  await store.close();
  // The program reads its version from the nearest one.
  await copyFile(PACKAGE, join(root, 'package.json'));
  // Parts of a dependency that have no types are required by their paths.
  await symlink(join(dirname(PACKAGE), 'node_modules'), join(root, 'node_modules'));
  // Hundreds of processes run it: as one file without types, each starts in half the time.
  await build({
    entryPoints: [CRASH_PROCESS],
    outfile: crashScript(),
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'esnext',
    // For dependencies that are CommonJS.
    banner: {
      js: `import { createRequire as requireIn } from 'node:module'; const require = requireIn(import.meta.url);`,
    },
  });
});
afterAll(() => rm(root, { recursive: true, force: true }));

interface Ended {
  readonly signal: string | null;
  readonly statements: readonly string[];
}

/** Makes a change in a process that is killed after so many statements; with 0 it survives. */
function makeChange(folder: string, change: string, killAfter: number): Promise<Ended> {
  const args = [crashScript(), folder, change, String(killAfter)];
  const env = { ...process.env, NODE_COMPILE_CACHE: join(root, 'compiled') };
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, { env }, (error, stdout, stderr) => {
      if (error !== null && error.signal !== 'SIGKILL') reject(new Error(stderr, { cause: error }));
      else resolve({ signal: error?.signal ?? null, statements: stdout === '' ? [] : JSON.parse(stdout) });
    });
  });
}

type Content = Readonly<Record<string, readonly string[]>>;

/**
 * Opens the store as the next start would, then reads every row of every table, but of what each
 * start has counted of itself.
 */
async function contentOf(folder: string): Promise<Content> {
  await (await open(folder, 'reopen')).close();
  const database = new DatabaseSync(join(folder, 'annex.db'), { readOnly: true });
  const tables = database
    .prepare(
      `select name from sqlite_master where type = 'table' and name not in ('activity') and name not like 'kysely%' order by name`,
    )
    .all()
    .map((row) => String(row['name']));
  // Log lines of deleted installations cannot be read; they are removed after the commit, or by the
  // next sweep.
  const readable = 'where installation_id in (select installation_id from targets)';
  const rowsOf = (table: string) =>
    database
      .prepare(`select * from ${table} ${table === 'log_lines' ? readable : ''}`)
      .all()
      .map((row) => JSON.stringify(row))
      .sort();
  const content = Object.fromEntries(tables.map((table) => [table, rowsOf(table)]));
  database.close();
  return content;
}

/** A copy of the filled store, for one process. */
async function copy(name: string): Promise<string> {
  const folder = join(root, name);
  await cp(filled(), folder, { recursive: true });
  return folder;
}

/** After how many statements each transaction of a change is committed. */
function commits(statements: readonly string[]): number[] {
  const of = statements.flatMap((sql, index) => (sql === 'commit' ? [index + 1] : []));
  if (of.length > 0) return of;
  return statements.flatMap((sql, index) => (sql.startsWith('select') ? [] : [index + 1]));
}

describe.each(Object.keys(CHANGES))('%s', (change) => {
  test('is complete or absent, wherever the process is killed', { timeout: 240_000 }, async () => {
    const whole = await copy(`${change} whole`);
    const before = await contentOf(await copy(`${change} untouched`));
    const { statements } = await makeChange(whole, change, 0);
    const after = await contentOf(whole);
    expect(after).not.toEqual(before);
    const [committed = 0, ...others] = commits(statements);
    expect(others).toEqual([]);
    const points = statements.map((_, index) => index + 1);
    const killed = async () => {
      for (let point = points.shift(); point !== undefined; point = points.shift()) {
        const folder = await copy(`${change} ${point}`);
        expect(await makeChange(folder, change, point)).toMatchObject({ signal: 'SIGKILL' });
        const where = `killed after statement ${point}: ${statements[point - 1]}`;
        expect(await contentOf(folder), where).toEqual(point < committed ? before : after);
        await rm(folder, { recursive: true });
      }
    };
    await Promise.all(Array.from({ length: Math.min(4, availableParallelism()) }, killed));
  });
});
