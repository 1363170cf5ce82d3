/**
 * Makes the `context` of one call. Its members are made when a handler first reads them.
 *
 * Most handlers read few of them, and parsing the environment costs more than the rest of a small
 * call. So an environment that no handler reads is never parsed.
 */
import { Api } from './api.ts';
import type { Context } from './context.ts';
import type { Envelope } from './envelope.ts';
import type { Environment } from './environment.ts';
import { sdkEnvironment } from './sdk-environment.ts';
import { type RunStorage, Storage } from './storage.ts';

let environmentOf: (context: CallContext) => Environment;
let apiOf: (context: CallContext) => Api;
let storageOf: (context: CallContext) => Storage;
let integrationOf: (context: CallContext) => Context['integration'];

class CallContext {
  readonly #envelope: Pick<Envelope, 'environment'>;
  #environment: Environment | undefined;
  #api: Api | undefined;
  readonly #runStorage: RunStorage | undefined;
  #storage: Storage | undefined;
  #integration: Context['integration'] | undefined;
  readonly waitUntil: Context['waitUntil'];

  static {
    environmentOf = (context) => {
      context.#environment ??= sdkEnvironment(context.#envelope.environment);
      return context.#environment;
    };
    apiOf = (context) => {
      context.#api ??= new Api(environmentOf(context));
      return context.#api;
    };
    storageOf = (context) => {
      context.#storage ??= new Storage(context.#runStorage, 'installation');
      return context.#storage;
    };
    integrationOf = (context) => {
      context.#integration ??= {
        storage: new Storage(context.#runStorage, 'integration'),
        queueTask: (queued) => apiOf(context).queueTask(queued),
      };
      return context.#integration;
    };
  }

  constructor(
    envelope: Pick<Envelope, 'environment'>,
    waitUntil: Context['waitUntil'],
    runStorage: RunStorage | undefined,
  ) {
    this.#envelope = envelope;
    this.#runStorage = runStorage;
    this.waitUntil = waitUntil;
    // Own members, so that authors can copy a context with `{ ...context }`. All contexts share the
    // getters: with functions of its own, each would have a shape of its own, which costs more than
    // the parsing that they avoid.
    Object.defineProperties(this, LAZY);
  }
}

const LAZY = {
  environment: {
    enumerable: true,
    get(this: CallContext) {
      return environmentOf(this);
    },
  },
  api: {
    enumerable: true,
    get(this: CallContext) {
      return apiOf(this);
    },
  },
  storage: {
    enumerable: true,
    get(this: CallContext) {
      return storageOf(this);
    },
  },
  integration: {
    enumerable: true,
    get(this: CallContext) {
      return integrationOf(this);
    },
  },
};

/**
 * @param envelope its `environment` is read once at most, and changed
 * @param runStorage the platform's function for storage, where it has one
 */
export const callContext = (
  envelope: Pick<Envelope, 'environment'>,
  waitUntil: Context['waitUntil'],
  runStorage?: RunStorage,
): Context => new CallContext(envelope, waitUntil, runStorage) as unknown as Context;
