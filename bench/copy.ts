/**
 * `npm run bench:copy`: how long a store of a gigabyte takes from SQLite to PostgreSQL, with the
 * command itself: once through, and once killed in the middle and gone on with.
 *
 * It starts a server of PostgreSQL for itself, unless `ANNEX_TEST_POSTGRES` is the URL of one on
 * which databases may be made. `--megabytes` changes the size. The store has scripts of two
 * megabytes, events of up to 256 KiB, deliveries with payloads and attempts, and lines of logs.
 */
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Client } from 'pg';
import { openDatabase } from '../src/host/database/database.ts';
import { sqliteDialect } from '../src/host/database/sqlite/sqlite-dialect.ts';
import { databaseUrl, startPostgres } from './peers/queue-servers.ts';

const PROGRAM = fileURLToPath(new URL('../src/local/annex.ts', import.meta.url));
const MIB = 2 ** 20;
const NOW = Date.UTC(2026, 0, 1);
/** One event in so many is large. */
const LARGE_EVERY = 2_000;
const LARGE_BYTES = 256 * 1024;
const SCRIPT_BYTES = 2 * MIB;
/** Of the whole, what scripts and maps are. */
const SCRIPTS_SHARE = 0.2;
/** Bytes of an event with its delivery, payload, attempt and three lines, with their indexes. */
const BYTES_OF_EVENT = 2_250;

const { values } = parseArgs({ options: { megabytes: { type: 'string', default: '1024' } } });
const given = process.env['ANNEX_TEST_POSTGRES'];
const started = given === undefined ? await startPostgres() : undefined;
const server = given ?? (started && databaseUrl(started));
if (server === undefined)
  throw new Error(
    'PostgreSQL is not installed here, and ANNEX_TEST_POSTGRES names no server for the copies.',
  );

const folder = await mkdtemp(join(tmpdir(), 'annex-copy-'));
try {
  const began = performance.now();
  const rows = await fill(folder, Number(values.megabytes) * MIB);
  const { size } = await stat(join(folder, 'annex.db'));
  show(`a store of ${(size / MIB).toFixed(0)} MiB with ${rows} rows, made in ${seconds(began)} s`);
  const before = await digestOf(folder);
  await once(server);
  await killedInTheMiddle(server, rows);
  show(`the file is ${(await digestOf(folder)) === before ? 'unchanged' : 'CHANGED'}`);
} finally {
  await rm(folder, { recursive: true, force: true });
  await started?.stop();
}

async function once(url: string): Promise<void> {
  await inDatabase(url, async (target) => {
    const { copyingMs, verifyingMs, peakMib } = await copy(target);
    show(
      `copied in ${inSeconds(copyingMs)} s, verified in ${inSeconds(verifyingMs)} s, with ${peakMib} MiB at most`,
    );
  });
}

async function killedInTheMiddle(url: string, rows: number): Promise<void> {
  await inDatabase(url, async (target) => {
    const client = new Client({ connectionString: target });
    await client.connect();
    const copied = async () => {
      const { rows: found } = await client.query('select sum(copied)::float8 as sum from copy_progress');
      return Number(found[0]?.sum ?? 0);
    };
    const isHalf = async () => (await copied().catch(() => 0)) > rows / 2;
    const first = await copy(target, isHalf);
    const at = await copied();
    await client.end();
    const second = await copy(target);
    show(
      `killed after ${inSeconds(first.copyingMs)} s with ${at} rows; then copied the rest in ${inSeconds(second.copyingMs)} s, ` +
        `and verified all in ${inSeconds(second.verifyingMs)} s`,
    );
  });
}

/** Runs the command. @param isEnough asked every 50 ms; the command is killed once it is true */
async function copy(url: string, isEnough?: () => Promise<boolean>) {
  const child = spawn(process.execPath, [PROGRAM, 'copy', '--data', folder], {
    env: { ...process.env, ANNEX_DATABASE_URL: url },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const began = performance.now();
  let verifyingAt: number | undefined;
  let peakMib = 0;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    if (/^verifying/m.test(text)) verifyingAt ??= performance.now();
  });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  let code: number | null | undefined;
  void ended.then((exit) => (code = exit));
  while (code === undefined) {
    peakMib = Math.max(peakMib, await residentMib(child.pid ?? 0));
    if (await isEnough?.()) child.kill('SIGKILL');
    await setTimeout(50);
  }
  if (code !== 0 && isEnough === undefined) throw new Error(`The command ended with ${code}.`);
  const endedAt = performance.now();
  return {
    copyingMs: (verifyingAt ?? endedAt) - began,
    verifyingMs: endedAt - (verifyingAt ?? endedAt),
    peakMib,
  };
}

async function residentMib(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Math.round(Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1] ?? 0) / 1024);
}

async function inDatabase(url: string, work: (target: string) => Promise<void>): Promise<void> {
  const name = `annex_copy_${randomBytes(6).toString('hex')}`;
  const client = new Client({ connectionString: url });
  await client.connect();
  const target = new URL(url);
  target.pathname = `/${name}`;
  try {
    await client.query(`create database ${name}`);
    await work(target.href);
  } finally {
    await client.query(`drop database if exists ${name} with (force)`);
    await client.end();
  }
}

/** @returns the number of rows */
async function fill(data: string, bytes: number): Promise<number> {
  const file = join(data, 'annex.db');
  await (await openDatabase(sqliteDialect(file))).destroy();
  const database = new DatabaseSync(file);
  database.exec('pragma synchronous = off; begin');
  const insert = (table: string, row: Record<string, string | number | null>) => {
    const names = Object.keys(row);
    const sql = `insert into ${table} (${names.join(', ')}) values (${names.map(() => '?').join(', ')})`;
    return () => database.prepare(sql).run(...Object.values(row));
  };
  const times = { created_at: NOW, updated_at: NOW };
  insert('integrations', {
    ...{ name: 'large', organization: 'acme', visibility: 'public', title: 'Large', description: '' },
    ...{ active_version: 1, latest_version: 1, sealed_signing_secret: '', endpoint_key: 'k', ...times },
  })();
  let rows = 1;
  const versions = Math.max(1, Math.round((bytes * SCRIPTS_SHARE) / (2 * SCRIPT_BYTES)));
  for (let number = 1; number <= versions; number += 1, rows += 1) {
    const [script, map] = [textOf(SCRIPT_BYTES), textOf(SCRIPT_BYTES)];
    const version = {
      integration: 'large',
      number,
      manifest: '{}',
      script,
      source_map: map,
      created_at: NOW,
    };
    insert('versions', version)();
  }
  rows += fillEvents(database, Math.round((bytes * (1 - SCRIPTS_SHARE)) / BYTES_OF_EVENT));
  database.exec('commit');
  database.close();
  return rows;
}

/** @returns the number of rows */
function fillEvents(database: DatabaseSync, events: number): number {
  const statement = (table: string, columns: string, count: number) =>
    database.prepare(
      `insert into ${table} (${columns}) values (${Array.from({ length: count }, () => '?').join(', ')})`,
    );
  const event = statement(
    'events',
    'id, event_id, organization, type, level, place, installation_id, body, body_hash, deliveries, created_at',
    11,
  );
  const delivery = statement(
    'deliveries',
    'id, event, event_id, type, kind, endpoint, organization, integration, installation_id, level, place, state, due_at, ' +
      'armed_at, lease_until, fence, attempts, retries, unknowns, faults, outcome, created_at, finished_at',
    23,
  );
  const payload = statement('delivery_payloads', 'delivery_id, destination, payload, revision', 4);
  const attempt = statement(
    'delivery_attempts',
    'delivery_id, number, at, duration_ms, result, outcome, destination, status, response, truncated',
    10,
  );
  const line = statement('log_lines', 'installation_id, id, version, request_id, level, text, at', 7);
  const body = textOf(300);
  const large = textOf(LARGE_BYTES);
  for (let index = 0; index < events; index += 1) {
    const id = `e${index.toString(36).padStart(12, '0')}`;
    const text = index % LARGE_EVERY === 0 ? large : body;
    event.run(id, `evt_${id}`, 'acme', 'site_view', 'site', 's1', null, text, id, 1, NOW + index);
    const place = ['endpoint', 'acme', 'large', 'inst', 'site', 's1'];
    const counts = [NOW + index, NOW + index, null, 1, 1, 0, 0, 0];
    delivery.run(
      ...[`${id}.0`, id, `evt_${id}`, 'site_view', 'webhook', ...place, 'delivered', ...counts],
      ...['answered 200', NOW + index, NOW + index],
    );
    payload.run(`${id}.0`, 'https://receiver.example.com/hook', text, '1@1');
    attempt.run(
      `${id}.0`,
      1,
      NOW + index,
      12,
      'succeeded',
      'answered 200',
      'https://receiver.example.com',
      200,
      'ok',
      0,
    );
    for (let lines = 0; lines < 3; lines += 1)
      line.run(`inst_${index % 50}`, `${id}${lines}`, 1, id, 1, body.slice(0, 120), NOW + index);
  }
  return events * 7;
}

/** Text of about so many bytes that does not compress well. */
function textOf(bytes: number): string {
  return randomBytes(Math.ceil((bytes * 3) / 4)).toString('base64url');
}

async function digestOf(data: string): Promise<string> {
  const digest = createHash('sha256');
  for await (const chunk of createReadStream(join(data, 'annex.db'))) digest.update(chunk);
  return digest.digest('hex');
}

function show(line: string): void {
  process.stdout.write(`${line}\n`);
}

function inSeconds(ms: number): string {
  return (ms / 1_000).toFixed(1);
}

function seconds(began: number): string {
  return inSeconds(performance.now() - began);
}
