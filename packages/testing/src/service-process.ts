/**
 * The service of the tests: a process of the package `annex`, on its own Node 26, behind a thread
 * (`service-thread.ts`). All files of a test process share one. It ends with that process.
 */
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Transferable as TransferListItem, Worker } from 'node:worker_threads';
import type {
  HandedAnswer,
  HandedBody,
  HandedEntry,
  OfThread,
  ThreadData,
  ToThread,
} from './service-thread.ts';
import type {
  OutboundAnswer,
  OutboundRequest,
  Ready,
  TestRequest,
  ToService,
  ToTestKit,
} from './test-messages.ts';
import { withWholeBody } from './whole-body.ts';

/** Answers the outbound requests of one part of the tests. @returns undefined for those of others */
export type Answering = (request: OutboundRequest) => Promise<OutboundAnswer> | undefined;

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

const EXTENSION = import.meta.url.endsWith('.ts') ? '.ts' : '.js';
const NO_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

export class ServiceProcess {
  readonly ready: Ready;
  readonly #thread: Worker;
  readonly #waiting: Map<number, Waiting>;
  readonly #answering = new Set<Answering>();
  #last = 0;

  private constructor(thread: Worker, ready: Ready, waiting: Map<number, Waiting>) {
    this.#thread = thread;
    this.#waiting = waiting;
    this.ready = ready;
  }

  /** @throws an Error that says why the service did not start */
  static async start(): Promise<ServiceProcess> {
    const workerData: ThreadData = { execPath: process.execPath, program: annexProgram() };
    const path = fileURLToPath(new URL(`./service-thread${EXTENSION}`, import.meta.url));
    const thread = new Worker(path, { workerData, execArgv: [] });
    const waiting = new Map<number, Waiting>();
    let started: ServiceProcess | undefined;
    return new Promise((resolve, reject) => {
      const failed = (cause: Error) => {
        reject(cause);
        for (const asked of waiting.values()) asked.reject(cause);
      };
      thread.on('error', failed);
      thread.on('message', (message: OfThread) => {
        if (message.kind === 'ended') failed(new Error(message.message));
        else if (started !== undefined) started.#received(message);
        else if (message.kind === 'line') {
          started = new ServiceProcess(thread, JSON.parse(message.line) as Ready, waiting);
          thread.unref();
          resolve(started);
        }
      });
    });
  }

  /** Asks the service to do something. */
  ask<Value = undefined>(request: TestRequest): Promise<Value> {
    return this.#asked<Value>((id) => this.#send({ kind: 'ask', id, ...request }));
  }

  /** As the global `fetch`, without the fakes of a test; the body of the answer is read. */
  async fetch(url: string | URL | Request, init: RequestInit = {}): Promise<Response> {
    const { signal, method, redirect = 'follow' } = init;
    signal?.throwIfAborted();
    const body = handed(init.body);
    const request = { url: String(url), method, headers: [...new Headers(init.headers)], redirect, body };
    const transfer = body.kind === 'whole' && body.value instanceof ReadableStream ? [body.value] : [];
    let abort = () => {};
    const answer = this.#asked<HandedAnswer>((id) => {
      abort = () => this.#post({ kind: 'abort', id });
      this.#post({ kind: 'fetch', id, request }, transfer);
    });
    signal?.addEventListener('abort', abort, { once: true });
    try {
      const { status, statusText, headers, body: bytes } = await answer;
      const pairs = headers.map(([name, value]): [string, string] => [name, value]);
      const made = new Response(NO_BODY.has(status) ? null : bytes, { status, statusText, headers: pairs });
      return withWholeBody(made, new Uint8Array(bytes));
    } catch (cause) {
      signal?.throwIfAborted();
      throw cause;
    } finally {
      signal?.removeEventListener('abort', abort);
    }
  }

  /** Adds what answers outbound requests. @returns a function that removes it */
  answerBy(answering: Answering): () => void {
    this.#answering.add(answering);
    return () => void this.#answering.delete(answering);
  }

  /** Only what is asked keeps the process of the tests alive: an idle service must not. */
  async #asked<Value>(ask: (id: number) => void): Promise<Value> {
    this.#last += 1;
    const id = this.#last;
    this.#thread.ref();
    try {
      return await new Promise<Value>((resolve, reject) => {
        this.#waiting.set(id, { resolve: resolve as Waiting['resolve'], reject });
        ask(id);
      });
    } finally {
      this.#waiting.delete(id);
      if (this.#waiting.size === 0) this.#thread.unref();
    }
  }

  #received(message: OfThread): void {
    if (message.kind === 'fetched') this.#waiting.get(message.id)?.resolve(message.answer);
    else if (message.kind === 'failed') this.#waiting.get(message.id)?.reject(message.error);
    else if (message.kind === 'line') this.#told(JSON.parse(message.line) as ToTestKit);
  }

  #told(message: ToTestKit): void {
    if (message.kind === 'result') this.#waiting.get(message.id)?.resolve(message.value);
    else if (message.kind === 'failure') this.#waiting.get(message.id)?.reject(new Error(message.message));
    else if (message.kind === 'fetch') void this.#answer(message.id, message.request);
  }

  async #answer(id: number, request: OutboundRequest): Promise<void> {
    for (const answering of this.#answering) {
      const answer = answering(request);
      if (answer === undefined) continue;
      this.#send({ kind: 'answer', id, answer: await answer });
      return;
    }
    this.#send({ kind: 'answer', id, answer: { broken: true } });
  }

  #send(message: ToService): void {
    this.#post({ kind: 'line', line: JSON.stringify(message) });
  }

  #post(message: ToThread, transfer: readonly ReadableStream[] = []): void {
    this.#thread.postMessage(message, transfer as unknown as TransferListItem[]);
  }
}

/** A body as a thread can take it. Forms and queries cannot be cloned. */
function handed(body: RequestInit['body']): HandedBody {
  if (body === undefined || body === null) return { kind: 'none' };
  if (body instanceof URLSearchParams) return { kind: 'query', text: body.toString() };
  if (body instanceof FormData) return { kind: 'form', entries: [...body].map(handedEntry) };
  const isWhole = [ArrayBuffer, Blob, ReadableStream].some((type) => body instanceof type);
  if (isWhole || ArrayBuffer.isView(body)) return { kind: 'whole', value: body as Blob };
  return { kind: 'whole', value: String(body) };
}

/** A `File` loses its name on its way to a thread. */
const handedEntry = ([name, value]: [string, string | File]): HandedEntry =>
  typeof value === 'string' ? [name, value] : [name, new Blob([value], { type: value.type }), value.name];

let shared: Promise<ServiceProcess> | undefined;

/** The service of this process, started with its first use. */
export function serviceProcess(): Promise<ServiceProcess> {
  shared ??= ServiceProcess.start();
  return shared;
}

/** The program of the package `annex`; in a clone, that of its sources. */
function annexProgram(): string {
  if (EXTENSION === '.ts') return fileURLToPath(new URL('../../annex/bin/annex.js', import.meta.url));
  try {
    const manifest = createRequire(import.meta.url).resolve('annex/package.json');
    return join(dirname(manifest), 'bin/annex.js');
  } catch (cause) {
    throw new Error('@annex/testing needs the package annex: install its archive, as `annex new` does.', {
      cause,
    });
  }
}
