/**
 * The inspector: a listener on 127.0.0.1 at which Chrome DevTools and editors find the isolates of
 * this service, and connect to them.
 *
 * It exists only in a service that `annex dev --inspect` has started. It answers `/json/list` and
 * `/json/version` as Node's inspector does, and a WebSocket for each isolate, at a path that cannot
 * be guessed. It decides who may connect; messages pass through `DebuggerConnection`.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { type RawData, type WebSocket, WebSocketServer } from 'ws';
import { within } from '../../model/bounded-wait.ts';
import {
  FIRST_OWN_REQUEST,
  type HostInspection,
  INSPECTION_BOUNDS,
  parseCellInspection,
} from '../../protocol/inspection.ts';
import { ownerOf, scriptUrl } from '../../protocol/wire.ts';
import { VERSION } from '../../version.ts';
import type { InspectCell } from '../cells/cell-process.ts';
import { type InspectionSettings, inspectionProblems, type Reach } from './inspection-settings.ts';
import { InspectorTarget, type TargetListener } from './inspector-target.ts';
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

const REPLACED = 'The isolate has ended: its version was replaced, or it was not needed any more.';
const TOO_SLOW = 'The debugger reads more slowly than the isolate writes.';

/**
 * The isolates of all cells that can be inspected, and the checks on what cells say about them.
 *
 * A cell is hostile even while it is inspected: it names its own isolates alone, sends no more than
 * the host has given credit for, and is ended for anything else.
 */
export class InspectedTargets {
  readonly #targets = new Map<string, InspectorTarget>();

  /** All of them, the newest first: an editor attaches to the first one. */
  get list(): readonly InspectorTarget[] {
    return [...this.#targets.values()].reverse();
  }

  /** The target whose URL has this id. */
  get(id: string): InspectorTarget | undefined {
    return this.#targets.get(id);
  }

  /** Begins the inspection of one cell. */
  readonly inspectCell: InspectCell = (send) => {
    const own = new Map<number, InspectorTarget>();
    let inFlightBytes = 0;
    const credited = (message: HostInspection, body?: Uint8Array) => {
      if (message.t === 'inspect-credit') inFlightBytes -= message.bytes;
      send(message, body);
    };
    const drop = (number: number, target: InspectorTarget): void => {
      own.delete(number);
      this.#targets.delete(target.id);
      target.ended();
      target.release(REPLACED);
    };
    return {
      receive: (head, body) => {
        const message = parseCellInspection(head);
        if (message === undefined) return false;
        const number = message.target;
        if (message.t === 'inspectable') {
          if (own.has(number) || own.size >= INSPECTION_BOUNDS.targets) return false;
          const { isolate, script } = message;
          const target = new InspectorTarget({ number, isolate, script, send: credited });
          own.set(number, target);
          this.#targets.set(target.id, target);
          return true;
        }
        const target = own.get(number);
        if (target === undefined) return false;
        switch (message.t) {
          case 'inspected':
            // Attack: a cell that was taken over fills the host's memory with unread messages.
            if (inFlightBytes >= INSPECTION_BOUNDS.bytesInFlight) return false;
            if (body.byteLength > INSPECTION_BOUNDS.messageBytes) return false;
            inFlightBytes += body.byteLength;
            target.receive(body);
            return true;
          case 'inspect-lost':
            target.release(TOO_SLOW);
            return true;
          case 'inspect-ended':
            target.ended();
            return true;
          case 'inspect-gone':
            drop(number, target);
            return true;
        }
      },
      exited: () => {
        for (const [number, target] of own) drop(number, target);
      },
    };
  };
}

const SCRIPT_PARSED = '{"method":"Debugger.scriptParsed"';
/** isolated-vm makes a second context for itself, in which no code of an integration runs. */
const CONTEXT_CREATED = '{"method":"Runtime.executionContextCreated"';
const DEFAULT_CONTEXT = '"name":"default"';
const RESPONSE = /^\{"id":(\d{1,10})(?=[,}])/;
/** Codes of RFC 6455, section 7.4.1. */
const CLOSE = { goingAway: 1001, notProtocol: 1007 };
/** Most that a reason may have, by RFC 6455, section 5.5. */
const REASON_BYTES_MAX = 123;

/**
 * One debugger on a WebSocket and the isolate that it has: passes requests and messages on.
 *
 * Requests get numbers of the host, which no other connection uses: a late response to a debugger
 * that has left reaches no other one. A debugger that sends faster than the isolate answers waits.
 * The notice of the author's script gets the URL of its source map here, so that the isolate runs
 * the script of production, byte for byte.
 *
 * Numbers of requests, unique in the host.
 */
class RequestNumbers {
  #last = 0;

  next(): number {
    this.#last = (this.#last + 1) % FIRST_OWN_REQUEST;
    return this.#last;
  }
}

interface DebuggerConnectionDeps {
  readonly socket: WebSocket;
  readonly target: InspectorTarget;
  readonly numbers: RequestNumbers;
  /** URL of the script's source map; undefined where there is none. */
  readonly mapUrl: string | undefined;
}

class DebuggerConnection implements TargetListener {
  readonly #deps: DebuggerConnectionDeps;
  /** The debugger's own id of each request without a response, by the number of the host. */
  readonly #asked = new Map<number, number>();

  constructor(deps: DebuggerConnectionDeps) {
    this.#deps = deps;
    const { socket, target } = deps;
    socket.on('message', (data, isBinary) => this.#request(data, isBinary));
    socket.on('close', () => target.leave(this));
    // A broken connection closes, which is where it is handled.
    socket.on('error', () => undefined);
  }

  message(text: string, sent: () => void): void {
    const own = RESPONSE.exec(text);
    const passed = own === null ? this.#notification(text) : this.#response(text, own);
    if (passed === undefined) return sent();
    return this.#deps.socket.send(passed, sent);
  }

  released(reason: string): void {
    const { socket, target } = this.#deps;
    target.leave(this);
    socket.close(CLOSE.goingAway, Buffer.from(reason).subarray(0, REASON_BYTES_MAX).toString());
  }

  #request(data: RawData, isBinary: boolean): void {
    const { socket, target, numbers } = this.#deps;
    const request = isBinary ? undefined : parseRequest(String(data));
    if (request === undefined) return socket.close(CLOSE.notProtocol, 'not a request of the protocol');
    const number = numbers.next();
    this.#asked.set(number, request.id);
    if (this.#asked.size >= INSPECTION_BOUNDS.requests) socket.pause();
    return target.request(JSON.stringify({ ...request, id: number }));
  }

  /** @returns the response with the debugger's own id; undefined for one that it did not ask for */
  #response(text: string, [whole, number]: RegExpExecArray): string | undefined {
    const id = this.#asked.get(Number(number));
    if (id === undefined) return undefined;
    this.#asked.delete(Number(number));
    if (this.#deps.socket.isPaused) this.#deps.socket.resume();
    return `{"id":${id}${text.slice(whole.length)}`;
  }

  #notification(text: string): string | undefined {
    if (text.startsWith(CONTEXT_CREATED) && text.includes(DEFAULT_CONTEXT)) return undefined;
    const { mapUrl, target } = this.#deps;
    if (mapUrl === undefined || !text.startsWith(SCRIPT_PARSED)) return text;
    const notice = parsed(text) as { params?: { url?: unknown } } | undefined;
    if (notice?.params?.url !== scriptUrl(target.script)) return text;
    return JSON.stringify({ ...notice, params: { ...notice.params, sourceMapURL: mapUrl } });
  }
}

/** A request with `id` as its first member, as the cell expects it. */
function parseRequest(text: string): { id: number; method: string } | undefined {
  const request = parsed(text);
  if (typeof request !== 'object' || request === null) return undefined;
  const { id, method, ...rest } = request as Record<string, unknown>;
  if (!Number.isSafeInteger(id) || typeof method !== 'string') return undefined;
  return { id: id as number, method, ...rest };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
