/**
 * The isolate's half of the bridge: what the cell calls, and what answers it.
 *
 * Runs once in every blank isolate, before any tenant code. From then on the tenant may replace every built-in it can
 * reach; this file therefore touches only what `primordials.ts` captured, private state, and values it made itself.
 * Nothing here is reachable from `globalThis`. It decides no limit of time or memory: the cell watches those from
 * outside, where tenant code cannot look away from them.
 */
import type { Emit, Enter, Entry, PreludeSettings } from '../src/protocol/bridge.ts';
import type { LogLevel } from '../src/protocol/wire.ts';
import { type Call, Calls } from './call.ts';
import { type CallBody, type EventRequest, envelopeRequest, requestOf } from './call-request.ts';
import { guardedEmit, guardedNumberQuestion, guardedTextQuestion } from './crossing.ts';
import { createFetches } from './fetch.ts';
import { type Integration, loadIntegration } from './load.ts';
import { PARTS } from './parts/names.ts';
import { createTimers } from './timers.ts';
import { OWN_STREAM } from './traffic.ts';
import { createConsole } from './web/console/console.ts';
import { formatError } from './web/console/format-error.ts';
import { setCryptoPort } from './web/crypto/crypto-port.ts';
import { createJobPort } from './web/crypto/job-port.ts';
import { setRandomBytes } from './web/crypto/random.ts';
import { DOMException } from './web/dom-exception.ts';
import { takeResponse } from './web/fetch/response.ts';
import { exposeGlobals, installGlobals } from './web/globals.ts';
import { collectGarbage } from './web/memory/memory-escapes.ts';
import { noteRefusal, setRefusalListener } from './web/memory/memory-refusals.ts';
import { setParts } from './web/parts.ts';
import { apply, jsonParse } from './web/primordials.ts';
import { isByteSource } from './web/streams/byte-source.ts';
import { setTimerSource } from './web/time/timer-source.ts';
import { setDomainToAscii } from './web/url/domain.ts';

/** Where the texts of an entry of kind `call` begin. */
const TEXTS_AT = 6;
/** What a look-up of a domain counts against the questions of an entry: what it takes grows with the square of its length. */
const domainCost = (domain: string): number => 4 + (domain.length * domain.length) / 512;
/** What random bytes count against them. */
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
  let integration: Integration | undefined;

  // A synchronous call holds a thread of the cell and stops its CPU clock: dear, and bounded.
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
  const fetches = createFetches(calls, emit);
  exposeGlobals(globalThis, { fetch: fetches.fetch, ...timers.globals });

  async function load(call: number, factory: unknown): Promise<void> {
    try {
      integration = await loadIntegration(factory);
      emit(
        'loaded',
        call,
        integration.fetch !== undefined,
        integration.sdk !== undefined,
        integration.components,
        integration.events,
      );
    } catch (thrown) {
      emit('failed', call, formatError(thrown));
    }
    calls.forget(call);
  }

  async function answer(call: Call, url: string, event: string, environment: string, body: CallBody) {
    try {
      const response = takeResponse(await invoke(call, url, event, environment, body));
      if (response === undefined) {
        throw new TypeError('The fetch handler must return a Response that nobody has read yet.');
      }
      const { status, headers, body: answered } = response;
      if (isByteSource(answered)) calls.respondStream(call, status, headers, answered);
      else calls.respond(call, status, headers, answered);
    } catch (thrown) {
      noteRefusal(thrown);
      calls.fail(call, thrown);
    }
  }

  function invoke(call: Call, url: string, event: string, environment: string, body: CallBody): unknown {
    if (integration === undefined) throw new TypeError('The script has not been loaded.');
    const { sdk, fetch, handler } = integration;
    if (sdk !== undefined) {
      const envelope = { event: jsonParse(event), environment: jsonParse(environment) };
      const execution = {
        waitUntil: (promise: unknown) => calls.waitUntil(call, promise),
        request: (described: EventRequest | undefined) => requestOf(call, described, body),
      };
      return apply(sdk, handler, [envelope, execution]);
    }
    if (fetch === undefined) throw new TypeError('The default export has no fetch function.');
    const request = envelopeRequest(call, url, event, environment, body);
    const env = (jsonParse(environment) as { secrets?: object }).secrets ?? {};
    const execution = {
      waitUntil: (promise: unknown) => calls.waitUntil(call, promise),
    };
    return apply(fetch, handler, [request, env, execution]);
  }

  return function enter(...entry: Entry): void {
    calls.enter(entry[1]);
    switch (entry[0]) {
      case 'call': {
        const call = calls.begin(entry[1]);
        const body = entry[4] ? calls.traffic(call).receive(OWN_STREAM) : entry[3];
        const environmentAt = TEXTS_AT + entry[5];
        const event = textOf(entry, TEXTS_AT, environmentAt);
        void answer(call, entry[2], event, textOf(entry, environmentAt, entry.length), body);
        break;
      }
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
        calls.get(entry[1])?.traffic?.chunk(entry[2], entry[3]);
        break;
      case 'close':
        calls.get(entry[1])?.traffic?.close(entry[2], entry[3]);
        break;
      case 'credit':
        calls.get(entry[1])?.traffic?.credit(entry[2], entry[3]);
        break;
      case 'drop':
        calls.get(entry[1])?.traffic?.drop(entry[2], new DOMException('Nobody reads on', 'AbortError'));
        break;
      case 'fetched': {
        const head = {
          status: entry[3],
          statusText: entry[4],
          url: entry[5],
          redirected: entry[6],
          headers: entry[7],
        };
        fetches.answered(entry[1], entry[2], head, entry[8], entry[9]);
        break;
      }
      case 'fetch-failed':
        fetches.failed(entry[1], entry[2], entry[3]);
        break;
      case 'collect':
        collectGarbage();
        break;
      case 'load':
        calls.configure(jsonParse(entry[3]) as PreludeSettings);
        calls.begin(entry[1]);
        void load(entry[1], entry[2]);
        break;
    }
  };
}

/** The pieces of a text, in one. */
function textOf(entry: readonly unknown[], from: number, to: number): string {
  let text = '';
  for (let at = from; at < to; at += 1) text += entry[at] as string;
  return text;
}
