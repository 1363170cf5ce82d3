/**
 * `npm run bench`: how Annex compares with its peers, and with itself on a quiet machine, as
 * ratios. `--help` says how it is asked, `--list` what there is.
 */
import { writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { chart } from './chart.ts';
import { type Bench, type Figure, isMet, type Round, type Row, rowOf, shown, table } from './figures.ts';
import { comparison, here, keep, rowsAt } from './history.ts';
import { followers, render } from './rows/api.ts';
import { attacks } from './rows/attacks.ts';
import { dev, libraries, testing } from './rows/authors.ts';
import { envelope, raw } from './rows/calls.ts';
import { deliveries, nodes, sqlite } from './rows/deliveries.ts';
import { fairness } from './rows/fairness.ts';
import { first, memory, start } from './rows/installations.ts';
import { backlog, copy, soak } from './rows/store.ts';
import { web } from './rows/web.ts';

const CHART = fileURLToPath(new URL('../docs/pictures/bench.svg', import.meta.url));

/** Benchmarks of the table, which a run without names measures. */
const TABLE: Readonly<Record<string, readonly [bench: Bench, what: string]>> = {
  envelope: [envelope, 'an envelope to a tiny handler, beside workerd'],
  raw: [raw, 'a plain GET to a tiny handler, beside workerd'],
  first: [first, 'the first answer of new installations, beside the worker loader of workerd'],
  memory: [memory, 'resident memory of an idle installation, tiny and real bundles, beside workerd'],
  deliveries: [deliveries, 'signed deliveries on PostgreSQL, beside pg-boss and graphile-worker'],
  sqlite: [sqlite, 'signed deliveries on SQLite, beside BullMQ on a Redis that syncs'],
  nodes: [nodes, 'two nodes on one PostgreSQL, beside one'],
  fairness: [fairness, "a tenant's deliveries beside those of a busy one and of receivers that hang"],
  start: [start, 'a start until /readyz, beside workerd'],
};

const OTHERS: Readonly<Record<string, readonly [bench: Bench, what: string]>> = {
  render: [render, 'a drawing of a component by the API, beside an envelope of the same event'],
  followers: [followers, 'calls and deliveries beside a hundred clients that follow what is quiet'],
  web: [web, 'the web platform of an isolate, beside Node'],
  attacks: [attacks, 'a bystander beside attacks of the hostile corpus; attacks:together combines them'],
  backlog: [backlog, 'new deliveries beside a million that wait, on both engines'],
  copy: [copy, 'annex copy of a gigabyte to PostgreSQL'],
  soak: [soak, 'memory over ten minutes of events at half of the rate'],
  dev: [dev, 'from a save to an answer of the endpoint under annex dev'],
  testing: [testing, 'the first test of a process with @annex/testing, and each next one'],
  libraries: [libraries, 'much-used packages of npm: publish, first call, next call'],
};
/** Take minutes, and have enough samples in one round. */
const ONCE = new Set(['attacks', 'backlog', 'copy', 'soak', 'dev', 'testing', 'libraries']);

const BENCHES = { ...TABLE, ...OTHERS };

const HELP = `usage: npm run bench -- [NAME[:PART]...] [flags]

Measures what is named, or the table, in rounds, and prints ratios: a figure of Annex divided by the same
figure of a peer, or of Annex itself on a quiet machine. PART selects rows, attacks or snippets by a part
of their name. Exits with 1 where an aim is missed.

  --list            the names
  --quick           one short round, for a look: the table in a few minutes
  --rounds N        rounds, of which medians count; default 5, and 1 of those that take minutes
  --seconds N       length of a measurement; default 5
  --size N          deliveries of a backlog, megabytes of a copy, minutes of a soak, combinations of attacks
  --chart           draw the chart of docs/pictures/bench.svg
  --against COMMIT  compare with the last figures of a commit in bench/history.json
  --compare A..B    compare two commits of the history; measures nothing

Figures of one run compare with each other; across machines and hours only ratios do. CPU is of all processes.
Load comes from wrk where it is installed, or from a process of Node. Peers are installed in bench/ by the
first run that needs them; rows whose server (PostgreSQL, Redis) is not on the machine say so.
`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    help: { type: 'boolean', short: 'h' },
    list: { type: 'boolean' },
    quick: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    size: { type: 'string' },
    chart: { type: 'boolean' },
    against: { type: 'string' },
    compare: { type: 'string' },
  },
});

const list = (): string =>
  Object.entries(BENCHES)
    .map(([name, [, what]]) => `${name.padEnd(12)}${what}`)
    .join('\n');

async function main(): Promise<void> {
  if (values.help) return void console.log(HELP);
  if (values.list) return void console.log(list());
  const [from = '', to = ''] = values.compare?.split('..') ?? [];
  if (values.compare) return void console.log(comparison(rowsAt(from), rowsAt(to)));
  const before = values.against === undefined ? undefined : rowsAt(values.against);
  const names = positionals.length > 0 ? positionals : Object.keys(TABLE);
  const unknown = names.filter((name) => !Object.hasOwn(BENCHES, name.split(':')[0] ?? ''));
  if (unknown.length > 0)
    throw new Error(`There is no benchmark ${unknown.join(', ')}. There are:\n${list()}`);
  const isOnce = values.quick || names.every((name) => ONCE.has(name.split(':')[0] ?? ''));
  const rounds = Number(values.rounds ?? (isOnce ? 1 : 5));
  const rows = await measure(names, rounds);
  const [{ model = '' } = {}] = cpus();
  const machine = `${cpus().length} × ${model.trim()}`;
  const at = new Date().toISOString();
  console.log(
    `\n${table(rows)}\n\n${machine}, ${at.slice(0, 10)}, ${rounds} rounds, load ${shown(loadavg()[0] ?? 0)}`,
  );
  keep({ ...here(), at, machine, rounds, isQuick: values.quick, rows });
  if (before) console.log(`\n${comparison(before, rows)}`);
  if (values.chart) writeFileSync(CHART, chart(rows, `${machine}, ${at.slice(0, 10)}, ${rounds} rounds.`));
  if (rows.some((row) => isMet(row) === false)) process.exitCode = 1;
}

/** Prints each figure when it is there. */
async function measure(names: readonly string[], rounds: number): Promise<Row[]> {
  const figures = new Map<string, Figure[]>();
  for (let turn = 0; turn < rounds; turn += 1)
    for (const name of names) {
      const [key = '', part = ''] = name.split(':');
      const round: Round = {
        ...{ turn, part, isQuick: values.quick, size: values.size ? Number(values.size) : undefined },
        seconds: Number(values.seconds ?? (values.quick ? 2 : 5)),
        warmupSeconds: values.quick ? 2 : 5,
      };
      try {
        for await (const figure of BENCHES[key]?.[0](round) ?? []) {
          figures.set(figure.row, [...(figures.get(figure.row) ?? []), figure]);
          console.error(`${turn + 1}/${rounds} ${figure.row}: ${shown(figure.annex)} ${figure.unit}`);
        }
      } catch (cause) {
        // The other benchmarks of a long run count nevertheless.
        console.error(`${name} failed:`, cause);
        process.exitCode = 1;
      }
    }
  return [...figures.values()].map(rowOf);
}

try {
  await main();
} catch (cause) {
  console.error(cause instanceof Error ? cause.message : cause);
  process.exitCode = 2;
}
