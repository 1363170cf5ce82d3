/**
 * `cloudflare:workers`, as far as it exists here (docs/contract/plain-workers.md#env). Only a
 * bundle that imports it, or reads bindings as globals, follows for which call its code runs.
 */
import { AsyncLocalStorage } from '../node/async-hooks.ts';
import { type Env, envOf, followScopes, type Scope } from './env.ts';

const scopes = new AsyncLocalStorage<Scope>();
followScopes((scope, run) => scopes.run(scope, run));

let outside: Env | undefined;
const present = (): Env => {
  const scope = scopes.getStore();
  if (scope !== undefined) return scope.env;
  outside ??= envOf(undefined);
  return outside;
};

/** `env` of the call that runs. */
export const env: Env = new Proxy(
  {},
  {
    get: (_target, name) => Reflect.get(present(), name),
    has: (_target, name) => Reflect.has(present(), name),
    ownKeys: () => Reflect.ownKeys(present()),
    getOwnPropertyDescriptor: (_target, name) => {
      const found = Reflect.getOwnPropertyDescriptor(present(), name);
      return found && { ...found, configurable: true };
    },
  },
);

/** Keeps the call open that runs. @throws Error outside of calls */
export function waitUntil(promise: Promise<unknown>): void {
  const scope = scopes.getStore();
  if (scope === undefined) throw new Error('waitUntil needs a call: use it in a handler.');
  scope.waitUntil(promise);
}

/** A worker as a class: an instance is made for each call. */
export class WorkerEntrypoint {
  readonly ctx: unknown;
  readonly env: unknown;
  constructor(ctx: unknown, env: unknown) {
    this.ctx = ctx;
    this.env = env;
  }
}

/** Nothing calls across workers here; a class that extends it is a class. */
export class RpcTarget {}
