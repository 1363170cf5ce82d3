/**
 * nginx with the configuration of `deploy/`, in front of two small servers that stand for nodes.
 * Only addresses and folders are replaced.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { freePort } from '../free-port.ts';
import { temporaryFolder } from '../store/temporary-store.ts';

const CONFIGURATION = new URL('../../../deploy/nginx.conf', import.meta.url);

/** A request as a node got it. */
interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
}

/** Answers its name and the number of bytes that it got; drops requests whose path ends in /die. */
export class StandIn {
  readonly name: string;
  readonly received: Received[] = [];
  readonly #server: Server;

  constructor(name: string) {
    this.name = name;
    this.#server = createServer(async (request, response) => {
      const { method = '', url = '', headers } = request;
      this.received.push({ method, url, headers });
      if (url.endsWith('/die')) return void request.socket.destroy();
      const { length } = await text(request);
      response.setHeader('x-accel-redirect', '/other').end(`${name} ${length}`);
    });
    onTestFinished(() => this.stop());
  }

  async start(port = 0): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(port, '127.0.0.1', resolve));
    return (this.#server.address() as AddressInfo).port;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

export class Balancer {
  /** URLs of the public server and of the one for the API. */
  readonly open: string;
  readonly control: string;

  private constructor(open: number, control: number) {
    this.open = `http://127.0.0.1:${open}`;
    this.control = `http://127.0.0.1:${control}`;
  }

  /** Resolves when it listens. The nodes stand for both of their listeners. */
  static async start(nodes: readonly [StandIn, StandIn]): Promise<Balancer> {
    const [one, two] = [await nodes[0].start(), await nodes[1].start()];
    const [open, control] = [await freePort(), await freePort()];
    const folder = await temporaryFolder();
    const file = join(folder, 'nginx.conf');
    const written = (await readFile(CONFIGURATION, 'utf8'))
      .replaceAll(/node-1-(public|control):\d+/g, `127.0.0.1:${one}`)
      .replaceAll(/node-2-(public|control):\d+/g, `127.0.0.1:${two}`)
      .replace('listen 8080', `listen 127.0.0.1:${open}`)
      .replace('listen 7700', `listen 127.0.0.1:${control}`)
      .replaceAll('/tmp/', `${folder}/`)
      .replace('/dev/stdout', join(folder, 'access.log'));
    await writeFile(file, written);
    // As root, nginx runs its workers as another user, whose folders are in this one.
    await chmod(folder, 0o711);
    const nginx = spawn('nginx', ['-p', folder, '-c', file, '-g', 'daemon off;'], { stdio: 'pipe' });
    onTestFinished(() => ended(nginx));
    const balancer = new Balancer(open, control);
    await balancer.#listening(nginx);
    return balancer;
  }

  async #listening(nginx: ChildProcess): Promise<void> {
    const complaints: string[] = [];
    nginx.once('error', (cause) => complaints.push(cause.message));
    nginx.stderr?.on('data', (piece) => complaints.push(String(piece)));
    for (;;) {
      if (nginx.exitCode !== null) throw new Error(`nginx has ended: ${complaints.join('')}`);
      const isUp = await fetch(this.control).then(
        (answer) => answer.text(),
        () => undefined,
      );
      if (isUp !== undefined) return;
    }
  }
}

async function ended(nginx: ChildProcess): Promise<void> {
  if (nginx.exitCode !== null) return;
  const exited = new Promise((resolve) => nginx.once('exit', resolve));
  nginx.kill('SIGTERM');
  await exited;
}
