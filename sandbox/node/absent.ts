/**
 * Stands for a module of Node.js that an isolate does not have. Importing it is allowed; the first
 * use of one of its functions throws an error that names the function and the importing package.
 *
 * Why: much-used packages import `http`, `zlib` or `fs` for features that code over `fetch` never
 * calls.
 */
import { unavailable } from './errors.ts';

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
    throw unavailable(name, user);
  };

/** Members of a module that the bundle carries otherwise: functions that throw, by their names. */
export const absentMembers = <Name extends string>(
  module: string,
  names: readonly Name[],
): Record<Name, Function> =>
  Object.fromEntries(
    names.map((name) => [
      name,
      function member(): never {
        throw unavailable(`${module}.${name}`);
      },
    ]),
  ) as unknown as Record<Name, Function>;
