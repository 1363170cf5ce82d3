/**
 * A cell: the child process that runs tenants' code. It reads messages of the host from its one
 * pipe and answers there.
 *
 * The host bundles it into one file and starts it with no file system, no network, no child
 * processes and no environment. It holds the data of its own tenants alone, and may die at any
 * time: it does not try to survive a broken engine (after a catastrophic V8 error `process.exit()`
 * may hang), but reports it and waits for the host to kill it.
 */

import { Socket } from 'node:net';
import { availableParallelism } from 'node:os';
import { FrameReader } from '../protocol/frames.ts';
import type { CellInspection, HostInspection } from '../protocol/inspection.ts';
import { type CellMessage, type HostMessage, ownerOf, type ScriptExports } from '../protocol/wire.ts';
import { CellCall, type StreamEntry } from './calls/cell-call.ts';
import { Outbox } from './calls/outbox.ts';
import { CryptoThreads } from './crypto/crypto-jobs.ts';
import { type Engine, loadEngine } from './engine.ts';
import { ExecutionJournal } from './execution-journal.ts';
import { CellInspector } from './inspection/cell-inspector.ts';
import { BlankIsolates } from './isolates/blank-isolates.ts';
import { Isolates } from './isolates/isolates.ts';
import { MainThread } from './isolates/main-thread.ts';
import { MemoryWatch } from './isolates/memory-watch.ts';
import { RecentCpuOfIsolates } from './isolates/recent-cpu.ts';
import { Slots } from './isolates/slots.ts';
import type { IsolateListener } from './isolates/tenant-isolate.ts';
import { Watchdog } from './isolates/watchdog.ts';

/** The pipe to the host: inherited, the only way in or out. */
const PIPE_FD = 3;
/** The file of the execution journal, inherited too. */
const JOURNAL_FD = 4;
const KIB = 1024;
const MIB = 1024 * KIB;
/**
 * Most long-running isolates beside the slots; at least as many as there are cores, so that the
 * share of one organization fills the cores while no other needs them.
 */
const LONG_RUNNING_MAX = Math.max(16, availableParallelism());
/** The host is trusted: these bounds only keep the arithmetic of the reader in range. */
const HOST_BOUNDS = { headBytes: 1024 * 1024, bodyBytes: 256 * 1024 * 1024 };

type Hello = Extract<HostMessage, { t: 'hello' }>;

class Cell {
  readonly #engine: Engine;
  readonly #outbox: Outbox;
  #isolates: Isolates | undefined;
  #memory: MemoryWatch | undefined;
  /** Absent in production. */
  #inspector: CellInspector | undefined;
  #stuck = 0;
  /** Exports of the script of each open probe, once they are known. */
  readonly #probed = new Map<number, ScriptExports | undefined>();

  constructor(engine: Engine, pipe: Socket) {
    this.#engine = engine;
    this.#outbox = new Outbox(pipe);
  }

  /** Handles one message of the host. @param body its bytes */
  receive(message: HostMessage | HostInspection, body: Buffer): void {
    // A failure to start ends the process, as an unhandled rejection: the host sees the exit.
    if (message.t === 'hello') return void this.#start(message, textsOf(body, message.sources));
    const isolates = this.#isolates;
    if (isolates === undefined) throw new Error(`The cell received \`${message.t}\` before it was ready.`);
    switch (message.t) {
      case 'call': {
        const environmentAt = message.eventBytes;
        const bodyAt = environmentAt + message.environmentBytes;
        const call = new CellCall(message, {
          url: message.url,
          event: body.toString('utf8', 0, environmentAt),
          environment: body.toString('utf8', environmentAt, bodyAt),
          body: message.bodyBytes === undefined ? undefined : body.subarray(bodyAt),
          more: message.more === true,
        });
        isolates.begin(message.isolate, message.script, call, message.limits);
        break;
      }
      case 'probe': {
        const { id } = message;
        this.#probed.set(id, undefined);
        isolates.probe(body.toString('utf8'), new CellCall(message), (exports) =>
          this.#probed.set(id, exports),
        );
        break;
      }
      case 'cancel':
        isolates.cancel(message.id);
        break;
      case 'chunk':
        isolates.receive(['chunk', message.id, message.stream, body]);
        break;
      case 'close':
        isolates.receive(['close', message.id, message.stream, message.error ?? '']);
        break;
      case 'credit':
        isolates.receive(['credit', message.id, message.stream, message.chunks]);
        break;
      case 'drop':
        isolates.receive(['drop', message.id, message.stream]);
        break;
      case 'fetched':
        isolates.receive(fetchedEntry(message, body));
        break;
      case 'fetch-failed':
        isolates.receive(['fetch-failed', message.id, message.stream, message.message]);
        break;
      case 'stored':
        isolates.receive(storedEntry(message, body));
        break;
      case 'script':
        isolates.script(message.script, body.toString('utf8'));
        break;
      case 'retire':
        isolates.retire(message.isolate);
        break;
      case 'relieve':
        this.#memory?.relieve();
        break;
      case 'ping':
        this.#pulse();
        break;
      default:
        this.#inspect(message, body);
    }
  }

  /** Attack: a message opens a debugger session in a cell that runs the code of many tenants. */
  #inspect(message: HostInspection, body: Buffer): void {
    if (this.#inspector === undefined) throw new Error('This cell was not started for inspection.');
    this.#inspector.receive(message, body);
  }

  async #start({ limits, inspect }: Hello, sources: string[]): Promise<void> {
    const inspector = inspect ? new CellInspector((...sent) => this.#send(...sent)) : undefined;
    this.#inspector = inspector;
    const blanks = new BlankIsolates({
      engine: this.#engine,
      sources,
      limits,
      inspectable: inspect === true,
      onCatastrophe: () => this.#reportStuck(),
    });
    const journal = new ExecutionJournal(JOURNAL_FD, () => this.#outbox.flush());
    const memory = new MemoryWatch({
      rssBytesMax: limits.cellRssMib * MIB,
      peakBytes: () => process.resourceUsage().maxRSS * KIB,
      now: () => performance.now(),
      note: (key) => journal.noteHolder(ownerOf(key)),
      heapBytes: (key) => this.#isolates?.heapOf(key) ?? 0,
      measure: async (key) => this.#isolates?.measure(key),
      idle: (key) => this.#isolates?.isIdle(key) ?? true,
      end: (key) => this.#isolates?.endForMemory(key),
    });
    this.#memory = memory;
    const cell = {
      engine: this.#engine,
      slots: new Slots(availableParallelism(), LONG_RUNNING_MAX),
      journal,
      memory,
      recentCpu: new RecentCpuOfIsolates((use) => memory.ran(use)),
      mainThread: new MainThread(),
      watchdog: new Watchdog(),
      limits,
      cryptoThreads: new CryptoThreads(),
      ...(inspector && { inspector }),
    };
    this.#isolates = new Isolates({
      cell,
      blanks,
      limits,
      listener: this.#listener(),
      need: (script) => this.#send({ t: 'need', script }),
    });
    await blanks.refill();
    this.#send({ t: 'ready' });
  }

  #listener(): IsolateListener {
    return {
      log: (call, level, text) => this.#send({ t: 'log', id: call.id, level }, Buffer.from(text)),
      answered: ({ id }, { body, more, ...head }, end) =>
        this.#send({ t: 'response', id, ...head, ...(more && { more }), ...(end && { end }) }, body),
      sent: (message, bytes) => this.#send(message, bytes),
      ended: ({ id }, end) => {
        if (!this.#probed.has(id)) return this.#send({ t: 'end', id, end });
        const exports = this.#probed.get(id);
        this.#probed.delete(id);
        return this.#send({ t: 'probed', id, end, ...(exports && { exports }) });
      },
      disposed: () => undefined,
      loaded: () => undefined,
      begun: ({ id }) => this.#send({ t: 'begun', id }),
      stuck: ({ key }) => this.#reportStuck(ownerOf(key)),
    };
  }

  /** A thread is lost for good, or the engine is broken: the host replaces this cell. */
  #reportStuck(owner?: string): void {
    this.#stuck += 1;
    if (owner !== undefined) this.#send({ t: 'stuck', owner });
    this.#pulse();
  }

  #pulse(): void {
    const isolates = this.#isolates;
    this.#send({
      t: 'pulse',
      isolates: isolates?.count ?? 0,
      stuck: this.#stuck,
      heapMib: isolates?.heapMib ?? 0,
    });
  }

  #send(message: CellMessage | CellInspection, ...body: Buffer[]): void {
    this.#outbox.send(message, ...body);
  }
}

function fetchedEntry(message: Extract<HostMessage, { t: 'fetched' }>, body: Buffer): StreamEntry {
  const { id, stream, status, statusText, url, redirected, headers, more } = message;
  const flat = headers.map(([name, value]) => `${name}\n${value}`).join('\n');
  const whole = body.byteLength > 0 ? body : undefined;
  return ['fetched', id, stream, status, statusText, url, redirected, flat, whole, more === true];
}

const storedEntry = (
  { id, operation, answer }: Extract<HostMessage, { t: 'stored' }>,
  body: Buffer,
): StreamEntry => ['stored', id, operation, answer, body.byteLength > 0 ? body : undefined];

/** Splits concatenated texts. @param lengths of each, in bytes */
function textsOf(bytes: Buffer, lengths: readonly number[]): string[] {
  let at = 0;
  return lengths.map((length) => {
    at += length;
    return bytes.toString('utf8', at - length, at);
  });
}

// A terminal or a supervisor sends these to the whole process group. They are meant for the host,
// which ends its cells itself.
for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM']) process.on(signal, () => undefined);
const addonPath = process.argv[2];
if (addonPath === undefined) throw new Error('usage: cell <path of the isolated-vm addon>');
const pipe = new Socket({ fd: PIPE_FD, readable: true, writable: true });
const cell = new Cell(loadEngine(addonPath), pipe);
const reader = new FrameReader(HOST_BOUNDS, (head, body) =>
  cell.receive(head as HostMessage | HostInspection, body),
);
pipe.on('data', (chunk: Buffer) => {
  if (!reader.push(chunk)) process.abort();
});
// The host has ended: there is nothing left to do.
pipe.on('close', () => {
  process.kill(process.pid, 'SIGKILL');
  // Process 1 of a namespace ignores signals that it sends to itself.
  process.abort();
});
