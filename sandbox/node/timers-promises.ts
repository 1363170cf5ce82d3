/**
 * `node:timers/promises`: timers of the isolate as promises, which a signal ends early.
 */

interface Options {
  readonly signal?: AbortSignal;
}

export function setTimeout<T>(delay = 0, value?: T, { signal }: Options = {}): Promise<T | undefined> {
  const waiting = Promise.withResolvers<T | undefined>();
  if (signal?.aborted) return Promise.reject(signal.reason);
  const abort = (): void => {
    clearTimeout(timer);
    waiting.reject(signal?.reason);
  };
  const timer = globalThis.setTimeout(() => {
    signal?.removeEventListener('abort', abort);
    waiting.resolve(value);
  }, delay);
  signal?.addEventListener('abort', abort, { once: true });
  return waiting.promise;
}

export const setImmediate = <T>(value?: T, options?: Options): Promise<T | undefined> =>
  setTimeout(0, value, options);

export async function* setInterval<T>(
  delay = 1,
  value?: T,
  options?: Options,
): AsyncGenerator<T | undefined> {
  for (;;) yield await setTimeout(delay, value, options);
}

export const scheduler = {
  wait: (delay: number, options?: Options): Promise<undefined> => setTimeout(delay, undefined, options),
  yield: (): Promise<undefined> => setTimeout(0, undefined),
};

export default { setTimeout, setImmediate, setInterval, scheduler };
