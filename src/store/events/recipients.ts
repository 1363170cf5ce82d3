/**
 * Whom an event goes to: of what its organization has installed, the targets that are to hear of it (REFERENCE D5, D29, D33).
 *
 * An installation that is active hears by its target in the space or the site, where it has one there, which must be active, too;
 * and by the one of the organization where it has none there and speaks for all of them. It hears if its code has a handler for the
 * type and the scope that the type needs; one that posts webhooks, if the settings of that space or site select the type.
 *
 * One that would hear, were it active, is told apart, so that the event can say why it did not.
 *
 * Asked for each event, thousands of times a second, and remembered by place. A change is forgotten after its commit and before
 * its answer, so an event that is posted after the answer finds what the change has made of it. Each organization is forgotten by
 * itself: one that changes its installations in a loop makes no other's events slow.
 */
import { LRUCache } from 'lru-cache';
import type { DeliveryKind } from '../../database/tables.ts';
import type { TargetName } from '../../model/installation.ts';
import type { PostedEvent } from '../deliveries/delivery.ts';
import { type Inactivity, type Subscriber, Subscribers, type SubscribersParts } from './subscribers.ts';

const ORGANIZATIONS_REMEMBERED = 20_000;
const PLACES_REMEMBERED = 50_000;
/** All places together: the targets that events of each may go to. */
const HEARERS_REMEMBERED = 400_000;

/** Who an event goes to. */
export interface Addressee extends TargetName {
  readonly integration: string;
  /** Key of the target's endpoint. */
  readonly endpoint: string;
  readonly kind: DeliveryKind;
  /** When it was last paused: what was armed by then is not delivered. */
  readonly pausedAt?: number;
}

/** One that would hear of an event, were it active. */
export interface Absentee extends Addressee {
  readonly inactive: Inactivity;
}

/** What becomes of an event. */
export interface Recipients {
  readonly addressees: readonly Addressee[];
  readonly absentees: readonly Absentee[];
}

/** Of an event: what decides on who hears of it. */
export type Occasion = Pick<PostedEvent, 'organization' | 'type' | 'level' | 'place' | 'installationId'>;

/** What is known of an organization since it was last forgotten; another object after that. */
interface Since {
  /** Integrations of which something is remembered. */
  readonly integrations: Set<string>;
  /** Places that are being read. */
  reading: number;
}

/** A place, as it was then. */
interface Remembered {
  readonly since: Since;
  readonly hearers: readonly Subscriber[];
  /** By type, made of the hearers when one is first asked for. */
  readonly recipients: Map<string, Recipients>;
}

interface Reading {
  readonly since: Since;
  readonly place: Promise<Remembered>;
}

export class RecipientResolver {
  readonly #hearers: Subscribers;
  readonly #organizations = new LRUCache<string, Since>({ max: ORGANIZATIONS_REMEMBERED });
  readonly #places = new LRUCache<string, Remembered>({
    max: PLACES_REMEMBERED,
    maxSize: HEARERS_REMEMBERED,
    sizeCalculation: ({ hearers }) => 1 + hearers.length,
  });
  /** Shared by all who ask meanwhile: a place that is new under load is read once. */
  readonly #reading = new Map<string, Reading>();

  constructor(parts: SubscribersParts) {
    this.#hearers = new Subscribers(parts);
  }

  /** Whom it goes to, where that is remembered. */
  known(event: Occasion): Recipients | undefined {
    const place = this.#places.get(keyOf(event));
    if (place === undefined || place.since !== this.#organizations.get(event.organization)) return undefined;
    return recipientsOf(place, event);
  }

  async of(event: Occasion): Promise<Recipients> {
    return this.known(event) ?? recipientsOf(await this.#read(event), event);
  }

  /** One of its installations is not what it was. Called after a commit, before its answer. */
  forgetOrganization(organization: string): void {
    this.#organizations.delete(organization);
  }

  /** Its active version is another one, or it is gone. Called after a commit, before its answer. */
  forgetIntegration(integration: string): void {
    for (const [organization, { integrations, reading }] of this.#organizations.entries()) {
      // What is being read may be of before the change.
      if (reading > 0 || integrations.has(integration)) this.#organizations.delete(organization);
    }
  }

  #read(event: Occasion): Promise<Remembered> {
    const key = keyOf(event);
    const since = this.#since(event.organization);
    const under = this.#reading.get(key);
    // One that began before a change has nothing to say to who asks after it.
    if (under?.since === since) return under.place;
    const place = this.#remember(key, event, since).finally(() => {
      if (this.#reading.get(key)?.place === place) this.#reading.delete(key);
    });
    this.#reading.set(key, { since, place });
    return place;
  }

  #since(organization: string): Since {
    const known = this.#organizations.get(organization);
    if (known !== undefined) return known;
    const since = { integrations: new Set<string>(), reading: 0 };
    this.#organizations.set(organization, since);
    return since;
  }

  async #remember(key: string, event: Occasion, since: Since): Promise<Remembered> {
    since.reading += 1;
    try {
      const hearers = await this.#hearers.at(event);
      for (const { integration } of hearers) since.integrations.add(integration);
      const place = { since, hearers, recipients: new Map<string, Recipients>() };
      // Where the organization was forgotten meanwhile, this is of no use to anybody who asks from now on.
      if (this.#organizations.peek(event.organization) === since) this.#places.set(key, place);
      return place;
    } finally {
      since.reading -= 1;
    }
  }
}

const keyOf = ({ organization, level, place }: Occasion): string => `${organization} ${level} ${place}`;

function recipientsOf(place: Remembered, event: Occasion): Recipients {
  const { type, installationId } = event;
  const all = place.recipients.get(type) ?? heardBy(place, type);
  if (installationId === undefined) return all;
  const isMeant = (addressee: Addressee): boolean => addressee.installationId === installationId;
  return { addressees: all.addressees.filter(isMeant), absentees: all.absentees.filter(isMeant) };
}

function heardBy({ hearers, recipients }: Remembered, type: string): Recipients {
  const all = hearers.filter(({ heard, selected }) => heard(type) && selected(type)).map(addresseeOf);
  const found = { addressees: all.filter((one) => !isAbsent(one)), absentees: all.filter(isAbsent) };
  recipients.set(type, found);
  return found;
}

const addresseeOf = ({ heard, selected, ...addressee }: Subscriber): Addressee | Absentee => addressee;
const isAbsent = (one: Addressee | Absentee): one is Absentee => 'inactive' in one;
