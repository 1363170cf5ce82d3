/**
 * Stands for a module of Node.js that an isolate does not have. Importing it is allowed; the first
 * use of one of its functions throws an error that names the function and the importing package.
 *
 * Why: much-used packages import `http`, `zlib` or `fs` for features that code over `fetch` never
 * calls.
 */

/** A module whose own members are `present`, and whose other members are functions that throw. */
export function absent(module: string, user: string, present: object = {}): object {
  const made = new Map<string, Function>();
  const handler: ProxyHandler<object> = {
    get(_target, name) {
      if (typeof name === 'symbol') return undefined;
      // Interoperability code takes the module as it is, instead of copying the members it lists.
      if (name === '__esModule') return true;
      if (name === 'default') return exported;
      // `await import()` must not take the module for a promise.
      if (name === 'then') return undefined;
      if (name in Object.prototype) return Object.prototype[name as keyof Object];
      const member = made.get(name) ?? thrower(`${module}.${name}`, user);
      made.set(name, member);
      return member;
    },
  };
  // The members are inherited: a bundler copies own members, and keeps the prototype.
  const exported: object = Object.create(new Proxy({}, handler), Object.getOwnPropertyDescriptors(present));
  return exported;
}

/** A function, also for `new` and `extends`. */
const thrower =
  (name: string, user: string): Function =>
  (): never => {
    throw Object.assign(
      new Error(
        `${name} of Node.js does not exist in an isolate. It was used by ${user}. Use fetch, or a client for the web platform.`,
      ),
      { code: 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM' },
    );
  };
