/**
 * In-process connections: each end reads what the other writes, writers wait for readers, and both
 * ends close together.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { connectionPair } from '../../../src/host/http/connection-pair.ts';

const MIB = 1024 * 1024;

test('each end reads what the other writes, and its end', async () => {
  const { client, server } = connectionPair();
  client.end('question');
  let received = '';
  server.on('data', (chunk) => {
    received += chunk;
  });
  await once(server, 'end');
  expect(received).toBe('question');
  server.end('answer');
  expect((await client.toArray()).join('')).toBe('answer');
});

test('a writer waits for its reader, and buffers no more than its high-water mark', async () => {
  const { client, server } = connectionPair();
  let written = 0;
  while (client.write(Buffer.alloc(64 * 1024))) written += 1;
  expect(written).toBeLessThan(4);
  const drained = once(client, 'drain');
  let read = 0;
  server.on('data', (chunk: Buffer) => {
    read += chunk.length;
  });
  await drained;
  client.end(Buffer.alloc(MIB));
  await once(server, 'end');
  expect(read).toBe((written + 1) * 64 * 1024 + MIB);
});

test('an end counts bytes read by the other end and bytes that wait, as a socket does', async () => {
  const { client, server } = connectionPair() as { client: Socket; server: Socket };
  while (client.write(Buffer.alloc(64 * 1024)));
  const moved = () => client.bytesWritten - client.writableLength;
  const before = moved();
  expect(client.writableLength).toBeGreaterThan(0);
  const drained = once(client, 'drain');
  server.resume();
  await drained;
  expect([client.writableLength, moved()]).toEqual([0, client.bytesWritten]);
  expect(moved()).toBeGreaterThan(before);
});

test('destroying the client end closes the server end, even with pending writes', async () => {
  const { client, server } = connectionPair();
  while (server.write(Buffer.alloc(64 * 1024)));
  client.destroy();
  await once(server, 'close');
  expect(server.destroyed).toBe(true);
});

test('an answer that was written before the server end was destroyed can still be read', async () => {
  const { client, server } = connectionPair();
  server.write('whole answer');
  server.destroy();
  client.write('unread');
  expect((await client.toArray()).join('')).toBe('whole answer');
});

test('an HTTP server refuses invalid HTTP on the connection, and closes it', async () => {
  const listener = createServer();
  onTestFinished(() => {
    listener.close();
  });
  listener.on('clientError', (_error, socket) => {
    socket.write('HTTP/1.1 400 Bad Request\r\n\r\n');
    // As on a socket: pending writes are flushed first.
    (socket as unknown as { destroySoon(): void }).destroySoon();
  });
  const { client, server } = connectionPair();
  listener.emit('connection', server);
  client.write('NONSENSE\r\n\r\n');
  expect((await client.toArray()).join('')).toMatch(/^HTTP\/1\.1 400/);
  expect(server.destroyed).toBe(true);
});
