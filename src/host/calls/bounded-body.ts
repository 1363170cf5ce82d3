/**
 * Reads the body of a call's answer into memory, up to a bound, for callers that interpret it.
 */
import type { Readable } from 'node:stream';

/**
 * @returns undefined if the body is larger than `bytesMax`; the rest is not read
 * @throws whatever the stream fails with, if the answer breaks off
 */
export async function boundedBody(body: Buffer | Readable, bytesMax: number): Promise<Buffer | undefined> {
  if (Buffer.isBuffer(body)) return body.byteLength > bytesMax ? undefined : body;
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    // Leaving the loop destroys the stream.
    if (bytes > bytesMax) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
