/** A connection within the process: what one end writes the other reads, no faster than it reads, and both end together. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { connectionPair } from '../../../src/http/connection-pair.ts';

const MIB = 1024 * 1024;

test('what one end writes, the other reads, and the end with it', async () => {
  const { asking, answering } = connectionPair();
  asking.end('question');
  let heard = '';
  answering.on('data', (chunk) => {
    heard += chunk;
  });
  await once(answering, 'end');
  expect(heard).toBe('question');
  answering.end('answer');
  expect((await asking.toArray()).join('')).toBe('answer');
});

test('a writer waits for its reader, and holds no more than it was told to', async () => {
  const { asking, answering } = connectionPair();
  let written = 0;
  while (asking.write(Buffer.alloc(64 * 1024))) written += 1;
  expect(written).toBeLessThan(4);
  const drained = once(asking, 'drain');
  let read = 0;
  answering.on('data', (chunk: Buffer) => {
    read += chunk.length;
  });
  await drained;
  asking.end(Buffer.alloc(MIB));
  await once(answering, 'end');
  expect(read).toBe((written + 1) * 64 * 1024 + MIB);
});

test('an end counts what has been read of it, and what waits, as a socket does', async () => {
  const { asking, answering } = connectionPair() as { asking: Socket; answering: Socket };
  while (asking.write(Buffer.alloc(64 * 1024)));
  const moved = () => asking.bytesWritten - asking.writableLength;
  const before = moved();
  expect(asking.writableLength).toBeGreaterThan(0);
  const drained = once(asking, 'drain');
  answering.resume();
  await drained;
  expect([asking.writableLength, moved()]).toEqual([0, asking.bytesWritten]);
  expect(moved()).toBeGreaterThan(before);
});

test('nobody is left to answer once the asking end is gone, whatever waits to be written', async () => {
  const { asking, answering } = connectionPair();
  while (answering.write(Buffer.alloc(64 * 1024)));
  asking.destroy();
  await once(answering, 'close');
  expect(answering.destroyed).toBe(true);
});

test('what was answered before the answering end went can still be read', async () => {
  const { asking, answering } = connectionPair();
  answering.write('all there is');
  answering.destroy();
  asking.write('to nobody');
  expect((await asking.toArray()).join('')).toBe('all there is');
});

test('a server refuses nonsense on it as on any other, and closes it', async () => {
  const server = createServer();
  onTestFinished(() => {
    server.close();
  });
  server.on('clientError', (_error, socket) => {
    socket.write('HTTP/1.1 400 Bad Request\r\n\r\n');
    // As on a socket: what was written still leaves.
    (socket as unknown as { destroySoon(): void }).destroySoon();
  });
  const { asking, answering } = connectionPair();
  server.emit('connection', answering);
  asking.write('NONSENSE\r\n\r\n');
  expect((await asking.toArray()).join('')).toMatch(/^HTTP\/1\.1 400/);
  expect(answering.destroyed).toBe(true);
});
