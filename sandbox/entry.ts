/**
 * The isolate's half of the bridge: receives the entries of the cell, and sends emissions back.
 *
 * Runs once in every blank isolate, before any tenant code. From then on the tenant may replace
 * every built-in it can reach; this file therefore touches only what `primordials.ts` captured,
 * private state, and values it made itself. Nothing here is reachable from `globalThis`. It
 * enforces no limit of time or memory: the cell watches those from outside, out of reach of tenant
 * code.
 */
import type { Emit, Enter, Entry, PreludeSettings } from '../src/protocol/bridge.ts';
import type { LogLevel } from '../src/protocol/wire.ts';
import { guardedEmit, guardedNumberQuestion, guardedTextQuestion } from './bridge-guard.ts';
import { Calls } from './call.ts';
import { Fetches } from './fetch.ts';
import { Handlers } from './handlers.ts';
import { PARTS } from './parts/names.ts';
import { StorageOperations } from './storage.ts';
import { createTimers, type Timers } from './timers.ts';
import { createConsole } from './web/console/console.ts';
import { setCryptoPort } from './web/crypto/crypto-port.ts';
import { createJobPort, type JobPort } from './web/crypto/job-port.ts';
import { setRandomBytes } from './web/crypto/random.ts';
import { setContext, setRunningCall } from './web/current-call.ts';
import { DOMException } from './web/dom-exception.ts';
import { setFetchSource } from './web/fetch/fetch-source.ts';
import { exposeGlobals, installGlobals } from './web/globals.ts';
import { collectGarbage } from './web/memory/memory-escapes.ts';
import { setRefusalListener } from './web/memory/memory-refusals.ts';
import { setParts } from './web/parts.ts';
import { jsonParse } from './web/primordials.ts';
import { setTimerSource } from './web/time/timer-source.ts';
import { setDomainToAscii } from './web/url/domain.ts';
import { setWebAssemblyBounds } from './web/webassembly/needs.ts';

/** Cost of a domain look-up within the questions of an entry: quadratic, as its time is. */
const domainCost = (domain: string): number => 4 + (domain.length * domain.length) / 512;
/** Cost of random bytes within the questions of an entry. */
const randomCost = (count: number): number => 1 + count / 4_096;

export function start(
  unguardedEmit: Emit,
  domainToAscii: (domain: string) => string,
  randomBytes: (count: number) => string,
  ...parts: string[]
): Enter {
  setParts(PARTS, parts);
  const emit = guardedEmit(unguardedEmit);
  const askDomain = guardedTextQuestion(domainToAscii);
  const askRandom = guardedNumberQuestion(randomBytes);
  const calls = new Calls(emit);
  const timers = createTimers(calls, emit);
  setRunningCall(() => calls.running());

  // A synchronous question occupies a thread of the cell while the CPU clock of its call stands
  // still, so questions are bounded.
  setDomainToAscii((domain) => (calls.question(domainCost(domain)) ? askDomain(domain) : undefined));
  setRandomBytes((count) => (calls.question(randomCost(count)) ? askRandom(count) : ''));
  setRefusalListener(() => calls.exhausted());
  const jobs = createJobPort(calls, emit);
  setCryptoPort(jobs.ask);
  setTimerSource(timers.later);
  installGlobals(globalThis, {
    console: createConsole((level: LogLevel, text: string) => calls.log(level, text)),
    onUncaught: (thrown: unknown) => calls.reportException(thrown),
  });
  const fetches = new Fetches(calls, emit);
  setFetchSource((input, init) => fetches.run(input, init));
  exposeGlobals(globalThis, {
    // Not async: a promise in a promise is unwrapped by a `then` that the tenant may have replaced.
    fetch: function fetch(input: unknown, init: unknown = undefined) {
      return fetches.run(input, init, fetch);
    },
    ...timers.globals,
  });
  const storage = new StorageOperations(calls, emit);
  return entryReceiver({
    ...{ calls, timers, jobs, fetches, storage },
    handlers: new Handlers(calls, emit, storage),
  });
}

interface Receivers {
  readonly calls: Calls;
  readonly timers: Timers;
  readonly jobs: JobPort;
  readonly fetches: Fetches;
  readonly storage: StorageOperations;
  readonly handlers: Handlers;
}

function entryReceiver({ calls, timers, jobs, fetches, storage, handlers }: Receivers): Enter {
  return function enter(...entry: Entry): void {
    calls.enter(entry[1]);
    setContext(undefined);
    switch (entry[0]) {
      case 'call':
        void handlers.answer(calls.begin(entry[1]), entry);
        break;
      case 'timer':
        timers.fire(entry[1], entry[2]);
        break;
      case 'done':
        for (let at = 2; at < entry.length; at += 3)
          jobs.done(
            entry[1],
            entry[at] as number,
            entry[at + 1] as string,
            entry[at + 2] as ArrayBuffer | undefined,
          );
        break;
      case 'cancel':
        calls.cancel(entry[1]);
        break;
      case 'chunk':
        calls.get(entry[1])?.streams?.chunk(entry[2], entry[3]);
        break;
      case 'close':
        calls.get(entry[1])?.streams?.close(entry[2], entry[3]);
        break;
      case 'credit':
        calls.get(entry[1])?.streams?.credit(entry[2], entry[3]);
        break;
      case 'drop':
        calls
          .get(entry[1])
          ?.streams?.drop(entry[2], new DOMException('The receiver stopped reading', 'AbortError'));
        break;
      case 'fetched':
        fetches.answered(entry);
        break;
      case 'fetch-failed':
        fetches.failed(entry[1], entry[2], entry[3]);
        break;
      case 'stored':
        storage.answered(entry);
        break;
      case 'collect':
        collectGarbage();
        break;
      case 'load':
        calls.configure(jsonParse(entry[3]) as PreludeSettings);
        setWebAssemblyBounds(calls.settings);
        calls.begin(entry[1]);
        void handlers.load(entry[1], entry[2]);
        break;
    }
  };
}
