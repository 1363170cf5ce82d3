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

let environmentOf: (context: CallContext) => Environment;
let apiOf: (context: CallContext) => Api;
let integrationOf: (context: CallContext) => Context['integration'];

class CallContext {
  readonly #envelope: Pick<Envelope, 'environment'>;
  #environment: Environment | undefined;
  #api: Api | undefined;
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
    integrationOf = (context) => {
      context.#integration ??= { queueTask: (queued) => apiOf(context).queueTask(queued) };
      return context.#integration;
    };
  }

  constructor(envelope: Pick<Envelope, 'environment'>, waitUntil: Context['waitUntil']) {
    this.#envelope = envelope;
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
  integration: {
    enumerable: true,
    get(this: CallContext) {
      return integrationOf(this);
    },
  },
};

/** @param envelope its `environment` is read once at most, and changed */
export const callContext = (
  envelope: Pick<Envelope, 'environment'>,
  waitUntil: Context['waitUntil'],
): Context => new CallContext(envelope, waitUntil) as unknown as Context;
