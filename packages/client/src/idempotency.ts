/**
 * Gives a body the id by which the service recognizes a repetition, so that a retry of a request
 * whose answer was lost has no second effect.
 */

/**
 * A copy with ids where there are none.
 *
 * @param paths of the id, `eventId` or `events[].eventId`; the first one that fits the body is used
 */
export function withIds(body: unknown, paths: readonly string[]): unknown {
  if (!isRecord(body)) return body;
  for (const path of paths) {
    const [list = '', member] = path.split('[].');
    const items = body[list];
    if (member === undefined) return withId(body, path);
    if (Array.isArray(items)) return { ...body, [list]: items.map((item: unknown) => withId(item, member)) };
  }
  return body;
}

const withId = (item: unknown, member: string): unknown =>
  isRecord(item) && item[member] === undefined ? { ...item, [member]: newId() } : item;

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

/** `crypto.randomUUID` exists in secure contexts only; a page on plain HTTP has none. */
function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
