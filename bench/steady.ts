/**
 * Calls a quiet tenant at a steady, modest rate beside busy tenants: plain sockets in a process of
 * its own.
 *
 * The quiet tenant is called one call at a time. A latency counts from the time at which its call
 * was due: waiting for the call before it is part of it. The busy tenants have calls in flight all
 * the time, and try again a little later where they are refused.
 *
 * Run as a child: receives a `Steady` by message, sends a `SteadyMeasured` back, exits.
 */
import { connect, type Socket } from 'node:net';
import { onAnswers } from './answers.ts';

/** How soon the caller of a busy tenant tries again after an answer. */
const RETRY_MS = 20;

export interface Steady {
  readonly port: number;
  /** The quiet tenant's request, base64. */
  readonly quiet: string;
  /** Requests of the busy tenants, base64. */
  readonly busy: readonly string[];
  /** Connections of each busy tenant, with one request in flight each. */
  readonly busyConnections: number;
  readonly everyMs: number;
  /** How long the busy tenants are called before the measurement begins. */
  readonly warmupMs: number;
  readonly measureMs: number;
}

export interface SteadyMeasured {
  readonly calls: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** Answers to the quiet tenant's caller with another status than 200. */
  readonly failures: number;
  /** Answers to the callers of the busy tenants. */
  readonly busyAnswers: number;
}

/** Sends one request and settles with the status of its answer. */
function oneByOne(socket: Socket): (request: Buffer) => Promise<string> {
  let answered: (status: string) => void = () => undefined;
  socket.setNoDelay(true);
  onAnswers(socket, (status) => answered(status));
  return (request) => {
    socket.write(request);
    return new Promise((resolve) => (answered = resolve));
  };
}

async function keepBusy(socket: Socket, request: Buffer, answered: () => void): Promise<void> {
  const call = oneByOne(socket);
  while (!socket.destroyed) {
    await call(request);
    answered();
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

async function measure(steady: Steady): Promise<SteadyMeasured> {
  const open = () => connect(steady.port, '127.0.0.1');
  let busyAnswers = 0;
  const busy = steady.busy.flatMap((request) =>
    Array.from({ length: steady.busyConnections }, () => {
      const socket = open();
      void keepBusy(socket, Buffer.from(request, 'base64'), () => (busyAnswers += 1));
      return socket;
    }),
  );
  const socket = open();
  const call = oneByOne(socket);
  const request = Buffer.from(steady.quiet, 'base64');
  const latencies: number[] = [];
  let failures = 0;
  const startedAt = performance.now();
  const calls = Math.floor((steady.warmupMs + steady.measureMs) / steady.everyMs);
  for (let i = 0; i < calls; i++) {
    const dueAt = startedAt + i * steady.everyMs;
    const early = dueAt - performance.now();
    if (early > 0) await new Promise((resolve) => setTimeout(resolve, early));
    const sentAt = performance.now();
    const status = await call(request);
    if (i * steady.everyMs < steady.warmupMs) continue;
    // A late timer does not count; waiting for the call before does.
    latencies.push(performance.now() - (early > 0 ? sentAt : dueAt));
    if (status !== '200') failures += 1;
  }
  for (const one of [socket, ...busy]) one.destroy();
  latencies.sort((a, b) => a - b);
  const at = (share: number) => latencies[Math.floor(latencies.length * share)] ?? Number.NaN;
  const maxMs = latencies.at(-1) ?? Number.NaN;
  return { calls: latencies.length, p50Ms: at(0.5), p99Ms: at(0.99), maxMs, failures, busyAnswers };
}

process.once('message', async (steady: Steady) => {
  const measured = await measure(steady);
  process.send?.(measured, () => process.exit(0));
});
