/**
 * A TCP proxy that can drop everything that passes it, and close nothing: what a partition of the
 * network looks like from both ends. New connections are accepted, and never answered.
 */
import { once } from 'node:events';
import {
  type AddressInfo,
  connect,
  createServer,
  type NetConnectOpts,
  type Server,
  type Socket,
} from 'node:net';

export class DroppingProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #to: NetConnectOpts;
  #isDropping = false;

  private constructor(server: Server, to: NetConnectOpts) {
    this.#server = server;
    this.#to = to;
  }

  static async start(to: NetConnectOpts): Promise<DroppingProxy> {
    // Half-open: a proxy that answers an end with an end would be no partition.
    const server = createServer({ allowHalfOpen: true });
    const proxy = new DroppingProxy(server, to);
    server.on('connection', (near) => proxy.#join(near));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /**
   * Drops everything from now on. Connections that are open now stay dead after the end, too: what
   * was lost on them is not sent again.
   */
  drop(): void {
    this.#isDropping = true;
    for (const socket of this.#sockets) this.#mute(socket);
  }

  /** Passes new connections on. */
  pass(): void {
    this.#isDropping = false;
  }

  /** Ends all connections; new ones lead to another place. */
  divert(to: NetConnectOpts): void {
    this.#to = to;
    for (const socket of this.#sockets) socket.destroy();
  }

  stop(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #join(near: Socket): void {
    this.#keep(near);
    if (this.#isDropping) return this.#mute(near);
    const far = connect({ ...this.#to, allowHalfOpen: true });
    this.#keep(far);
    for (const [from, other] of [
      [near, far],
      [far, near],
    ] as const) {
      from.on('data', (bytes) => void (this.#sockets.has(other) && other.write(bytes)));
      from.on('end', () => other.end());
      from.on('close', () => other.destroy());
    }
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket.setNoDelay(true));
    socket.on('error', () => undefined);
    socket.on('close', () => this.#sockets.delete(socket));
  }

  /** Reads on, so that the sender sees no full buffer; passes neither bytes nor ends on. */
  #mute(socket: Socket): void {
    for (const event of ['data', 'end', 'close']) socket.removeAllListeners(event);
    socket.on('close', () => this.#sockets.delete(socket));
    socket.resume();
  }
}
