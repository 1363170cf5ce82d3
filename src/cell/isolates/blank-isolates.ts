/**
 * Blank isolates: a V8 heap, a context and the prelude, with no tenant code in them yet. A few are
 * kept ready, so that the first call of an installation waits for its own script alone.
 *
 * The prelude is compiled from source once per cell; its code cache, made here and before any
 * tenant code exists, serves every isolate. A cache is machine code: none is ever taken from a
 * tenant's script.
 */

import { randomBytes } from 'node:crypto';
import { domainToASCII } from 'node:url';
import type ivm from 'isolated-vm';
import type { Emission, StartPrelude } from '../../protocol/bridge.ts';
import { type CellLimits, PRELUDE_URL } from '../../protocol/wire.ts';
import type { Engine } from '../engine.ts';

/**
 * A refill costs milliseconds of the same cores: it waits until the call that took an isolate has
 * its answer.
 */
const REFILL_AFTER_MS = 15;
/** RFC 1035 allows 255 octets. The time of a conversion grows with the square of this. */
const DOMAIN_CHARS_MAX = 255;

/** Web Crypto's own bound on one call of `getRandomValues`. */
const RANDOM_BYTES_MAX = 65_536;

export interface BlankIsolate {
  readonly isolate: ivm.Isolate;
  readonly context: ivm.Context;
  /** The prelude's `Enter`. */
  readonly enter: ivm.Reference;
  readonly listener: EmissionListener;
  /** Its session with V8's inspector, in a cell that was started for inspection. */
  readonly session?: ivm.InspectorSession;
  /** Ends it, whatever it is doing. */
  dispose(): void;
}

/**
 * Receives an isolate's emissions. The tenant isolate that takes a blank one replaces its methods.
 */
export interface EmissionListener {
  listen(emission: Emission): void;
  /** The cell's main thread has worked for the isolate. */
  worked(workedMs: number): void;
  /** The isolate has broken the engine. */
  broken(): void;
}

export interface BlankIsolatesDeps {
  readonly engine: Engine;
  /** The prelude, then its parts. */
  readonly sources: readonly string[];
  readonly limits: CellLimits;
  /** Whether a debugger may stop in them. */
  readonly inspectable: boolean;
  onCatastrophe(): void;
}

export class BlankIsolates {
  readonly #engine: Engine;
  readonly #prelude: string;
  /**
   * Texts of the parts: one copy of each outside all heaps, of which every isolate's string is a
   * view.
   */
  readonly #parts: readonly ivm.ExternalCopy<string>[];
  readonly #limits: CellLimits;
  readonly #onCatastrophe: () => void;
  readonly #inspectable: boolean;
  readonly #ready: BlankIsolate[] = [];
  #cache: CodeCache;
  #refilling = false;

  constructor({ engine, sources, limits, onCatastrophe, inspectable }: BlankIsolatesDeps) {
    const [prelude = '', ...parts] = sources;
    this.#engine = engine;
    this.#prelude = prelude;
    this.#parts = parts.map((text) => new engine.ExternalCopy(text));
    this.#limits = limits;
    this.#onCatastrophe = onCatastrophe;
    this.#inspectable = inspectable;
  }

  /**
   * A blank isolate: one that is ready, where there is one and `heapMib` is the deployment's; else
   * a new one.
   *
   * @param isBackground for background calls alone: a backlog leaves the ready ones to foreground
   * calls
   */
  async take(heapMib: number, isBackground: boolean): Promise<BlankIsolate> {
    if (isBackground || heapMib !== this.#limits.isolateHeapMib) return this.#make(heapMib);
    const blank = this.#ready.pop() ?? (await this.#make());
    setTimeout(() => void this.refill(), REFILL_AFTER_MS);
    return blank;
  }

  /** Makes as many ready as are to be kept, one at a time. */
  async refill(): Promise<void> {
    if (this.#refilling) return;
    this.#refilling = true;
    try {
      while (this.#ready.length < this.#limits.warmIsolatesPerCell) this.#ready.push(await this.#make());
    } finally {
      this.#refilling = false;
    }
  }

  async #make(heapMib = this.#limits.isolateHeapMib): Promise<BlankIsolate> {
    this.#cache ??= await this.#warmUp();
    const blank = await this.#begin(
      (isolate) => isolate.compileScript(this.#prelude, { filename: PRELUDE_URL, ...cached(this.#cache) }),
      heapMib,
      this.#inspectable,
    );
    // A tenth of what it holds is garbage of its making; no call waits while it is collected here.
    await blank.enter.apply(undefined, ['collect', 0]);
    return blank;
  }

  /**
   * Makes the code cache. V8 compiles a function when it first runs; compiling the same source
   * again in the same isolate caches all that has been compiled by then.
   */
  async #warmUp(): Promise<CodeCache> {
    const compile = (isolate: ivm.Isolate, produceCachedData = false) =>
      isolate.compileScript(this.#prelude, { filename: PRELUDE_URL, produceCachedData });
    const { isolate, context, enter } = await this.#begin(compile, this.#limits.isolateHeapMib);
    try {
      const factory = await (await isolate.compileScript(WARM_UP_SCRIPT)).run(context, { reference: true });
      const { url, event, environment, body } = WARM_UP_CALL;
      const settings = JSON.stringify(this.#limits);
      await enter.apply(undefined, ['load', 1, factory.derefInto({ release: true }), settings]);
      const bytes = new this.#engine.ExternalCopy(Buffer.from(body)).copyInto({ release: true });
      await enter.apply(undefined, ['call', 2, url, bytes, false, 1, event, environment]);
      const script: ivm.Script & ivm.CachedDataResult = await compile(isolate, true);
      return script.cachedData;
    } finally {
      isolate.dispose();
    }
  }

  /** An isolate in which the prelude has run. */
  async #begin(
    compile: (isolate: ivm.Isolate) => Promise<ivm.Script>,
    heapMib: number,
    inspectable = false,
  ): Promise<BlankIsolate> {
    const listener: EmissionListener = {
      listen: () => undefined,
      worked: () => undefined,
      broken: this.#onCatastrophe,
    };
    const isolate = new this.#engine.Isolate({
      memoryLimit: heapMib,
      inspector: inspectable,
      onCatastrophicError: () => listener.broken(),
    });
    try {
      const context = await isolate.createContext({ inspector: inspectable });
      const session = inspectable ? openSession(this.#engine, isolate, context) : undefined;
      const script = await compile(isolate);
      const start: ivm.Reference<StartPrelude> = await script.run(context, { reference: true });
      script.release();
      const startArguments = [
        new this.#engine.Callback((...emission: Emission) => receive(listener, emission), { ignored: true }),
        new this.#engine.Callback((domain: unknown) => answer(listener, domainToAscii, domain), {
          sync: true,
        }),
        new this.#engine.Callback((count: unknown) => answer(listener, randomText, count), { sync: true }),
        ...this.#parts.map((text) => text.copyInto()),
      ];
      const enter = await start.apply(undefined, startArguments as never, { result: { reference: true } });
      start.release();
      const dispose = session
        ? () => endInspected(isolate, session)
        : () => isolate.isDisposed || isolate.dispose();
      return { isolate, context, enter, listener, dispose, ...(session && { session }) };
    } catch (cause) {
      isolate.dispose();
      throw cause;
    }
  }
}

type CodeCache = ivm.CachedDataResult['cachedData'];
const cached = (cache: CodeCache): { cachedData?: NonNullable<CodeCache> } =>
  cache === undefined ? {} : { cachedData: cache };

/**
 * Emissions that cannot be a flood: those that each call makes once, and chunks of bodies, for
 * which the host gives credit. Jobs are counted where they are run (`crypto-jobs.ts`).
 */
const BOUNDED: ReadonlySet<unknown> = new Set<Emission[0]>([
  'respond',
  'large',
  'end',
  'chunk',
  'close',
  'job',
]);

/** Time of the main thread to receive one emission, apart from handling it. */
const EMISSION_MS = 0.005;

function receive(listener: EmissionListener, emission: Emission): void {
  if (BOUNDED.has(emission[0])) return listener.listen(emission);
  const began = performance.now();
  listener.listen(emission);
  return listener.worked(performance.now() - began + EMISSION_MS);
}

/** Answers a synchronous call of the isolate. The isolate's CPU clock does not count the time. */
function answer(
  listener: EmissionListener,
  callback: (argument: unknown) => string,
  argument: unknown,
): string {
  const began = performance.now();
  const result = callback(argument);
  listener.worked(performance.now() - began + EMISSION_MS);
  return result;
}

/** So many random bytes as Latin-1 text. Never throws, for the same reason as `domainToAscii`. */
function randomText(count: unknown): string {
  if (!Number.isInteger(count) || (count as number) < 1 || (count as number) > RANDOM_BYTES_MAX) return '';
  return randomBytes(count as number).toString('latin1');
}

/** Never throws: an error of a host callback would show the host's paths to the tenant. */
function domainToAscii(domain: unknown): string {
  if (typeof domain !== 'string' || domain.length > DOMAIN_CHARS_MAX) return '';
  return domainToASCII(domain);
}

/** Ends a pause, stops what runs, and wakes the thread if it has slept through the former. */
const LAST_REQUESTS = ['Debugger.disable', 'Runtime.terminateExecution', 'Runtime.getIsolateId'];
const WAKE_AFTER_MS = [10, 30, 100, 300];

/**
 * The beginning and the end of an isolate's session with V8's inspector, around what isolated-vm
 * does wrong (docs/decisions/inspection.md). Only a cell that was started for inspection uses it.
 *
 * Makes the session, before any tenant code is in the isolate.
 *
 * V8 ends the process where a session is made without the isolate's lock, and isolated-vm does not
 * take it. So the isolate is entered, and makes its session in a callback: the thread has the lock
 * meanwhile.
 */
function openSession(
  engine: Engine,
  isolate: ivm.Isolate,
  context: ivm.Context,
): ivm.InspectorSession | undefined {
  let session: ivm.InspectorSession | undefined;
  const open = () => {
    session = isolate.createInspectorSession();
  };
  context.evalClosureSync('$0()', [new engine.Callback(open, { sync: true })]);
  return session;
}

/**
 * Ends what an isolate does, and leaves its memory to the end of the cell: isolated-vm waits for
 * itself for ever where an isolate with a session is disposed of, and ends the process where a
 * session is.
 */
function endInspected(isolate: ivm.Isolate, session: ivm.InspectorSession): void {
  const send = (method: string) => {
    // A message to an isolate that the engine has disposed of would end the process.
    if (!isolate.isDisposed) session.dispatchProtocolMessage(JSON.stringify({ id: 0, method }));
  };
  session.onNotification = () => undefined;
  session.onResponse = () => undefined;
  for (const method of LAST_REQUESTS) send(method);
  for (const ms of WAKE_AFTER_MS) setTimeout(send, ms, LAST_REQUESTS.at(-1) ?? '').unref();
}

/**
 * A script that does what most integrations do. It runs once in an isolate that no tenant ever
 * sees: the functions of the prelude that V8 has compiled by then go into the code cache, from
 * which every blank isolate starts.
 *
 * The script is Annex's own, and the cache is made before any tenant code exists in the cell.
 *
 * Its value is that of a bundle: an async function that passes on the namespace of its entry
 * module.
 */
const WARM_UP_SCRIPT = `(async function (run) { run({ default: {
  fetch() {},
  [Symbol.for('annex.integration')]: {
    components: [],
    events: [],
    async handle({ event }, execution) {
      execution.waitUntil(Promise.resolve());
      const request = execution.request(event.request);
      request.headers.get('content-type');
      const { hello } = await request.clone().json();
      const bytes = new TextEncoder().encode(await request.text());
      new TextDecoder().decode(bytes);
      clearTimeout(setTimeout(() => {}, 1));
      console.log('hello', { hello });
      new Response('text', { status: 200, headers: { 'content-type': 'text/plain' } });
      return Response.json({ hello }, { headers: new Headers([['x-warm-up', 'yes']]) });
    },
  },
} }); })`;

/** An envelope for it. */
const WARM_UP_CALL = {
  url: 'https://warm-up.invalid/v1',
  event: JSON.stringify({
    eventId: 'warm-up',
    type: 'fetch',
    request: {
      method: 'POST',
      url: 'https://warm-up.invalid/path?query=1',
      headers: { 'content-type': 'application/json', accept: '*/*' },
    },
  }),
  environment: JSON.stringify({ secrets: {}, integration: { name: 'warm-up' } }),
  body: '{"hello":"world"}',
};
