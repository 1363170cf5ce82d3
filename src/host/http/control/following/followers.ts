/**
 * All clients that follow logs or deliveries: their number is bounded. A stream ends when its
 * client may no longer read what it follows, and when the service stops.
 *
 * One timer serves all of them, and runs only while one follows. At the end: the requests that are
 * answered with a stream, by `follow` or by `Accept`.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AnnexError } from '../../../../errors.ts';
import { isFairPlace, type LimitName, type Limits } from '../../../../limits.ts';
import { limitError } from '../../../../model/limit-met.ts';
import type { HolderPrincipal } from '../../../../model/principal.ts';
import { PAGE_ITEMS } from '../lists.ts';
import { type Begin, EventStream, type Item, type Source, type StreamEnd } from './event-stream.ts';

/** Time between two comments, and between two checks of permissions. */
export const KEEP_ALIVE_MS = 15_000;
/** Time to read the last event, after which the connection is cut. */
const FAREWELL_MS = 5_000;
/** Part of the places that is reserved for the operator. */
const RESERVE_SHARE = 1 / 8;

export interface FollowersDeps {
  readonly limits: Pick<
    Limits,
    'logFollowers' | 'logFollowersPerInstallation' | 'logFollowersPerToken' | 'logFollowerBufferBytes'
  >;
  /** Runs a function later. @returns a function that cancels it */
  readonly after: (ms: number, run: () => void) => () => void;
  limitMet(name: LimitName): void;
}

export interface Follower {
  readonly principal: HolderPrincipal;
  /**
   * What is followed, of which a bounded number of clients is: the tenant of a log, an installation
   * or organization with its deliveries. Undefined for what is followed by the operator alone.
   */
  readonly followed: string | undefined;
  /** Why the client may no longer read it; undefined if it still may. */
  refusal(): Promise<StreamEnd | undefined>;
}

interface Following extends Follower {
  readonly stream: EventStream<Item>;
}

export class Followers {
  readonly #deps: FollowersDeps;
  readonly #all = new Set<Following>();
  #cancelTimer: (() => void) | undefined;

  constructor(deps: FollowersDeps) {
    this.#deps = deps;
  }

  /**
   * Starts a stream. The caller has checked that the client may read the source.
   *
   * @throws AnnexError LOG_BUSY
   */
  follow<Followed extends Item>(
    source: Source<Followed>,
    begin: Omit<Begin, 'bufferBytes'>,
    follower: Follower,
  ): EventStream<Followed> {
    const { limits, limitMet, after } = this.#deps;
    this.#refuseBeyond(follower);
    const stream = new EventStream(source, { ...begin, bufferBytes: limits.logFollowerBufferBytes });
    stream.once('over', (reason: StreamEnd) => {
      if (reason === 'slow') limitMet('logFollowerBufferBytes');
      after(FAREWELL_MS, () => stream.destroy());
    });
    const following: Following = { ...follower, stream: stream as unknown as EventStream<Item> };
    this.#all.add(following);
    stream.once('close', () => this.#remove(following));
    this.#cancelTimer ??= after(KEEP_ALIVE_MS, () => this.#tick());
    return stream;
  }

  /**
   * Checks the permissions of all followers, or of those of one log, after something changed. Never
   * throws.
   */
  check(followed?: string): void {
    for (const one of this.#all)
      if (followed === undefined || one.followed === followed) void this.#check(one);
  }

  /** The service stops. */
  stop(): void {
    for (const { stream } of this.#all) stream.finish('stopping');
  }

  async #check({ stream, refusal }: Following): Promise<void> {
    // Where the store fails, the next check decides.
    const reason = await refusal().catch(() => undefined);
    if (reason !== undefined) stream.finish(reason);
  }

  #tick(): void {
    this.#cancelTimer = this.#deps.after(KEEP_ALIVE_MS, () => this.#tick());
    for (const one of this.#all) {
      one.stream.keepAlive();
      void this.#check(one);
    }
  }

  #remove(one: Following): void {
    this.#all.delete(one);
    if (this.#all.size > 0) return;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  /** Attack: clients that follow by the thousand, until others find no place. */
  #refuseBeyond({ followed, principal }: Follower): void {
    const { limits, limitMet } = this.#deps;
    const all = [...this.#all];
    const ofSame = all.filter((one) => followed !== undefined && one.followed === followed);
    const ofToken = all.filter((one) => one.principal.tokenId === principal.tokenId);
    const hasRoom = {
      logFollowersPerInstallation: hasPlace(limits.logFollowersPerInstallation, ofSame, principal),
      // The operator and the host product follow for others.
      logFollowersPerToken: principal.kind !== 'organization' || ofToken.length < limits.logFollowersPerToken,
      logFollowers: hasPlace(limits.logFollowers, all, principal),
    };
    for (const name of Object.keys(hasRoom) as (keyof typeof hasRoom)[]) {
      if (hasRoom[name]) continue;
      limitMet(name);
      throw limitError('LOG_BUSY', { name, max: limits[name] });
    }
  }
}

/**
 * Whether one more client finds a place. Attack: a few organizations that hold every place; the
 * author of an integration that holds those of an installation's log. So an organization holds no
 * more places than it leaves free, with all of its tokens, and the operator finds some reserved.
 */
function hasPlace(
  places: number,
  taken: readonly Follower[],
  { kind, organization }: HolderPrincipal,
): boolean {
  const reserve = Math.floor(places * RESERVE_SHARE);
  const ofOperator = taken.filter(({ principal }) => principal.kind === 'admin').length;
  const open = kind === 'admin' ? places : places - reserve + Math.min(reserve, ofOperator);
  const left = open - taken.length - 1;
  if (kind !== 'organization') return left >= 0;
  const own = taken.filter(({ principal }) => principal.organization === organization).length;
  return isFairPlace(own, left);
}

const EVENT_STREAM = 'text/event-stream';

/** A request of a route that has a list, too. */
type FollowableRequest = Pick<FastifyRequest, 'method' | 'headers'> & {
  readonly query: { readonly follow?: boolean; readonly limit?: number; readonly cursor?: string };
};

/** Whether the answer is a stream. `follow` decides where it is present, otherwise `Accept`. */
export function isFollowed({ method, query, headers }: FollowableRequest): boolean {
  // The answer to HEAD has no body that could end the stream with its client.
  if (method !== 'GET') return false;
  const accepted = (headers.accept ?? '')
    .split(',')
    .map((type) => type.split(';', 1)[0]?.trim().toLowerCase());
  return query.follow ?? accepted.includes(EVENT_STREAM);
}

/**
 * Where a stream begins.
 *
 * @param shape of the ids of its items
 * @throws AnnexError REQUEST_INVALID
 */
export function beginOf(
  { query, headers }: FollowableRequest,
  { shape, noun }: { readonly shape: RegExp; readonly noun: string },
): Omit<Begin, 'bufferBytes'> {
  const { limit: earlier, cursor } = query;
  if (cursor !== undefined)
    throw new AnnexError(
      'REQUEST_INVALID',
      'query.cursor is for lists: what is followed has no pages. Continue with Last-Event-ID.',
    );
  const after = [headers['last-event-id']].flat().at(-1);
  if (after !== undefined && after !== '' && !shape.test(after))
    throw new AnnexError('REQUEST_INVALID', `Last-Event-ID is not the id of ${noun}.`);
  return { earlier: earlier && Math.min(earlier, PAGE_ITEMS), ...(after && { after }) };
}

/** Answers with the stream. */
export function answerWith<Followed extends Item>(reply: FastifyReply, stream: EventStream<Followed>): never {
  // nginx would collect events before it passes them on.
  reply.type(EVENT_STREAM).header('x-accel-buffering', 'no');
  // Streams have no schema.
  return reply.send(stream) as never;
}
