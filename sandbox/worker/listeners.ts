/**
 * Workers of the older kind, which register `addEventListener('fetch', …)` and read bindings as
 * globals (docs/contract/plain-workers.md#listeners).
 */
import type { Env, WorkerSettings } from './env.ts';
import { env } from './module.ts';

type Listener = (event: object) => unknown;

const listeners = new Map<string, Listener>();
const own = globalThis.addEventListener;

globalThis.addEventListener = function (this: unknown, type: string, listener: unknown, ...rest: unknown[]) {
  if (type !== 'fetch' && type !== 'scheduled')
    return Reflect.apply(own, this ?? globalThis, [type, listener, ...rest]);
  const { handleEvent } = listener as { handleEvent?: unknown };
  const call = typeof listener === 'function' ? listener : handleEvent;
  // Of several listeners the first one that answers counts; bundles have one.
  if (typeof call === 'function' && !listeners.has(type))
    listeners.set(type, (event) => Reflect.apply(call, listener, [event]));
} as typeof own;

/** Puts the names of `env` on the global object, where it has none of its own. */
export function setGlobals({ vars, secrets, kv, assets }: WorkerSettings): void {
  const names = [...Object.keys(vars), ...secrets, ...kv, ...(assets === undefined ? [] : [assets])];
  for (const name of [...names, 'CONFIGURATION', 'ANNEX']) {
    if (name in globalThis) continue;
    Object.defineProperty(globalThis, name, { get: () => env[name], configurable: true });
  }
}

interface Ctx {
  waitUntil(promise: Promise<unknown>): void;
  passThroughOnException(): void;
}

/** The handlers that were registered. */
export const listening = () => ({
  ...(listeners.has('fetch') && { fetch: answerFetch }),
  ...(listeners.has('scheduled') && { scheduled: runScheduled }),
});

async function answerFetch(request: Request, _env: Env, ctx: Ctx): Promise<unknown> {
  let answer: { readonly given: unknown } | undefined;
  await listeners.get('fetch')?.({
    ...{ type: 'fetch', request },
    waitUntil: (promise: Promise<unknown>) => ctx.waitUntil(promise),
    passThroughOnException: () => ctx.passThroughOnException(),
    respondWith(given: unknown) {
      if (answer !== undefined) throw new TypeError('respondWith was already called for this request.');
      answer = { given };
    },
  });
  if (answer === undefined) throw new TypeError('The fetch listener did not call respondWith.');
  return answer.given;
}

async function runScheduled(controller: object, _env: Env, ctx: Ctx): Promise<void> {
  const { scheduledTime, cron } = controller as { scheduledTime: number; cron: string };
  const waiting: Promise<unknown>[] = [];
  await listeners.get('scheduled')?.({
    ...{ type: 'scheduled', scheduledTime, cron },
    waitUntil(promise: Promise<unknown>) {
      waiting.push(promise);
      ctx.waitUntil(promise);
    },
  });
  // What the listener waits for is its work: it decides whether the run has failed.
  await Promise.all(waiting);
}
