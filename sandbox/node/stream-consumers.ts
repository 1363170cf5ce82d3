/**
 * `node:stream/consumers`: the whole of a stream, of Node.js or of the web platform, as one value.
 */
import { Buffer } from './buffer.ts';

type Chunks = AsyncIterable<string | Uint8Array<ArrayBuffer>> | Iterable<string | Uint8Array<ArrayBuffer>>;

export async function blob(stream: Chunks): Promise<Blob> {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return new Blob(chunks);
}

export const arrayBuffer = async (stream: Chunks): Promise<ArrayBuffer> => (await blob(stream)).arrayBuffer();
export const buffer = async (stream: Chunks): Promise<Uint8Array> => Buffer.from(await arrayBuffer(stream));
export const bytes = async (stream: Chunks): Promise<Uint8Array> => new Uint8Array(await arrayBuffer(stream));

export async function text(stream: Chunks): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of stream) {
    text += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

export const json = async (stream: Chunks): Promise<unknown> => JSON.parse(await text(stream));

export default { arrayBuffer, blob, buffer, bytes, json, text };
