/**
 * The figures of earlier runs on this machine: `bench/history.json`, which is not committed. Ratios
 * of two commits compare, also where a figure of one does not.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { columns, type Row, shown } from './figures.ts';

const FILE = fileURLToPath(new URL('history.json', import.meta.url));

export interface Run {
  readonly commit: string;
  /** Files differed from the commit. */
  readonly isChanged: boolean;
  readonly at: string;
  readonly machine: string;
  readonly rounds: number;
  readonly isQuick: boolean;
  readonly rows: readonly Row[];
}

const git = (...words: string[]): string =>
  execFileSync('git', words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();

export const here = (): Pick<Run, 'commit' | 'isChanged'> => ({
  commit: git('rev-parse', 'HEAD'),
  isChanged: git('status', '--porcelain', '--untracked-files=no') !== '',
});

const readRuns = (): Run[] => (existsSync(FILE) ? JSON.parse(readFileSync(FILE, 'utf8')) : []);

export function keep(run: Run): void {
  writeFileSync(FILE, `${JSON.stringify([...readRuns(), run], undefined, 1)}\n`);
}

/** The last figure of each row at a commit. @throws an Error that says what there is */
export function rowsAt(revision: string): readonly Row[] {
  const runs = readRuns();
  const commit = git('rev-parse', '--verify', `${revision}^{commit}`);
  const found = runs.filter((run) => run.commit === commit);
  const known = [...new Set(runs.map((run) => run.commit.slice(0, 12)))].join(', ') || 'none';
  if (found.length === 0) throw new Error(`bench/history.json has no run of ${revision}. It has: ${known}.`);
  return [...new Map(found.flatMap(({ rows }) => rows).map((row) => [row.row, row])).values()];
}

/** The rows that both have. A change counts where the spreads are apart. */
export function comparison(before: readonly Row[], after: readonly Row[]): string {
  const lines = after.flatMap((row) => {
    const old = before.find((one) => one.row === row.row);
    // Where something was missing, JSON has no number.
    if (old === undefined || !(old.annex > 0)) return [];
    const [was, is] = [old, row].map(({ ratio, annex }) => ratio ?? annex) as [number, number];
    const isApart = row.low > old.high || row.high < old.low;
    return [
      [row.row, shown(was), shown(is), `${shown(is / was)} ×`, isApart ? 'apart' : 'within the spread'],
    ];
  });
  return columns([['row', 'before', 'after', 'after : before', ''], ...lines]);
}
