/**
 * The service behind `@annex/testing`: a temporary one with real cells and production's limits,
 * whose outbound requests the test answers and whose time the test sets forward. It publishes a
 * folder once for each content of it.
 */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createInterface } from 'node:readline';
import type { Duplex, Readable, Writable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { Annex, AnnexError } from '../../../packages/client/src/index.ts';
import type {
  OutboundAnswer,
  OutboundRequest,
  PublishedFolder,
  TestRequest,
  ToService,
  ToTestKit,
} from '../../../packages/testing/src/test-messages.ts';
import { type FolderUpload, folderUpload } from '../../cli/upload/folder-upload.ts';
import { secretValues } from '../../cli/upload/secret-values.ts';
import { UPLOAD_MS, uploadForm } from '../../cli/upload/upload-form.ts';
import type { Connect } from '../../host/egress/connector.ts';
import { connectionPair } from '../../host/http/connection-pair.ts';
import type { Service } from '../../host/service.ts';
import type { Limits } from '../../limits.ts';
import { isError, type Problem } from '../../model/problem.ts';
import type { ServiceTime } from '../../model/service-time.ts';
import { startTemporaryService } from '../temporary-service.ts';
import { type EarlyProcesses, TEST_SERVICE_FLAGS } from './early-processes.ts';

/** Between two looks at work in flight. */
const LOOK_MS = 2;
const PAGE = 1_000;

class TestBed {
  readonly service: Service;
  readonly limits: Limits;
  readonly #annex: Annex;
  readonly #time: TestTime;
  readonly #end: () => Promise<void>;
  /** The event types that were declared last, as a file has them. */
  #declared: string | undefined;
  /** By the content of the folder. */
  readonly #published = new Map<string, Promise<PublishedFolder>>();

  private constructor(
    { service, limits, end }: { service: Service; limits: Limits; end: () => Promise<void> },
    time: TestTime,
  ) {
    this.service = service;
    this.limits = limits;
    this.#time = time;
    this.#end = end;
    this.#annex = new Annex({ url: service.controlUrl, token: this.token });
  }

  /**
   * @param answering answers the outbound requests of integrations, and webhooks
   * @param early what the processes of the service start from
   */
  static async start(answering: Answering, { confined }: EarlyProcesses): Promise<TestBed> {
    const time = new TestTime();
    const started = await startTemporaryService({
      flags: TEST_SERVICE_FLAGS,
      logLevel: 'error',
      expectsUploads: true,
      prepare: () => confined,
      standIns: { time, connect: mockedNetwork(answering) },
    });
    const end = async () => {
      await started.end();
      (await confined).build.remove();
    };
    return new TestBed({ ...started, end }, time);
  }

  /** An admin token. */
  get token(): string {
    return this.service.firstAdminToken ?? '';
  }

  /** Does what a test kit asks. @returns what the answer has, as JSON */
  async do(request: TestRequest): Promise<unknown> {
    if (request.ask === 'publish') {
      if (request.eventTypes !== undefined) await this.declare(request.eventTypes);
      return this.publish(request.folder, request.secrets);
    }
    if (request.ask === 'settle') return this.settle();
    return this.advance(request.ms);
  }

  /**
   * Publishes a folder, unless this content of it is published already.
   *
   * @throws an Error that lists its problems
   */
  async publish(folder: string, secrets: Readonly<Record<string, string>>): Promise<PublishedFolder> {
    const upload = await folderUpload({ folder });
    if (!('files' in upload)) throw refused(folder, upload.problems);
    const errors = upload.problems.filter(isError);
    if (errors.length > 0) throw refused(folder, errors);
    const values = await secretsOf(upload, folder, secrets);
    const key = contentKey(upload, values);
    const known = this.#published.get(key);
    if (known !== undefined) return known;
    const published = this.#publish(folder, upload, values);
    this.#published.set(key, published);
    published.catch(() => this.#published.delete(key));
    return published;
  }

  /**
   * Declares event types of the product. A type that was declared otherwise is changed.
   *
   * @throws an Error that lists the problems of the file
   */
  async declare({ name, text }: { readonly name: string; readonly text: string }): Promise<void> {
    if (this.#declared === text) return;
    // Loads what most tests do not need.
    const { readEventTypeFile } = await import('../../model/event-type-file.ts');
    const { types, problems } = readEventTypeFile(text);
    const lines = problems.map(({ line, column, message }) => `  ${name}:${line}:${column}: ${message}`);
    if (lines.length > 0) throw new Error(`The event types cannot be declared:\n${lines.join('\n')}`);
    for (const [type, { declaration }] of types)
      await this.#annex.eventTypes.set(type, declaration, { force: true });
    this.#declared = text;
  }

  /** Waits until no call is in flight and no delivery is due, and writes the logs. */
  async settle(): Promise<void> {
    while (this.service.callsInFlight > 0 || (await this.#isDue()))
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    await this.service.store.logs.pass();
  }

  /** Sets the time forward. Deliveries and their retries are made at their times. */
  async advance(ms: number): Promise<void> {
    await this.#time.advance(ms, { settled: () => this.settle(), nextDueAt: () => this.#nextDueAt() });
  }

  /** Stops the service, and removes its folder. */
  async end(): Promise<void> {
    await this.#end();
  }

  async #publish(
    folder: string,
    upload: FolderUpload,
    secrets: Readonly<Record<string, string>>,
  ): Promise<PublishedFolder> {
    const form = uploadForm(upload, { secrets, overwriteSecrets: true });
    try {
      const options = { timeoutMs: UPLOAD_MS, retries: 0 };
      const { integration: name, version } = await this.#annex.integrations.publish(form, options);
      const { organization = '', visibility = 'private' } = upload.manifest ?? {};
      return { name, version, organization, isPrivate: visibility === 'private' };
    } catch (cause) {
      if (cause instanceof AnnexError && cause.code === 'PUBLISH_INVALID')
        throw refused(folder, cause.problems as readonly Problem[]);
      throw cause;
    }
  }

  async #isDue(): Promise<boolean> {
    const dueAt = await this.#nextDueAt();
    return dueAt !== undefined && dueAt <= this.#time.wallNow();
  }

  /** When the next delivery, lifecycle event or schedule is due; 0 for one that is in flight. */
  async #nextDueAt(): Promise<number | undefined> {
    const { deliveryQueue, lifecycleEvents, schedules } = this.service.store;
    const request = { cursor: undefined, limit: PAGE };
    const [scheduledAt, endpoints, installations] = await Promise.all([
      schedules.nextDueAt(),
      deliveryQueue.waitingEndpoints(request),
      lifecycleEvents.waitingInstallations(request),
    ]);
    const events = await Promise.all(installations.items.map((id) => lifecycleEvents.first(id)));
    const times = [
      ...(scheduledAt === undefined ? [] : [scheduledAt]),
      ...endpoints.items.map(({ dueAt }) => dueAt),
      ...events.flatMap((event) => (event === undefined ? [] : [event.leasedUntil ? 0 : event.dueAt])),
    ];
    return times.length === 0 ? undefined : Math.min(...times);
  }
}

/** Values for secrets that have none in the manifest. No test reads those of its machine. */
async function secretsOf(
  { manifest }: FolderUpload,
  folder: string,
  given: Readonly<Record<string, string>>,
): Promise<Readonly<Record<string, string>>> {
  // The service says what is wrong with the manifest.
  if (manifest === undefined) return {};
  const declared = manifest.secrets;
  const options = Object.entries(given).map(([name, value]) => `${name}=${value}`);
  const env = { given: options, file: undefined, env: {}, cwd: folder, folder: NO_FOLDER };
  const { values, open } = await secretValues(declared, env);
  return { ...Object.fromEntries([...open.keys()].map((name) => [name, `secret-${name}`])), ...values };
}

/** Has no `.env`: that of the author has real secrets. */
const NO_FOLDER = '/nonexistent';

function contentKey(
  { files, manifestFile }: FolderUpload,
  secrets: Readonly<Record<string, string>>,
): string {
  const hash = createHash('sha256');
  const part = (bytes: Uint8Array | string) => hash.update(`${bytes.length}:`).update(bytes);
  part(manifestFile);
  part(JSON.stringify(secrets));
  for (const [path, { bytes }] of files) {
    part(path);
    part(bytes);
  }
  return hash.digest('base64url');
}

function refused(folder: string, problems: readonly Problem[]): Error {
  const lines = problems.map(({ file, line, column, message, hint }) => {
    const place = [file, line, column].filter((each) => each !== undefined).join(':');
    return `  ${place === '' ? '' : `${place}: `}${message}${hint === undefined ? '' : ` ${hint}`}`;
  });
  return new Error(`${folder} cannot be published:\n${lines.join('\n')}`);
}

type Answering = (request: OutboundRequest) => Promise<OutboundAnswer>;

/** Headers that the server sets itself, for the bytes that it sends. */
const OWN_HEADERS: ReadonlySet<string> = new Set(['connection', 'content-length', 'transfer-encoding']);

interface Connected {
  readonly origin: string;
  readonly owner: string;
}

function mockedNetwork(answering: Answering): Connect {
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

interface Timer {
  /** In ticks. */
  readonly at: number;
  run(): void;
}

interface Advancing {
  /** Waits until all that is due has been done. */
  settled(): Promise<void>;
  /** When the next work is due, in milliseconds since 1970; undefined if there is none. */
  nextDueAt(): Promise<number | undefined>;
}

class TestTime implements ServiceTime {
  #aheadMs = 0;
  readonly #timers = new Set<Timer>();

  readonly wallNow = (): number => Date.now() + this.#aheadMs;

  readonly monotonicNow = (): number => performance.now() + this.#aheadMs;

  readonly after = (ms: number, run: () => void): (() => void) => {
    const cancel = () => {
      clearTimeout(handle);
      this.#timers.delete(timer);
    };
    const timer: Timer = {
      at: this.monotonicNow() + ms,
      run: () => {
        cancel();
        run();
      },
    };
    const handle = setTimeout(timer.run, ms).unref();
    this.#timers.add(timer);
    return cancel;
  };

  /** Sets the time forward, from one time at which work is due to the next. */
  async advance(ms: number, { settled, nextDueAt }: Advancing): Promise<void> {
    await settled();
    for (let left = ms; left > 0; ) {
      const dueAt = await nextDueAt();
      // At least one: what is due at this very time is so by a clock of whole milliseconds.
      const step = dueAt === undefined ? left : Math.min(left, Math.max(1, dueAt - this.wallNow()));
      left -= step;
      this.#jump(step);
      await settled();
    }
  }

  #jump(ms: number): void {
    this.#aheadMs += ms;
    const now = this.monotonicNow();
    const due = [...this.#timers].filter(({ at }) => at <= now).sort((a, b) => a.at - b.at);
    for (const timer of due) if (this.#timers.has(timer)) timer.run();
  }
}

interface TestStreams {
  readonly from: Readable;
  readonly to: Writable;
  readonly signal: AbortSignal;
}

export async function serveTests({ from, to, signal }: TestStreams, early: EarlyProcesses): Promise<void> {
  const send = (message: ToTestKit) => void to.write(`${JSON.stringify(message)}\n`);
  const fetches = new Fetches(send);
  // A reader that has gone is noticed by the end of the other stream.
  to.on('error', () => undefined);
  const lines = createInterface({ input: from, signal });
  const closed = once(lines, 'close');
  const bed = await TestBed.start((request) => fetches.ask(request), early);
  try {
    lines.on('line', (line) => {
      const message = JSON.parse(line) as ToService;
      if (message.kind === 'answer') return fetches.answered(message.id, message.answer);
      const { id, kind: _, ...request } = message;
      bed.do(request).then(
        (value) => send({ kind: 'result', id, value: value ?? null }),
        (cause) =>
          send({ kind: 'failure', id, message: cause instanceof Error ? cause.message : `${cause}` }),
      );
    });
    send({ kind: 'ready', controlUrl: bed.service.controlUrl, token: bed.token, limits: bed.limits });
    await closed;
  } finally {
    await bed.end();
  }
}

/** Outbound requests that the test has not answered. */
class Fetches {
  readonly #send: (message: ToTestKit) => void;
  readonly #open = new Map<number, (answer: OutboundAnswer) => void>();
  #last = 0;

  constructor(send: (message: ToTestKit) => void) {
    this.#send = send;
  }

  ask(request: OutboundRequest): Promise<OutboundAnswer> {
    this.#last += 1;
    const id = this.#last;
    const { promise, resolve } = Promise.withResolvers<OutboundAnswer>();
    this.#open.set(id, resolve);
    this.#send({ kind: 'fetch', id, request });
    return promise;
  }

  answered(id: number, answer: OutboundAnswer): void {
    this.#open.get(id)?.(answer);
    this.#open.delete(id);
  }
}
