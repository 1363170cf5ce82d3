/**
 * Sends one fixed request over plain sockets, in a process of its own. Run as a child: receives a
 * `Generation` by message, sends a `Loaded` back, exits.
 */
import { connect, type Socket } from 'node:net';
import { pause, quantile } from './figures.ts';
import { type Generation, type Loaded, onAnswers } from './load.ts';

async function generate({ port, request, connections, seconds }: Generation): Promise<Loaded> {
  const bytes = Buffer.from(request, 'base64');
  const latencies: number[] = [];
  let failures = 0;
  const drive = (socket: Socket) => {
    let sentAt = performance.now();
    onAnswers(socket.setNoDelay(true), (status) => {
      if (!status.startsWith('2')) failures += 1;
      latencies.push(performance.now() - sentAt);
      sentAt = performance.now();
      socket.write(bytes);
    });
    socket.write(bytes);
    return socket;
  };
  const startedAt = performance.now();
  const sockets = Array.from({ length: connections }, () => drive(connect(port, '127.0.0.1')));
  await pause(seconds * 1_000);
  const elapsed = (performance.now() - startedAt) / 1_000;
  for (const socket of sockets) socket.destroy();
  const requests = latencies.length;
  const [p50Ms, p99Ms] = [quantile(latencies, 0.5), quantile(latencies, 0.99)];
  return { perSecond: requests / elapsed, requests, p50Ms, p99Ms, failures };
}

process.once('message', async (wanted: Generation) => {
  process.send?.(await generate(wanted), () => process.exit(0));
});
