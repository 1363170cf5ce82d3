/**
 * Canonical JSON: members sorted by name, no white space. Two JSON values are equal exactly when
 * their canonical texts are equal.
 */

/** Maximum nesting of a value. The functions that walk values are recursive, so depth is stack. */
const DEPTH_MAX = 32;

/**
 * Finds why a parsed JSON value cannot be passed on unchanged.
 * @returns a clause that follows the
 * value's name, or undefined where the value is fine
 */
export function unpassable(value: unknown, depth = 0): string | undefined {
  // `JSON.parse` reads 1e999 as infinity, which `JSON.stringify` writes as null.
  if (typeof value === 'number' && !Number.isFinite(value)) return 'holds a number that is too large';
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth === DEPTH_MAX) return `is nested more than ${DEPTH_MAX} levels deep`;
  for (const member of Object.values(value)) {
    const fault = unpassable(member, depth + 1);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** @param value parsed JSON that `unpassable` has accepted, so its depth is bounded */
export const canonicalJson = (value: unknown): string => JSON.stringify(ordered(value));

/**
 * The same value with sorted members. `JSON.stringify` of it is faster than building the text here.
 */
function ordered(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(ordered);
  const object = value as Readonly<Record<string, unknown>>;
  const members: Record<string, unknown> = {};
  for (const name of Object.keys(object).sort()) {
    const member = ordered(object[name]);
    // Attack: an assignment would set the prototype, and two different objects would have the same
    // text.
    if (name === '__proto__') Object.defineProperty(members, name, { value: member, enumerable: true });
    else members[name] = member;
  }
  return members;
}
