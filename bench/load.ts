/**
 * Load on an HTTP server: wrk where it is installed, or a generator of our own in a process of its
 * own (`generator.ts`), which uses more CPU. One request in flight per connection.
 */
import { execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { onPath } from './servers.ts';

export interface Target {
  readonly url: URL;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** For a generator of our own. */
export interface Generation {
  readonly port: number;
  /** The whole request, base64. */
  readonly request: string;
  readonly connections: number;
  readonly seconds: number;
}

export interface Loaded {
  readonly perSecond: number;
  readonly requests: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Answers with another status than 2xx. */
  readonly failures: number;
}

export const CONNECTIONS = 32;
const MS = { us: 0.001, ms: 1, s: 1_000, m: 60_000 } as const;

/** @throws where an answer has another status than 2xx */
export async function load(target: Target, seconds: number): Promise<Loaded> {
  const loaded = await measure(target, seconds, CONNECTIONS);
  if (loaded.failures > 0) throw new Error(`${target.url}: ${loaded.failures} calls failed.`);
  return loaded;
}

export async function measure(target: Target, seconds: number, connections: number): Promise<Loaded> {
  const wrk = onPath('wrk');
  const run = wrk ? runWrk(wrk, target, seconds, connections) : generate(target, seconds, connections);
  const loaded = await run;
  if (loaded.requests === 0) throw new Error(`${target.url} answered nothing in ${seconds} seconds.`);
  return loaded;
}

async function runWrk(wrk: string, target: Target, seconds: number, connections: number): Promise<Loaded> {
  const folder = await mkdtemp(join(tmpdir(), 'annex-wrk-'));
  const script = join(folder, 'request.lua');
  const { url, method = 'GET', headers = {}, body } = target;
  // As numbers of bytes: Lua changes the ends of lines in other strings.
  const lua = (text: string) =>
    `"${[...Buffer.from(text)].map((byte) => `\\${String(byte).padStart(3, '0')}`).join('')}"`;
  const lines = [
    `wrk.method = ${lua(method)}`,
    ...(body === undefined ? [] : [`wrk.body = ${lua(body)}`]),
    ...Object.entries(headers).map(([name, value]) => `wrk.headers[${lua(name)}] = ${lua(value)}`),
  ];
  try {
    await writeFile(script, lines.join('\n'));
    const settings = ['-t1', `-c${connections}`, `-d${seconds}s`, '--latency', '-s', script, url.href];
    const { stdout } = await promisify(execFile)(wrk, settings);
    const number = (pattern: RegExp) => Number(pattern.exec(stdout)?.[1] ?? 0);
    const latency = (percent: number) => {
      const [, value, unit] = new RegExp(`${percent}%\\s+([\\d.]+)(us|ms|s|m)\\b`).exec(stdout) ?? [];
      return Number(value) * MS[unit as keyof typeof MS];
    };
    return {
      ...{ perSecond: number(/Requests\/sec:\s+([\d.]+)/), requests: number(/(\d+) requests in/) },
      ...{ p50Ms: latency(50), p99Ms: latency(99), failures: number(/Non-2xx or 3xx responses: (\d+)/) },
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function generate(target: Target, seconds: number, connections: number): Promise<Loaded> {
  const child = fork(fileURLToPath(new URL('generator.ts', import.meta.url)));
  const request = requestOf(target).toString('base64');
  child.send({ port: Number(target.url.port), request, connections, seconds } satisfies Generation);
  return ((await once(child, 'message')) as [Loaded])[0];
}

export function requestOf({ url, method = 'GET', headers = {}, body = '' }: Target): Buffer {
  const all = { host: url.host, ...headers, ...(body && { 'content-length': Buffer.byteLength(body) }) };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`${method} ${url.pathname}${url.search} HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
}

/** Milliseconds from the first byte sent to the last received, on an open connection. */
export async function firstAnswerMs(target: Target): Promise<number> {
  const socket = connect(Number(target.url.port), '127.0.0.1').setNoDelay(true);
  await once(socket, 'connect');
  const startedAt = performance.now();
  socket.write(requestOf(target));
  const status = await new Promise<string>((resolve) => onAnswers(socket, resolve));
  const ms = performance.now() - startedAt;
  socket.destroy();
  if (status !== '200') throw new Error(`${target.url} answered ${status}.`);
  return ms;
}

const HEAD_END = Buffer.from('\r\n\r\n');

/** Calls `answered` with the status of each answer with a length, when its last byte is there. */
export function onAnswers(socket: Socket, answered: (status: string) => void): void {
  let held: Buffer = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    const headEnd = held.indexOf(HEAD_END);
    if (headEnd === -1) return;
    const head = held.toString('latin1', 0, headEnd);
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
    if (held.length < headEnd + HEAD_END.length + length) return;
    held = Buffer.alloc(0);
    answered(head.slice(9, 12));
  });
}
