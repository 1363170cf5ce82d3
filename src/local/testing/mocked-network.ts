/**
 * What the service of a test kit has in place of the network: an HTTP server that listens nowhere.
 * Each request that the policy of the egress lets pass is answered by the test.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { OutboundAnswer, OutboundRequest } from '../../../packages/testing/src/test-messages.ts';
import type { Connect } from '../../egress/connector.ts';
import { connectionPair } from '../../http/connection-pair.ts';

export type Answering = (request: OutboundRequest) => Promise<OutboundAnswer>;

/** Headers that the server sets itself, for the bytes that it sends. */
const OWN_HEADERS: ReadonlySet<string> = new Set(['connection', 'content-length', 'transfer-encoding']);

interface Connected {
  readonly origin: string;
  readonly owner: string;
}

export function mockedNetwork(answering: Answering): Connect {
  const connected = new WeakMap<Duplex, Connected>();
  const server = createServer((request, response) => {
    const from = connected.get(request.socket);
    // A connection that breaks off in the middle of its request has nothing to answer.
    if (from !== undefined) void answer(request, response, from, answering).catch(() => response.destroy());
  });
  return (origin, owner) => {
    const pair = connectionPair();
    connected.set(pair.server, { origin, owner });
    server.emit('connection', pair.server);
    return pair.client;
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { origin, owner }: Connected,
  answering: Answering,
): Promise<void> {
  const { method = 'GET', url = '/', rawHeaders } = request;
  const body = (await buffer(request)).toString('base64');
  const answered = await answering({
    ...{ owner, method, body },
    url: `${origin}${url}`,
    headers: pairsOf(rawHeaders),
  });
  if ('broken' in answered) {
    response.destroy();
    return;
  }
  const { status, statusText, headers, body: bytes } = answered;
  const kept = headers.filter(([name]) => !OWN_HEADERS.has(name.toLowerCase()));
  response.writeHead(status, statusText, kept.flat());
  response.end(Buffer.from(bytes, 'base64'));
}

const pairsOf = (raw: readonly string[]): (readonly [string, string])[] =>
  raw.flatMap((name, at) => (at % 2 === 0 ? [[name, raw[at + 1] ?? ''] as const] : []));
