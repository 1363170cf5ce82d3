/**
 * Resolves an event's recipients among the targets of its organization; cached per place,
 * invalidated after each commit (docs/contract/events.md#subscribers).
 *
 * An active installation receives an event through its target in that space or site, which must be
 * active, too. Without a target there it receives it through the installation itself, if its
 * selection is `all`. Its code must handle the type and have the scope that the type needs. If it
 * posts webhooks, the settings of that space or site must select the type.
 *
 * Inactive targets that would otherwise receive the event are listed apart, so that the reason is
 * stored with it.
 *
 * Resolved thousands of times a second. Invalidation comes after a commit and before its answer, so
 * an event posted after the answer sees the change. Each organization is invalidated by itself.
 * Attack: to slow down other organizations' events by changing one's own installations in a loop.
 */
import { LRUCache } from 'lru-cache';
import { entryCache } from '../../../model/entry-cache.ts';
import type { PostedEvent } from '../../store/deliveries/delivery.ts';
import type { Absentee, Addressee, Recipients } from '../../store/events/event-rows.ts';
import type { SubscriberRows } from '../../store/events/subscriber-rows.ts';
import { type Subscriber, Subscribers } from './subscribers.ts';

const ORGANIZATIONS_CACHED = 20_000;
/**
 * Bound on all cached places: the number of their subscribers, and eight for each place, so that
 * there are at most 50,000.
 */
const PLACES_WEIGHT_MAX = 400_000;
const PLACE_WEIGHT = 8;

/** The members of an event that determine its recipients. */
export type Occasion = Pick<
  PostedEvent,
  'organization' | 'type' | 'level' | 'place' | 'installationId' | 'declared'
>;

/**
 * State of an organization's cache entries. Invalidation replaces it, and entries of an older
 * generation are ignored.
 */
interface Generation {
  /** Integrations that cached places mention. */
  readonly integrations: Set<string>;
  /** Number of places being read. */
  reading: number;
}

/** Subscribers of one place. */
interface CachedPlace {
  readonly generation: Generation;
  readonly subscribers: readonly Subscriber[];
  /** By `filterOf` an event, filtered when it is first needed. */
  readonly recipients: Map<string, Recipients>;
}

interface Reading {
  readonly generation: Generation;
  readonly place: Promise<CachedPlace>;
}

export class RecipientResolver {
  readonly #subscribers: Subscribers;
  readonly #organizations = entryCache<Generation>(ORGANIZATIONS_CACHED);
  readonly #places = new LRUCache<string, CachedPlace>({
    maxSize: PLACES_WEIGHT_MAX,
    sizeCalculation: ({ subscribers }) => PLACE_WEIGHT + subscribers.length,
  });
  /** Reads in flight, shared by concurrent callers: a new place under load is read once. */
  readonly #reading = new Map<string, Reading>();

  /** @param onError receives the errors of damaged rows, whose targets are left out */
  constructor(rows: SubscriberRows, onError: (error: unknown) => void) {
    this.#subscribers = new Subscribers(rows, onError);
  }

  /** The recipients if they are cached; never reads the database. */
  known(event: Occasion): Recipients | undefined {
    const place = this.#places.get(keyOf(event));
    if (place === undefined || place.generation !== this.#organizations.get(event.organization))
      return undefined;
    return recipientsOf(place, event);
  }

  /** The recipients, from the cache or the database. */
  async of(event: Occasion): Promise<Recipients> {
    return this.known(event) ?? recipientsOf(await this.#read(event), event);
  }

  /**
   * Invalidates an organization whose installations changed. Called after the commit, before its
   * answer.
   */
  forgetOrganization(organization: string): void {
    this.#organizations.delete(organization);
  }

  /**
   * Invalidates all uses of an integration with a new active version, or deleted. Called after the
   * commit, before its answer.
   */
  forgetIntegration(integration: string): void {
    for (const [organization, { integrations, reading }] of this.#organizations.entries()) {
      // A read in flight may have seen the state before the change.
      if (reading > 0 || integrations.has(integration)) this.#organizations.delete(organization);
    }
  }

  /** Invalidates all: changes of other nodes may have been missed. */
  forget(): void {
    this.#organizations.clear();
  }

  #read(event: Occasion): Promise<CachedPlace> {
    const key = keyOf(event);
    const generation = this.#generation(event.organization);
    const inFlight = this.#reading.get(key);
    // A read that began before an invalidation must not answer a caller after it.
    if (inFlight?.generation === generation) return inFlight.place;
    const place = this.#readPlace(key, event, generation).finally(() => {
      if (this.#reading.get(key)?.place === place) this.#reading.delete(key);
    });
    this.#reading.set(key, { generation, place });
    return place;
  }

  #generation(organization: string): Generation {
    const known = this.#organizations.get(organization);
    if (known !== undefined) return known;
    const generation = { integrations: new Set<string>(), reading: 0 };
    this.#organizations.set(organization, generation);
    return generation;
  }

  async #readPlace(key: string, event: Occasion, generation: Generation): Promise<CachedPlace> {
    generation.reading += 1;
    try {
      const subscribers = await this.#subscribers.at(event);
      for (const { integration } of subscribers) generation.integrations.add(integration);
      const place = { generation, subscribers, recipients: new Map<string, Recipients>() };
      // Not cached if the organization was invalidated meanwhile.
      if (this.#organizations.peek(event.organization) === generation) this.#places.set(key, place);
      return place;
    } finally {
      generation.reading -= 1;
    }
  }
}

const keyOf = ({ organization, level, place }: Occasion): string => `${organization} ${level} ${place}`;

function recipientsOf(place: CachedPlace, event: Occasion): Recipients {
  const { installationId } = event;
  const all = place.recipients.get(filterOf(event)) ?? recipientsOfType(place, event);
  if (installationId === undefined) return all;
  const isIncluded = (addressee: Addressee): boolean => addressee.installationId === installationId;
  return { addressees: all.addressees.filter(isIncluded), absentees: all.absentees.filter(isIncluded) };
}

/** What of an event filters the subscribers. A declared type that changes has another filter. */
const filterOf = ({ type, declared }: Occasion): string =>
  declared === undefined ? type : `${type} ${declared.webhook} ${declared.scope ?? ''}`;

function recipientsOfType({ subscribers, recipients }: CachedPlace, event: Occasion): Recipients {
  const { type, declared } = event;
  const all = subscribers
    .filter(({ handles, selects }) => handles(type, declared) && selects(type, declared))
    .map(addresseeOf);
  const found = { addressees: all.filter((one) => !isAbsent(one)), absentees: all.filter(isAbsent) };
  recipients.set(filterOf(event), found);
  return found;
}

const addresseeOf = ({ handles, selects, ...addressee }: Subscriber): Addressee | Absentee => addressee;
const isAbsent = (one: Addressee | Absentee): one is Absentee => 'inactive' in one;
