/**
 * One debugger on a WebSocket and the isolate that it has: passes requests and messages on.
 *
 * Requests get numbers of the host, which no other connection uses: a late response to a debugger
 * that has left reaches no other one. A debugger that sends faster than the isolate answers waits.
 * The notice of the author's script gets the URL of its source map here, so that the isolate runs
 * the script of production, byte for byte.
 */
import type { RawData, WebSocket } from 'ws';
import { FIRST_OWN_REQUEST, INSPECTION_BOUNDS } from '../protocol/inspection.ts';
import { scriptUrl } from '../protocol/wire.ts';
import type { InspectorTarget, TargetListener } from './inspector-target.ts';

const SCRIPT_PARSED = '{"method":"Debugger.scriptParsed"';
/** isolated-vm makes a second context for itself, in which no code of an integration runs. */
const CONTEXT_CREATED = '{"method":"Runtime.executionContextCreated"';
const DEFAULT_CONTEXT = '"name":"default"';
const RESPONSE = /^\{"id":(\d{1,10})(?=[,}])/;
/** Codes of RFC 6455, section 7.4.1. */
const CLOSE = { goingAway: 1001, notProtocol: 1007 };
/** Most that a reason may have, by RFC 6455, section 5.5. */
const REASON_BYTES_MAX = 123;

/** Numbers of requests, unique in the host. */
export class RequestNumbers {
  #last = 0;

  next(): number {
    this.#last = (this.#last + 1) % FIRST_OWN_REQUEST;
    return this.#last;
  }
}

export interface DebuggerConnectionParts {
  readonly socket: WebSocket;
  readonly target: InspectorTarget;
  readonly numbers: RequestNumbers;
  /** URL of the script's source map; undefined where there is none. */
  readonly mapUrl: string | undefined;
}

export class DebuggerConnection implements TargetListener {
  readonly #parts: DebuggerConnectionParts;
  /** The debugger's own id of each request without a response, by the number of the host. */
  readonly #asked = new Map<number, number>();

  constructor(parts: DebuggerConnectionParts) {
    this.#parts = parts;
    const { socket, target } = parts;
    socket.on('message', (data, isBinary) => this.#request(data, isBinary));
    socket.on('close', () => target.leave(this));
    // A broken connection closes, which is where it is handled.
    socket.on('error', () => undefined);
  }

  message(text: string, sent: () => void): void {
    const own = RESPONSE.exec(text);
    const passed = own === null ? this.#notification(text) : this.#response(text, own);
    if (passed === undefined) return sent();
    return this.#parts.socket.send(passed, sent);
  }

  released(reason: string): void {
    const { socket, target } = this.#parts;
    target.leave(this);
    socket.close(CLOSE.goingAway, Buffer.from(reason).subarray(0, REASON_BYTES_MAX).toString());
  }

  #request(data: RawData, isBinary: boolean): void {
    const { socket, target, numbers } = this.#parts;
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
    if (this.#parts.socket.isPaused) this.#parts.socket.resume();
    return `{"id":${id}${text.slice(whole.length)}`;
  }

  #notification(text: string): string | undefined {
    if (text.startsWith(CONTEXT_CREATED) && text.includes(DEFAULT_CONTEXT)) return undefined;
    const { mapUrl, target } = this.#parts;
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
