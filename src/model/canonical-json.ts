/**
 * JSON of which there is one text for one meaning: members in the order of their names, no white space. Two texts that were sent
 * are the same where these are.
 */

/** Levels that values may be nested: whoever walks them does so by calling itself. */
const DEPTH_MAX = 32;

/** What keeps a value that came as JSON from being passed on as it was meant; undefined where nothing does. */
export function unpassable(value: unknown, depth = 0): string | undefined {
  // 1e999 is read as infinity, and would be passed on as null.
  if (typeof value === 'number' && !Number.isFinite(value)) return 'holds a number that is too large';
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth === DEPTH_MAX) return `is nested more than ${DEPTH_MAX} levels deep`;
  for (const member of Object.values(value)) {
    const fault = unpassable(member, depth + 1);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** @param value as JSON has it, and not nested without end: `unpassable` has looked at it */
export const canonicalJson = (value: unknown): string => JSON.stringify(ordered(value));

/** The same value, with the members of each object in one order. The engine then writes it faster than it could be put together. */
function ordered(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(ordered);
  const object = value as Readonly<Record<string, unknown>>;
  const members: Record<string, unknown> = {};
  for (const name of Object.keys(object).sort()) {
    const member = ordered(object[name]);
    // Assigned, this one would be the prototype, and two different objects would be the same text.
    if (name === '__proto__') Object.defineProperty(members, name, { value: member, enumerable: true });
    else members[name] = member;
  }
  return members;
}
