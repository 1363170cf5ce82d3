/**
 * Load generator for one fixed request: plain sockets in a process of its own, so that the client
 * uses little CPU. One request in flight per connection; a latency is from the last byte written to
 * the last byte read.
 *
 * Run as a child: receives a `Load` by message, sends a `Measured` back, exits.
 */
import { connect, type Socket } from 'node:net';
import { onAnswers } from './answers.ts';

export interface Load {
  readonly port: number;
  /** The whole request, base64. */
  readonly request: string;
  readonly connections: number;
  readonly warmupMs: number;
  readonly measureMs: number;
}

export interface Measured {
  readonly requestsPerS: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Answers with another status than 200. */
  readonly failures: number;
}

/** Sends the request in a loop; `answered` is called for each answer. */
function drive(socket: Socket, request: Buffer, answered: (status: string, latencyMs: number) => void): void {
  let sentAt = performance.now();
  socket.setNoDelay(true);
  onAnswers(socket, (status) => {
    const now = performance.now();
    answered(status, now - sentAt);
    sentAt = now;
    socket.write(request);
  });
  socket.write(request);
}

async function measure({ port, request, connections, warmupMs, measureMs }: Load): Promise<Measured> {
  const latencies: number[] = [];
  let failures = 0;
  let measuring = false;
  const sockets = Array.from({ length: connections }, () => connect(port, '127.0.0.1'));
  for (const socket of sockets) {
    drive(socket, Buffer.from(request, 'base64'), (status, latencyMs) => {
      if (!measuring) return;
      if (status !== '200') failures += 1;
      latencies.push(latencyMs);
    });
  }
  await new Promise((resolve) => setTimeout(resolve, warmupMs));
  measuring = true;
  const startedAt = performance.now();
  await new Promise((resolve) => setTimeout(resolve, measureMs));
  const elapsedS = (performance.now() - startedAt) / 1_000;
  measuring = false;
  for (const socket of sockets) socket.destroy();
  latencies.sort((a, b) => a - b);
  const at = (share: number) => latencies[Math.floor(latencies.length * share)] ?? Number.NaN;
  return { requestsPerS: latencies.length / elapsedS, p50Ms: at(0.5), p99Ms: at(0.99), failures };
}

process.once('message', async (load: Load) => {
  const measured = await measure(load);
  process.send?.(measured, () => process.exit(0));
});
