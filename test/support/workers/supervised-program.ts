/**
 * A small program under the real supervisor: its workers serve HTTP on one pair of ports, count
 * their requests, and end on demand. The tests of the supervisor start it as a process.
 */
import { existsSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { Counter, Gauge, Registry } from '@prometheus-io/client';
import pino from 'pino';
import { Supervisor, type SupervisorDeps } from '../../../src/host/workers/supervisor.ts';
import { WorkerLink } from '../../../src/host/workers/worker-link.ts';

/** The only argument, as JSON. */
export interface ProgramOptions {
  readonly workers: number;
  readonly killAfterMs?: number;
  readonly pace?: SupervisorDeps['pace'];
  /** Ports of the two listeners; 0 picks free ones. */
  readonly ports?: readonly [control: number, open: number];
  /** A worker that finds this file exits with code 7 before it serves. */
  readonly refuseWhile?: string;
  /** The second worker, if it finds this file, removes it and exits with code 7. */
  readonly refuseOnce?: string;
  /** Workers never finish to stop. */
  readonly hang?: boolean;
}

const [flag = '{}'] = process.argv.slice(2);
const options = JSON.parse(flag) as ProgramOptions;
const link = WorkerLink.open();
if (link === undefined) await supervise();
else await serve(link);

async function supervise(): Promise<void> {
  const supervisor = new Supervisor({
    program: fileURLToPath(import.meta.url),
    flags: [flag],
    workers: options.workers,
    killAfterMs: options.killAfterMs ?? 10_000,
    log: pino(),
    ...(options.pace && { pace: options.pace }),
  });
  process.once('SIGTERM', () => void supervisor.stop().then(() => process.exit(0)));
  try {
    pino().info(await supervisor.start(), 'ready');
  } catch (cause) {
    process.stderr.write(`${(cause as Error).message}\n`);
    process.exit(1);
  }
}

async function serve(worker: WorkerLink): Promise<void> {
  refuse(worker.index);
  const registry = new Registry();
  const requests = new Counter({ name: 'requests_total', help: 'Requests.', registers: [registry] });
  new Gauge({ name: 'alive', help: 'Always one.', registers: [registry] }).set(1);
  const help = 'As every node reads it from the database.';
  new Gauge({ name: 'annex_life_events_waiting', help, registers: [registry] }).set(5);
  const metrics = worker.machineMetrics(registry);
  const server = createServer(async (request, response) => {
    if (request.url === '/metrics') return void response.end(await metrics.metrics());
    requests.inc();
    // Each request is a connection of its own, so that the workers take turns.
    response.setHeader('connection', 'close');
    if (request.url === '/slow') await new Promise((resolve) => setTimeout(resolve, 500));
    response.end(JSON.stringify({ index: worker.index, pid: process.pid }));
  });
  worker.onStop(() => {
    if (!options.hang) server.close(() => process.exit(0));
  });
  const [control, open] = options.ports ?? [0, 0];
  worker.ready({ control: await listen(server, control), public: await listen(createServer(), open) });
}

function refuse(index: number): void {
  if (options.refuseWhile !== undefined && existsSync(options.refuseWhile)) process.exit(7);
  if (index !== 1 || options.refuseOnce === undefined || !existsSync(options.refuseOnce)) return;
  rmSync(options.refuseOnce);
  process.exit(7);
}

async function listen(server: Server, port: number): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<void>();
  server.once('error', (error) => {
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  });
  server.listen(port, '127.0.0.1', resolve);
  await promise;
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
