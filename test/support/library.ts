/**
 * Bundles libraries of npm into integrations, as the bundler of an author does, and helps tests of
 * such integrations.
 */
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { build } from 'esbuild';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { Installed, TestService } from './service.ts';

/**
 * Publishes and installs code that finds a library in `./library.js`.
 *
 * @param library the exports that the code uses: `export { Hono } from 'hono';`
 */
export async function deployWithLibrary(
  annex: TestService,
  name: string,
  library: string,
  source: string,
): Promise<Installed> {
  const { outputFiles } = await build({
    stdin: { contents: library, resolveDir: import.meta.dirname },
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    target: 'esnext',
  });
  await annex.publish(name, { 'index.js': source, 'library.js': outputFiles[0]?.text ?? '' });
  return annex.install(name);
}

/** Options of a POST with JSON. */
export const postJson = (value: unknown): RequestInit => ({
  method: 'POST',
  body: JSON.stringify(value),
  headers: { 'content-type': 'application/json' },
});

/** The messages of a stream of server-sent events, each as soon as it arrives. */
export async function* messagesOf(response: Response): AsyncGenerator<EventSourceMessage> {
  const ready: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (message) => ready.push(message) });
  const decoder = new TextDecoder();
  for await (const chunk of response.body as ReadableStream<Uint8Array>) {
    parser.feed(decoder.decode(chunk, { stream: true }));
    yield* ready.splice(0);
  }
}

/** Starts a server for integrations to fetch from; the caller closes it. */
export async function serve(handler: RequestListener): Promise<Server> {
  const server = createServer(handler);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

export const originOf = (server: Server): string =>
  `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
