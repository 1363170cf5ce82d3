/**
 * A memory for receivers: the ids of events that were taken in of late, so that one that comes twice is handled once (SPEC
 * "Webhook events"). A plain file that can be copied, like `verify-signature.js`.
 *
 * It is as long as its process or isolate and no longer, and two of them know nothing of each other. What must never happen
 * twice needs its ids where its results are: in the receiver's database, in the same transaction.
 */

/** The window that the specification recommends. The four requests of one delivery lie within a minute, as a rule. */
const WINDOW_MS = 120_000;
const IDS_MAX = 10_000;

/**
 * @typedef {object} RecentIds
 * @property {(id: string) => boolean} add remembers an id. False where it is remembered already, which makes it no younger
 * @property {(id: string) => boolean} delete forgets one whose event could not be handled, so that it may come again. False
 *   where it was not there
 * @property {number} size how many are remembered
 */

/**
 * @param {number} [windowMs] how long an id is remembered
 * @param {{ max?: number, now?: () => number }} [options] `max`: how many at most, beyond which the oldest is forgotten, so that a
 *   flood of events costs a bounded amount of memory; `now`: milliseconds, `Date.now` unless given
 * @returns {RecentIds}
 */
export function recentIds(windowMs = WINDOW_MS, { max = IDS_MAX, now = Date.now } = {}) {
  /** Id → when it was added; in that order, so the first is the oldest. @type {Map<string, number>} */
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
