/**
 * The isolate's half of the bridge: what the cell calls, and what answers it.
 *
 * Runs once in every blank isolate, before any tenant code. From then on the tenant may replace every built-in it can
 * reach; this file therefore touches only what `primordials.ts` captured, private state, and values it made itself.
 * Nothing here is reachable from `globalThis`. It decides no limit of time or memory: the cell watches those from
 * outside, where tenant code cannot look away from them.
 */
import type { Emit, Enter, Entry, PreludeSettings } from '../src/bridge.ts';
import type { LogLevel } from '../src/wire.ts';
import { type Call, Calls } from './call.ts';
import { type Integration, loadIntegration } from './load.ts';
import { PARTS } from './parts/names.ts';
import { createTimers } from './timers.ts';
import { fileOver } from './web/blob.ts';
import { createConsole } from './web/console.ts';
import { setDomainToAscii } from './web/domain.ts';
import { type FormData, formOf } from './web/form-data.ts';
import { formatError } from './web/format-error.ts';
import { exposeGlobals, installGlobals } from './web/globals.ts';
import { setParts } from './web/parts.ts';
import { apply, jsonParse, Uint8ArrayIntrinsic } from './web/primordials.ts';
import { setRandomBytes } from './web/random.ts';
import { makeRequest } from './web/request.ts';
import { takeResponse } from './web/response.ts';

/** What one look-up of a domain counts against the operations of an entry. */
const DOMAIN_COST = 4;

export function start(
  emit: Emit,
  domainToAscii: (domain: string) => string,
  randomBytes: (count: number) => string,
  settingsJson: string,
  ...parts: string[]
): Enter {
  setParts(PARTS, parts);
  const settings = jsonParse(settingsJson) as PreludeSettings;
  const calls = new Calls(emit, settings);
  const timers = createTimers(calls, emit, settings.timersPerCall);
  let integration: Integration | undefined;

  // A synchronous call holds a thread of the cell and stops its CPU clock: dear, and bounded.
  setDomainToAscii((domain) => (calls.operate(DOMAIN_COST) ? domainToAscii(domain) : ''));
  setRandomBytes((count) => (calls.operate() ? randomBytes(count) : ''));
  const reportError = (thrown: unknown): void => calls.reportException(thrown);
  installGlobals(globalThis, {
    console: createConsole((level: LogLevel, text: string) => calls.log(level, text)),
    onMicrotaskError: reportError,
  });
  exposeGlobals(globalThis, { reportError, ...timers.globals });

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

  async function answer(
    call: Call,
    url: string,
    event: string,
    environment: string,
    body: ArrayBuffer | undefined,
  ) {
    try {
      const response = takeResponse(await invoke(call, url, event, environment, body));
      if (response === undefined) {
        throw new TypeError('The fetch handler must return a Response that nobody has read yet.');
      }
      calls.respond(call, response.status, response.headers, response.body);
    } catch (thrown) {
      calls.fail(call, thrown);
    }
  }

  function invoke(
    call: Call,
    url: string,
    event: string,
    environment: string,
    body: ArrayBuffer | undefined,
  ): unknown {
    if (integration === undefined) throw new TypeError('The script has not been loaded.');
    const context = { waitUntil: (promise: unknown) => calls.waitUntil(call, promise) };
    const { sdk, fetch, handler } = integration;
    if (sdk !== undefined) {
      const envelope = { event: jsonParse(event), environment: jsonParse(environment), body };
      return apply(sdk, handler, [envelope, context]);
    }
    if (fetch === undefined) throw new TypeError('The default export has no fetch function.');
    // A module worker of its own making: the envelope arrives as a multipart request whose bytes are made only if asked for.
    const request = makeRequest({
      method: 'POST',
      url,
      headers: [],
      body: undefined,
      formData: () => envelopeForm(event, environment, body),
    });
    const env = (jsonParse(environment) as { secrets?: object }).secrets ?? {};
    return apply(fetch, handler, [request, env, context]);
  }

  return function enter(...entry: Entry): void {
    calls.enter(entry[1]);
    switch (entry[0]) {
      case 'call':
        void answer(calls.begin(entry[1]), entry[2], entry[3], entry[4], entry[5]);
        break;
      case 'timer':
        timers.fire(entry[1], entry[2]);
        break;
      case 'cancel':
        calls.forget(entry[1]);
        break;
      case 'load':
        calls.begin(entry[1]);
        void load(entry[1], entry[2]);
        break;
    }
  };
}

function envelopeForm(event: string, environment: string, body: ArrayBuffer | undefined): FormData {
  if (body === undefined) {
    return formOf([
      ['event', event],
      ['environment', environment],
    ]);
  }
  return formOf([
    ['event', event],
    ['environment', environment],
    ['fetch-body', fileOver(new Uint8ArrayIntrinsic(body), 'fetch-body', 'application/octet-stream')],
  ]);
}
