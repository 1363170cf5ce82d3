/**
 * The inspector: a listener on 127.0.0.1 at which Chrome DevTools and editors find the isolates of
 * this service, and connect to them.
 *
 * It exists only in a service that `annex dev --inspect` has started. It answers `/json/list` and
 * `/json/version` as Node's inspector does, and a WebSocket for each isolate, at a path that cannot
 * be guessed. It decides who may connect; messages pass through `debugger-connection.ts`.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { within } from '../model/bounded-wait.ts';
import { INSPECTION_BOUNDS } from '../protocol/inspection.ts';
import { ownerOf, scriptUrl } from '../protocol/wire.ts';
import { VERSION } from '../version.ts';
import { DebuggerConnection, RequestNumbers } from './debugger-connection.ts';
import { InspectedTargets } from './inspected-targets.ts';
import { type InspectionSettings, inspectionProblems, type Reach } from './inspection-settings.ts';
import type { InspectorTarget } from './inspector-target.ts';
import { scriptMapUrl } from './script-map.ts';

const LOOPBACK = '127.0.0.1';
const CONNECTIONS_MAX = 64;
/** How long a debugger waits for the settings of the last one to be taken back. */
const FREE_MS = 5_000;

/** Where the source maps of scripts are. */
export interface SourceMaps {
  /** @param key as `scriptKey` makes it */
  sourceMap(key: string): Promise<string | undefined>;
}

export class Inspector {
  readonly targets = new InspectedTargets();
  readonly #settings: InspectionSettings;
  #maps: SourceMaps | undefined;
  readonly #server = createServer((request, response) => this.#answer(request, response));
  readonly #sockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: INSPECTION_BOUNDS.messageBytes,
  });
  readonly #numbers = new RequestNumbers();

  /** @throws where others than this machine can reach the service */
  constructor(settings: InspectionSettings, service: Reach) {
    const problems = inspectionProblems(service);
    if (problems.length > 0) throw new Error(problems.join('\n'));
    this.#settings = settings;
    this.#server.maxConnections = CONNECTIONS_MAX;
    this.#server.on('upgrade', (request, socket, head) => void this.#upgrade(request, socket, head));
  }

  /** @returns the address that debuggers connect to. @throws where the port is taken */
  async listen(maps: SourceMaps): Promise<string> {
    this.#maps = maps;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#server.once('error', reject);
    this.#server.listen(this.#settings.port, LOOPBACK, resolve);
    await promise;
    this.#server.off('error', reject);
    return this.address;
  }

  /** Host and port. */
  get address(): string {
    return `${LOOPBACK}:${this.#port}`;
  }

  get #port(): number {
    return (this.#server.address() as AddressInfo | null)?.port ?? 0;
  }

  /** Disconnects every debugger: what they hold goes on. */
  async close(): Promise<void> {
    for (const socket of this.#sockets.clients) socket.terminate();
    if (!this.#server.listening) return;
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const refusal = requestRefusal(request, this.#port);
    if (refusal !== undefined) return refuse(response, 403, refusal);
    if (request.method !== 'GET') return refuse(response, 405, 'The inspector answers GET.\n');
    switch (new URL(request.url ?? '/', 'http://inspector').pathname) {
      case '/json':
      case '/json/list':
        return json(
          response,
          this.targets.list.map((target) => this.#describe(target)),
        );
      case '/json/version':
        return json(response, { Browser: `annex/${VERSION}`, 'Protocol-Version': '1.3' });
      default:
        return refuse(response, 404, 'Nothing is here. /json/list has the isolates.\n');
    }
  }

  #describe(target: InspectorTarget) {
    const at = `${this.address}/${target.id}`;
    const frontend = `devtools://devtools/bundled/js_app.html?experiments=true&v8only=true&ws=${at}`;
    return {
      description: 'an isolate of Annex',
      devtoolsFrontendUrl: frontend,
      devtoolsFrontendUrlCompat: frontend,
      id: target.id,
      title: `${target.script} (${ownerOf(target.isolate)})`,
      type: 'node',
      url: scriptUrl(target.script),
      webSocketDebuggerUrl: `ws://${at}`,
    };
  }

  async #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    socket.on('error', () => undefined);
    const refusal = requestRefusal(request, this.#port);
    if (refusal !== undefined) return refuseUpgrade(socket, '403 Forbidden', refusal);
    const target = this.targets.get((request.url ?? '').slice(1));
    if (target === undefined)
      return refuseUpgrade(socket, '404 Not Found', 'No isolate is here. /json/list has them.\n');
    const [mapUrl] = await Promise.all([this.#mapUrl(target.script), within(FREE_MS, target.free)]);
    // A second debugger would not see what the first one has stopped.
    if (target.taken) return refuseUpgrade(socket, '409 Conflict', 'A debugger has this isolate.\n');
    return this.#sockets.handleUpgrade(request, socket, head, (accepted) =>
      this.#connect(accepted, target, mapUrl),
    );
  }

  #connect(socket: WebSocket, target: InspectorTarget, mapUrl: string | undefined): void {
    const connection = new DebuggerConnection({ socket, target, numbers: this.#numbers, mapUrl });
    if (this.targets.get(target.id) !== target || !target.take(connection))
      connection.released('The isolate cannot be inspected now.');
  }

  async #mapUrl(script: string): Promise<string | undefined> {
    const integration = script.slice(0, script.lastIndexOf('@'));
    try {
      const stored = await this.#maps?.sourceMap(script);
      if (stored === undefined) return undefined;
      return scriptMapUrl(stored, script, this.#settings.sourceFolder?.(integration));
    } catch {
      // The version was deleted, or the database is away: the debugger shows the bundle.
      return undefined;
    }
  }
}

function json(response: ServerResponse, value: unknown): void {
  response.writeHead(200, {
    'content-type': 'application/json; charset=UTF-8',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
  response.end(JSON.stringify(value, undefined, 2));
}

function refuse(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=UTF-8', connection: 'close' });
  response.end(text);
}

function refuseUpgrade(socket: Duplex, status: string, text: string): void {
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: text/plain; charset=UTF-8\r\ncontent-length: ${Buffer.byteLength(text)}\r\nconnection: close\r\n\r\n${text}`,
  );
}

const HOSTS: readonly string[] = ['127.0.0.1', 'localhost'];
const ORIGINS: readonly string[] = ['devtools://devtools', 'https://chrome-devtools-frontend.appspot.com'];

/**
 * Which requests the inspector's listener answers: those of programs on this machine, and of the
 * front ends of Chrome DevTools.
 *
 * Attack: a page in the developer's browser connects to the debugger, which reads every secret of
 * an installation and runs any code. A page's request names the page's origin. A page whose name
 * was made to point at 127.0.0.1 (DNS rebinding) is of the listener's own origin, and its requests
 * name that host.
 *
 * @returns why the request is refused; undefined where it is answered
 */
function requestRefusal({ headers }: IncomingMessage, port: number): string | undefined {
  const { host = '', origin } = headers;
  if (!HOSTS.some((name) => host.toLowerCase() === `${name}:${port}`))
    return `The inspector answers at 127.0.0.1:${port} alone.\n`;
  if (origin !== undefined && !ORIGINS.includes(origin))
    return 'The inspector answers no page, only Chrome DevTools and programs of this machine.\n';
  return undefined;
}
