/** Stores to copy, databases to copy them to, and the command that does it. */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { SourceStore } from '../../../src/host/database/copy/source-store.ts';
import { type CopiedSummary, type CopyNote, copyStore } from '../../../src/host/database/copy/store-copy.ts';
import { openMigrated } from '../../../src/host/database/postgres/postgres-engine.ts';
import type { Database } from '../../../src/host/database/tables.ts';
import { fill, open } from './store-changes.ts';
import { temporaryFolder } from './temporary-store.ts';
import { makeDatabase } from './test-engine.ts';

const PROGRAM = fileURLToPath(new URL('../../../src/local/annex.ts', import.meta.url));

export const fileIn = (folder: string): string => join(folder, 'annex.db');

/** A folder with a store that was stopped, and this many lines of logs more. */
export async function stoppedStore(lines = 0): Promise<string> {
  const folder = await temporaryFolder({ inMemory: true });
  const store = await open(folder, randomUUID());
  await fill(store);
  await store.close();
  change(
    folder,
    `with recursive n (i) as (select 1 union all select i + 1 from n where i < ${lines})
     insert into log_lines (installation_id, id, version, request_id, level, text, at)
     select 'inst', printf('%08d', i), 1, 'r', 1, printf('line %d', i), i from n where i <= ${lines}`,
  );
  return folder;
}

/** Writes the database of a folder by hand. */
export function change(folder: string, sql: string): void {
  const database = new DatabaseSync(fileIn(folder));
  try {
    database.exec(sql);
  } finally {
    database.close();
  }
}

export async function openSource(folder: string): Promise<SourceStore> {
  const source = await SourceStore.open(fileIn(folder));
  onTestFinished(() => source.close());
  return source;
}

/** A new database. */
export async function openTarget(folder: string): Promise<{ url: string; target: Database }> {
  const url = await makeDatabase(folder);
  const target = await openMigrated(url, 'test');
  onTestFinished(() => target.destroy());
  return { url, target };
}

/** Copies to a new database, in this process. */
export async function copyOf(
  folder: string,
  progress: (note: CopyNote) => void = () => undefined,
): Promise<{ target: Database; copied: readonly CopiedSummary[] }> {
  const { target } = await openTarget(folder);
  return { target, copied: await copyStore({ source: await openSource(folder), target, progress }) };
}

export interface Ended {
  /** Null if it was killed. */
  readonly code: number | null;
  readonly output: string;
}

/** The command, running. */
export interface RunningCopy {
  readonly ended: Promise<Ended>;
  /** What it has printed so far. */
  output(): string;
  kill(): void;
}

/** @param url of the target; the variable is not set if absent */
export function startCopy(folder: string, url: string | undefined, ...flags: string[]): RunningCopy {
  const { ANNEX_DATABASE_URL: _, ...env } = process.env;
  const child = spawn(process.execPath, [PROGRAM, 'copy', '--data', folder, ...flags], {
    env: url === undefined ? env : { ...env, ANNEX_DATABASE_URL: url },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  const ended = new Promise<Ended>((resolve) => child.once('close', (code) => resolve({ code, output })));
  return { ended, output: () => output, kill: () => void child.kill('SIGKILL') };
}

export const runCopy = (folder: string, url: string | undefined, ...flags: string[]): Promise<Ended> =>
  startCopy(folder, url, ...flags).ended;
