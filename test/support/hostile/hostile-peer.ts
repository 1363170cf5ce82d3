/**
 * The network of an attacker: a server of its own, whose path decides how it misbehaves, and a
 * victim on this machine that no fetch may reach.
 *
 * The attacker's server is on loopback and on the operator's list of allowed addresses; it stands
 * for a server on the internet. The victim stands for every other address: it counts its
 * connections.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import {
  type AddressInfo,
  createServer as createTcpServer,
  type Socket,
  type Server as TcpServer,
} from 'node:net';
import { gzipSync } from 'node:zlib';

const MIB = 1024 * 1024;
const PUBLIC = '127.0.0.1';
/** Another address of the same machine, which the operator's list does not have. */
const PRIVATE = '127.0.0.2';

type Behaviour = (request: IncomingMessage, response: ServerResponse, url: URL) => void;

const BOMB = gzipSync(Buffer.alloc(64 * MIB));
/** Compressed three times more: a few hundred bytes that decompress to megabytes in four stages. */
const STACKED = [1, 2, 3].reduce((bytes: Uint8Array) => gzipSync(bytes), BOMB);

/** Writes without end, as fast as the other side reads. */
function endlessly(socket: Socket, piece: string): void {
  const more = () => {
    while (!socket.destroyed && socket.write(piece));
  };
  socket.on('drain', more);
  more();
}

const BEHAVIOURS: Readonly<Record<string, Behaviour>> = {
  '/ok': (_request, response) => void response.end('ok'),
  '/echo': (request, response) => {
    request.resume();
    request.once('end', () =>
      response.end(JSON.stringify({ method: request.method, url: request.url, headers: request.headers })),
    );
  },
  '/redirect': (_request, response, url) => {
    const status = Number(url.searchParams.get('status') ?? 302);
    response.writeHead(status, { location: url.searchParams.get('to') ?? '/' }).end();
  },
  '/bomb': (_request, response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end(BOMB),
  '/stacked': (_request, response) =>
    void response.writeHead(200, { 'content-encoding': 'gzip, gzip, gzip, gzip' }).end(STACKED),
  '/corrupt': (_request, response) =>
    void response.writeHead(200, { 'content-encoding': 'gzip' }).end('not compressed at all'),
  '/endless': (request, response) => {
    response.flushHeaders();
    endlessly(request.socket, `4000\r\n${'x'.repeat(0x4000)}\r\n`);
  },
  '/drip': (_request, response) => {
    const timer = setInterval(() => response.write('x'), 100);
    response.once('close', () => clearInterval(timer));
  },
  '/tiny-chunks': (request) =>
    void request.socket.end(
      `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(5_000)}0\r\n\r\n`,
    ),
  '/head': (request) => {
    request.socket.write('HTTP/1.1 200 OK\r\n');
    endlessly(request.socket, `x-more: ${'x'.repeat(1000)}\r\n`);
  },
  '/interim': (request) => endlessly(request.socket, 'HTTP/1.1 103 Early Hints\r\nlink: <a>\r\n\r\n'),
  '/garbage': (request) => void request.socket.end('SSH-2.0-OpenSSH_9.6\r\n'),
  '/two-lengths': (request) =>
    void request.socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nok!'),
};

export class HostilePeer {
  readonly #servers: Server[];
  readonly #victim: TcpServer;
  readonly #sockets = new Set<Socket>();
  /** Connections that the victim has had: each one is a hole. */
  reached = 0;

  private constructor() {
    this.#servers = [createServer(behave), createServer(behave)];
    this.#victim = createTcpServer((socket) => {
      this.reached += 1;
      socket.destroy();
    });
    for (const server of this.#servers)
      server.on('connection', (socket: Socket) => {
        this.#sockets.add(socket);
        socket.on('error', () => undefined);
        socket.once('close', () => this.#sockets.delete(socket));
      });
  }

  static async start(): Promise<HostilePeer> {
    const peer = new HostilePeer();
    for (const server of peer.#servers) await listen(server, 0, PUBLIC);
    // On the port of the operator's list, so that only the address can be the reason of a refusal.
    await listen(peer.#victim, peer.#port(0), PRIVATE);
    return peer;
  }

  #port(index: number): number {
    const address = this.#servers[index]?.address() as AddressInfo | undefined;
    return address?.port ?? 0;
  }

  /** The operator's list of allowed addresses. */
  get allowed(): string {
    return this.#servers.map((_, index) => `${PUBLIC}:${this.#port(index)}`).join(',');
  }

  /** Headers of a request to the attacker, with the URLs to use. */
  get headers(): Record<string, string> {
    return {
      'x-peer': `http://${PUBLIC}:${this.#port(0)}`,
      'x-other-peer': `http://${PUBLIC}:${this.#port(1)}`,
      'x-victim': `http://${PRIVATE}:${this.#port(0)}`,
      'x-victim-port': String(this.#port(0)),
    };
  }

  /** Sockets of the attacker's own server that are open. */
  get connections(): number {
    return this.#sockets.size;
  }

  stop(): void {
    for (const server of this.#servers) server.close();
    for (const socket of this.#sockets) socket.destroy();
    this.#victim.close();
  }
}

function behave(request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url ?? '/', 'http://peer');
  // Other paths are never answered.
  BEHAVIOURS[url.pathname]?.(request, response, url);
}

const listen = (server: TcpServer, port: number, host: string): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => resolve());
  });

/**
 * The attacker's own name server: `rebind.test` is the attacker's address at the first query and
 * the victim's from then on; `both.test` is both addresses.
 */
export function hostileNames(): (host: string) => Promise<string[]> {
  let queries = 0;
  return async (host) => {
    if (host.endsWith('rebind.test')) return [queries++ === 0 ? PUBLIC : PRIVATE];
    if (host === 'both.test') return [PRIVATE, PUBLIC];
    if (host === 'inside.test') return [PRIVATE];
    throw Object.assign(new Error('queryA ENOTFOUND'), { code: 'ENOTFOUND' });
  };
}
