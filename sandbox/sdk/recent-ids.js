/**
 * Deduplication for receivers: remembers the ids of recent events, so that an event that arrives
 * twice is handled once (docs/contract/webhooks.md#receivers). A plain file that can be copied,
 * like `verify-signature.js`.
 *
 * The memory lasts as long as its process or isolate and is not shared with others. A receiver that
 * must never repeat an effect stores the id in its database, in the transaction of the effect.
 */

/** The four attempts of one delivery usually lie within a minute. */
const WINDOW_MS = 120_000;
const IDS_MAX = 10_000;

/**
 * A memory of recent event ids, made by `recentIds`.
 *
 * @typedef {object} RecentIds
 * @property {(id: string) => boolean} add remembers an id. False if it is remembered already; its
 *   time does not start anew then
 * @property {(id: string) => boolean} delete forgets the id of an event that could not be handled,
 *   so that its next attempt is handled. False if it was not remembered
 * @property {number} size number of ids that are remembered
 */

/**
 * Makes a memory of recent event ids.
 *
 * @param {number} [windowMs] milliseconds for which an id is remembered; two minutes by default
 * @param {{ max?: number, now?: () => number }} [options] `max`: number of ids beyond which the
 *   oldest is forgotten, which bounds the memory of a flood of events; 10,000 by default. `now`:
 *   clock in milliseconds; `Date.now` by default
 * @returns {RecentIds}
 *
 * @example
 * const recent = recentIds();
 * if (!recent.add(event.eventId)) return new Response('already handled');
 */
export function recentIds(windowMs = WINDOW_MS, { max = IDS_MAX, now = Date.now } = {}) {
  /** Id → time at which it was added, oldest first. @type {Map<string, number>} */
  const added = new Map();
  const forgetOld = () => {
    const limit = now() - windowMs;
    for (const [id, at] of added) {
      if (at > limit && added.size <= max) return;
      added.delete(id);
    }
  };
  return {
    add(id) {
      forgetOld();
      if (added.has(id)) return false;
      added.set(id, now());
      forgetOld();
      return true;
    },
    delete: (id) => added.delete(id),
    get size() {
      forgetOld();
      return added.size;
    },
  };
}
