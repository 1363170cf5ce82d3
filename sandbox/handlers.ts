/**
 * The handlers of the tenant's script: loads the script, and runs a handler for each call.
 *
 * The answer of a handler goes out through `Calls`. Errors of the tenant end the call and never
 * reach the cell as exceptions.
 */
import type { Emit, Entry } from '../src/protocol/bridge.ts';
import type { Call, Calls } from './call.ts';
import { type EventRequest, envelopeRequest, requestOf } from './call-request.ts';
import { OWN_STREAM } from './isolate-streams.ts';
import { type Integration, loadIntegration } from './load.ts';
import type { StorageOperations } from './storage.ts';
import { formatError } from './web/console/format-error.ts';
import type { FormEntry } from './web/fetch/form-data.ts';
import { takeResponse } from './web/fetch/response.ts';
import { noteRefusal } from './web/memory/memory-refusals.ts';
import { apply, jsonParse } from './web/primordials.ts';
import { isByteSource } from './web/streams/byte-source.ts';

type CallEntry = Extract<Entry, [kind: 'call', ...unknown[]]>;

/** Index of the first text in an entry of kind `call`. */
const TEXTS_AT = 6;

export class Handlers {
  readonly #calls: Calls;
  readonly #emit: Emit;
  readonly #storage: StorageOperations;
  #integration: Integration | undefined;
  /** Text of the last environment of a module worker, and the secrets in it. */
  #environment = '';
  #secrets: Readonly<Record<string, string>> = {};

  constructor(calls: Calls, emit: Emit, storage: StorageOperations) {
    this.#calls = calls;
    this.#emit = emit;
    this.#storage = storage;
  }

  /** Runs the script and reports its handlers, or its error. */
  async load(call: number, factory: unknown): Promise<void> {
    try {
      const integration = await loadIntegration(factory);
      this.#integration = integration;
      const { fetch, sdk, components, events } = integration;
      this.#emit('loaded', call, fetch !== undefined, sdk !== undefined, components, events);
    } catch (thrown) {
      this.#emit('failed', call, formatError(thrown));
    }
    this.#calls.forget(call);
  }

  /** Runs a handler for an envelope, and sends its answer. */
  async answer(call: Call, entry: CallEntry): Promise<void> {
    try {
      const response = takeResponse(await this.#invoke(call, entry));
      if (response === undefined) {
        throw new TypeError('The fetch handler must return a Response whose body has not been read.');
      }
      const { body } = response;
      if (isByteSource(body)) this.#calls.respondStream(call, response, body);
      else this.#calls.respond(call, response, body);
    } catch (thrown) {
      noteRefusal(thrown);
      this.#calls.fail(call, thrown);
    }
  }

  /**
   * The values of the secrets, an own object for each call. The host repeats an environment for
   * half a minute, so most calls find its text unchanged and parse nothing.
   */
  #secretsIn(environment: string): Record<string, string> {
    if (environment !== this.#environment) {
      this.#environment = environment;
      this.#secrets = (jsonParse(environment) as { secrets?: Record<string, string> }).secrets ?? {};
    }
    return { ...this.#secrets };
  }

  #invoke(call: Call, entry: CallEntry): unknown {
    const body = entry[4] ? this.#calls.streams(call).receive(OWN_STREAM) : entry[3];
    const environmentAt = TEXTS_AT + entry[5];
    const event = textOf(entry, TEXTS_AT, environmentAt);
    const environment = textOf(entry, environmentAt, entry.length);
    if (this.#integration === undefined) throw new TypeError('The script has not been loaded.');
    const { sdk, fetch, handler } = this.#integration;
    const waitUntil = (promise: unknown) => this.#calls.waitUntil(call, promise);
    if (sdk !== undefined) {
      const envelope = new ParsedEnvelope(jsonParse(event), environment);
      const request = (described: EventRequest | undefined) => requestOf(call, described, body);
      const storage = (asked: unknown, value: unknown) => this.#storage.run(call, asked, value);
      return apply(sdk, handler, [envelope, { waitUntil, request, storage }]);
    }
    if (fetch === undefined) throw new TypeError('The default export has no fetch function.');
    const parts: FormEntry[] = [
      ['event', event],
      ['environment', environment],
    ];
    const request = envelopeRequest(call, entry[2], parts, body);
    return apply(fetch, handler, [request, this.#secretsIn(environment), { waitUntil }]);
  }
}

/**
 * An envelope for the SDK. The environment is parsed only if it is read: that costs more than the
 * rest of a small call.
 */
class ParsedEnvelope {
  readonly event: unknown;
  readonly #environment: string;

  constructor(event: unknown, environment: string) {
    this.event = event;
    this.#environment = environment;
  }

  get environment(): unknown {
    return jsonParse(this.#environment);
  }
}

/** Joins the pieces of a text. */
function textOf(entry: readonly unknown[], from: number, to: number): string {
  let text = '';
  for (let at = from; at < to; at += 1) text += entry[at] as string;
  return text;
}
