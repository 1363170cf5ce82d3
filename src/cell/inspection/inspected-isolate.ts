/**
 * One isolate under inspection: its session with V8's inspector, and the clocks of its calls, which
 * stand still while a debugger has stopped it.
 *
 * The isolate has one session for its whole life, made before any code runs in it: isolated-vm ends
 * a session on another thread than the one that may be writing to it, and V8 adds one without its
 * lock. A debugger that leaves has its settings taken back instead, which also ends a pause.
 */
import type ivm from 'isolated-vm';
import { FIRST_OWN_REQUEST, INSPECTION_BOUNDS } from '../../protocol/inspection.ts';
import type { IsolateCalls } from '../calls/isolate-calls.ts';
import type { Watched } from '../isolates/watchdog.ts';

/** An isolate with its session. */
export interface Inspectable {
  readonly isolate: Pick<ivm.Isolate, 'isDisposed'>;
  /** Absent where no debugger may stop in it. */
  readonly session?: ivm.InspectorSession;
}

/** Notifications that stop and start the clocks. V8 writes the method first. */
const PAUSED = '{"method":"Debugger.paused"';
const RESUMED = '{"method":"Debugger.resumed"';
/** Takes back all that a debugger has set. The last one is answered last. */
const GOODBYE = [
  'Debugger.disable',
  'Profiler.disable',
  'HeapProfiler.disable',
  'Runtime.discardConsoleEntries',
  'Runtime.disable',
];
/**
 * A paused thread of isolated-vm sleeps through a message that comes while it handles the last one,
 * or just before it pauses, until another message wakes it. So a request without a response is
 * followed by one that asks for nothing: after this time, twice this time, and so on.
 */
const WAKE_AFTER_MS = 10;
const WAKES_MAX = 8;
const WAKE_UP = 'Runtime.getIsolateId';

/** The checks of the isolate's limits: `overrun` is all that is left of them in a pause. */
export interface PausableChecks extends Watched {
  /** Counts an entry that runs as long-running, so that other isolates get its slot. */
  overrun(now: number): void;
}

/** Keys of an isolate and of its script, as the host names them. */
export interface IsolateNames {
  readonly key: string;
  readonly script: string;
}

export interface InspectedIsolateDeps {
  readonly calls: IsolateCalls;
  readonly checks: PausableChecks;
  opened(isolate: InspectedIsolate, session: ivm.InspectorSession, of: IsolateNames): void;
  /** A message of V8 for the debugger. */
  emit(text: string): void;
  /** The debugger's settings are taken back. */
  ended(): void;
  closed(): void;
}

export class InspectedIsolate implements Watched {
  readonly #deps: InspectedIsolateDeps;
  #inspectable: Inspectable | undefined;
  /** Ids of the debugger's requests that have no response yet. */
  readonly #asked = new Set<number>();
  #lastOwn = FIRST_OWN_REQUEST;
  /** The request whose response is the last of a debugger that leaves. */
  #lastOfGoodbye: number | undefined;
  #isLost = false;
  #pausedAt: number | undefined;
  #wake: NodeJS.Timeout | undefined;

  constructor(deps: InspectedIsolateDeps) {
    this.#deps = deps;
  }

  /** The script is about to be compiled. */
  open(inspectable: Inspectable, names: IsolateNames): void {
    const { session } = inspectable;
    if (session === undefined) return;
    this.#inspectable = inspectable;
    session.onResponse = (id, text) => this.#responded(id, text);
    session.onNotification = (text) => this.#notified(text);
    this.#deps.opened(this, session, names);
  }

  /** The isolate is about to be disposed of. */
  close(): void {
    clearTimeout(this.#wake);
    this.#inspectable = undefined;
    this.#isLost = true;
    this.#deps.closed();
  }

  /** Passes on a request of the debugger. */
  dispatch(text: string): void {
    const [, id] = /^\{"id":(\d{1,10}),/.exec(text) ?? [];
    if (id === undefined) return;
    this.#asked.add(Number(id));
    this.#dispatch(text);
    this.#wakeSoon();
  }

  /** The debugger gets nothing more, because it does not read. */
  lose(): void {
    this.#isLost = true;
  }

  /** The debugger has left. Another one may come after `ended`. */
  end(): void {
    this.#asked.clear();
    this.#isLost = true;
    for (const method of GOODBYE) this.#lastOfGoodbye = this.#request(method);
    this.#wakeSoon();
  }

  get running(): boolean {
    return this.#pausedAt === undefined && this.#deps.checks.running;
  }

  checkCpu(now: number, share: number): void {
    if (this.#pausedAt === undefined) this.#deps.checks.checkCpu(now, share);
    else this.#deps.checks.overrun(now);
  }

  checkWall(now: number): void {
    if (this.#pausedAt === undefined) this.#deps.checks.checkWall(now);
  }

  #responded(id: number, text: string): void {
    if (this.#asked.delete(id)) this.#emit(text, () => tooLarge(id));
    if (id !== this.#lastOfGoodbye) return;
    this.#lastOfGoodbye = undefined;
    this.#isLost = false;
    // V8 does not report the end of a pause to a debugger that has left.
    this.#resumed();
    this.#deps.ended();
  }

  #notified(text: string): void {
    if (text.startsWith(PAUSED)) this.#paused();
    else if (text.startsWith(RESUMED)) this.#resumed();
    this.#emit(text, () => undefined);
  }

  #paused(): void {
    this.#pausedAt ??= performance.now();
    this.#wakeSoon();
  }

  /** The time of the pause counts for no call. */
  #resumed(): void {
    if (this.#pausedAt === undefined) return;
    const now = performance.now();
    for (const call of this.#deps.calls.values()) call.excuse(this.#pausedAt, now);
    this.#deps.calls.loader?.excuse(this.#pausedAt, now);
    this.#pausedAt = undefined;
  }

  #emit(text: string, instead: () => string | undefined): void {
    if (this.#isLost) return;
    const fits = Buffer.byteLength(text) <= INSPECTION_BOUNDS.messageBytes;
    const sent = fits ? text : instead();
    if (sent !== undefined) this.#deps.emit(sent);
  }

  #wakeSoon(wakes = 0): void {
    clearTimeout(this.#wake);
    this.#wake = setTimeout(
      () => {
        if (this.#asked.size === 0 && this.#lastOfGoodbye === undefined) return;
        this.#request(WAKE_UP);
        if (wakes + 1 < WAKES_MAX) this.#wakeSoon(wakes + 1);
      },
      WAKE_AFTER_MS * 2 ** wakes,
    );
  }

  /** A request of the cell itself; its response goes nowhere. @returns its id */
  #request(method: string): number {
    this.#lastOwn += 1;
    this.#dispatch(JSON.stringify({ id: this.#lastOwn, method }));
    return this.#lastOwn;
  }

  #dispatch(text: string): void {
    // isolated-vm ends the process where the isolate has been disposed of. The engine does that by
    // itself where memory runs out; the end of the entry reports it.
    if (this.#inspectable?.isolate.isDisposed !== false) return;
    this.#inspectable.session?.dispatchProtocolMessage(text);
  }
}

const tooLarge = (id: number): string => {
  const message = `The answer is larger than ${INSPECTION_BOUNDS.messageBytes} bytes.`;
  return JSON.stringify({ id, error: { code: -32_000, message } });
};
