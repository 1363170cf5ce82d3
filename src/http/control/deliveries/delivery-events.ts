/**
 * Changes of deliveries as server-sent events: what they are read from, and their text, which is
 * made once for all followers that get a change.
 */
import type { DeliveryChange } from '../../../store/deliveries/delivery-change.ts';
import type { DeliveryFeed } from '../../../store/deliveries/delivery-feed.ts';
import type { DeliveryFilter } from '../../../store/deliveries/delivery-search.ts';
import type { Source } from '../following/event-stream.ts';
import { isoTime } from '../schemas.ts';
import { attemptView, deliveryView } from './delivery-view.ts';

/** Estimated text of a change. */
const CHANGE_BYTES = 900;

export const deliveryEvents = (
  feed: Pick<DeliveryFeed, 'follow' | 'newest' | 'changesAfter'>,
  filter: DeliveryFilter,
): Source<DeliveryChange> => ({
  follow(changed, lost) {
    return { begun: undefined, end: feed.follow({ filter, changed, lost }) };
  },
  newest: (count) => feed.newest(filter, count),
  after: (id) => feed.changesAfter(filter, id),
  bytesOf: () => CHANGE_BYTES,
  textOf: (changes) => Buffer.from(changes.map(textOf).join('')),
});

const TEXTS = new WeakMap<DeliveryChange, string>();

function textOf(change: DeliveryChange): string {
  const text = TEXTS.get(change) ?? `id: ${change.id}\ndata: ${JSON.stringify(changeView(change))}\n\n`;
  TEXTS.set(change, text);
  return text;
}

const changeView = ({ at, delivery, attempt, ...rest }: DeliveryChange) => ({
  ...rest,
  at: isoTime(at),
  delivery: deliveryView(delivery),
  ...(attempt && { attempt: attemptView(attempt) }),
});
