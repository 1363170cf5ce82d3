/** The rate of pieces of a body: a burst, then so many in a second, and joined beyond that. */
import { describe, expect, test } from 'vitest';
import { PieceRateLimit } from '../../../src/host/calls/outgoing-stream.ts';
import { dial, statuses } from '../../support/http/raw-http.ts';
import { startTestService } from '../../support/service.ts';

/** Pieces that are handed over at once, and then in a second; so many bytes pay for one more. */
const BURST = 64;
const PER_SECOND = 100;
const BYTES_PER_PIECE = 4_096;

/** Takes pieces until one has to wait. @returns how many, and for how long the next one waits */
function take(pace: PieceRateLimit, now: number, bytes = 1): { pieces: number; waitMs: number } {
  for (let pieces = 0; pieces < 10 * BURST; pieces += 1) {
    const waitMs = pace.waitMs(now);
    if (waitMs > 0) return { pieces, waitMs };
    pace.took(bytes);
  }
  return { pieces: 10 * BURST, waitMs: 0 };
}

describe('the rate of pieces', () => {
  test('is a burst, and then one piece in ten milliseconds', () => {
    const pace = new PieceRateLimit(0);
    const first = take(pace, 0);
    expect(first.pieces).toBe(BURST);
    expect(first.waitMs).toBeGreaterThan(5);
    expect(first.waitMs).toBeLessThanOrEqual(10);
    expect(take(pace, 10).pieces).toBe(1);
    expect(take(pace, 1_010).pieces).toBe(BURST);
  });

  test('does not delay a slower body', () => {
    const pace = new PieceRateLimit(0);
    for (let now = 0; now < 10_000; now += 1_000 / PER_SECOND) {
      expect(pace.waitMs(now)).toBe(0);
      pace.took(1);
    }
  });

  test('does not bound large pieces, and allows twice as many of half the size', () => {
    expect(take(new PieceRateLimit(0), 0, BYTES_PER_PIECE)).toEqual({ pieces: 10 * BURST, waitMs: 0 });
    expect(take(new PieceRateLimit(0), 0, BYTES_PER_PIECE / 2).pieces).toBeLessThanOrEqual(2 * BURST);
  });
});

const COUNTING = `
  import { createIntegration } from '@annex/sdk';
  export default createIntegration({
    async fetch({ body }) {
      let [bytes, pieces] = [0, 0];
      for await (const piece of body) { bytes += piece.byteLength; pieces += 1; }
      return Response.json({ bytes, pieces });
    },
  });`;

test('an upload in segments of one byte enters the isolate in few pieces', async () => {
  const service = await startTestService();
  const { endpoint } = await service.deploy('counting', COUNTING);
  const { socket, closed } = await dial(endpoint);
  socket.setNoDelay(true);
  const segments = 4_000;
  // Beyond what is read before a call begins; the rest of it comes in one piece at the end.
  const bytes = 128 * 1024;
  const path = new URL(endpoint).pathname;
  const startedAt = performance.now();
  socket.write(`POST ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: ${bytes}\r\n\r\n`);
  for (let at = 0; at < segments; at += 1) {
    socket.write('x');
    await new Promise((resolve) => setImmediate(resolve));
  }
  socket.write('x'.repeat(bytes - segments));
  const text = await closed;
  const seconds = (performance.now() - startedAt) / 1_000;
  expect(statuses(text)).toEqual([200]);
  const counted = JSON.parse(text.slice(text.indexOf('{'))) as { bytes: number; pieces: number };
  expect(counted.bytes).toBe(bytes);
  expect(counted.pieces).toBeLessThanOrEqual(BURST + PER_SECOND * seconds + bytes / BYTES_PER_PIECE + 8);
});
