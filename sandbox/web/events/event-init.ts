/**
 * The init dictionary of an event's interface, as Web IDL reads dictionaries: each member is read
 * and converted before the next one is read, in the order of their names. A script's getters can
 * observe this order.
 */
import { objectCreate, objectKeys } from '../primordials.ts';
import { toDictionary } from '../web-idl.ts';

/** Default of an undefined member, and conversion of any other value. */
type Member<T> = readonly [fallback: unknown, convert: (value: unknown) => T];
type Members = Readonly<Record<string, Member<unknown>>>;
type Init<M extends Members> = { readonly [K in keyof M]: M[K] extends Member<infer T> ? T : never };

/** For a member that may be any value. */
export const asIs = (value: unknown): unknown => value;

/**
 * @param members in the order of their names
 * @returns a function that reads such a dictionary; `what` names it in errors
 */
export function initReader<M extends Members>(members: M, what: string): (init: unknown) => Init<M> {
  const names = objectKeys(members);
  return (dictionary) => {
    const given = toDictionary(dictionary, what);
    const init = objectCreate(null) as Record<string, unknown>;
    for (let i = 0; i < names.length; i++) {
      const name = names[i] as string;
      // By index: destructuring an array would call an iterator that the script may have replaced.
      const member = members[name] as Member<unknown>;
      const value = given[name];
      init[name] = member[1](value === undefined ? member[0] : value);
    }
    return init as Init<M>;
  };
}
