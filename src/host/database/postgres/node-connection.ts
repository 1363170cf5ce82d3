/**
 * The connection of a node to the others, over the database: it receives notices (`LISTEN`), finds
 * out whether the database answers, and reads its clock.
 *
 * PostgreSQL delivers every notice while a connection lasts, and none to a connection that is lost.
 * A connection may be lost without a word. So the node asks for the time every second, and whether
 * the database writes; without an answer it connects again, and reports that notices may have been
 * missed. What is cached stays in use for a bounded time meanwhile: calls that write nothing go on
 * while the database restarts.
 */
import { type Client, DatabaseError } from 'pg';
import type { Availability } from '../availability.ts';
import type { EngineListener } from '../engine.ts';
import type { Notice } from '../notices.ts';
import type { DatabaseClock } from './database-clock.ts';
import { ONLY_READS } from './fitness.ts';
import { endSession } from './postgres-clients.ts';

/** Between two questions for the time. */
const BEAT_MS = 1_000;
/** First wait before another attempt to connect, and the longest one. */
const RETRY_MS = 200;
const RETRY_MS_MAX = 1_000;
/** Without an answer on any connection for this long, a server that is not reached is cut off. */
const SILENT_MS = 1_000;
/** How long caches are used without a sign of the database. */
export const CACHED_WITHOUT_DATABASE_MS = 60_000;

/**
 * Notices, and characters of them, that are read between two beats. Attack: a role that has read
 * the name of the channel sends as many as the server takes; each would make the node read again
 * what it had cached. What is beyond is dropped unread, and counts as missed once a beat.
 */
const NOTICES_MAX = 2_000;
const NOTICE_CHARS_MAX = 1_048_576;

const BEAT = `
  select (extract(epoch from clock_timestamp()) * 1000)::float8 as now,
    current_setting('transaction_read_only') = 'on' as "onlyReads",
    exists (select from pg_listening_channels()) as listens`;
/** A write of no other use than to be committed. */
const PROBE = 'update notice_channel set name = name';
const LISTENS_NO_MORE = 'the session of a connection has become another one, as behind a pooler';

interface Beat {
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly onlyReads: boolean;
  readonly listens: boolean;
}

export interface NodeConnectionDeps {
  /** Connects. @throws if the server cannot be reached, or is not fit for a service */
  session(): Promise<Client>;
  /** Name of the channel of notices. */
  channel(): string;
  /** More notices arrive than are read. Called once for each beat with such notices. */
  flooded(): void;
  /** Marks the notices of this node, which it does not receive itself. */
  readonly node: string;
  readonly clock: DatabaseClock;
  /** Monotonic clock, in milliseconds. */
  readonly monotonicNow: () => number;
  readonly availability: Pick<
    Availability,
    'lost' | 'found' | 'answered' | 'answeredAt' | 'refused' | 'failed' | 'committed' | 'wantsProbe'
  >;
  /**
   * The server does not even refuse: called at each attempt to connect that ends without a word of
   * it, while no statement on any connection is answered.
   */
  cut(): void;
  /** There is a connection, before anything else learns of it. Never rejects. */
  connected(client: Client): Promise<void>;
}

export class NodeConnection {
  readonly #deps: NodeConnectionDeps;
  #listener: EngineListener | undefined;
  #client: Client | undefined;
  #timer: NodeJS.Timeout | undefined;
  #retryMs = RETRY_MS;
  #lastSign: number;
  #isClosed = false;
  #isBeating = false;
  #isLost = false;
  #bound: NodeJS.Timeout | undefined;
  /** Of the notices since the last beat. */
  #notices = 0;
  #noticeChars = 0;

  constructor(deps: NodeConnectionDeps) {
    this.#deps = deps;
    this.#lastSign = deps.monotonicNow();
  }

  /** Connects for the first time, and reads the clock. @throws if the database cannot be reached */
  async open(): Promise<void> {
    await this.#connect();
    this.#later(BEAT_MS);
  }

  listen(listener: EngineListener): void {
    this.#listener = listener;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#bound);
    const client = this.#client;
    this.#client = undefined;
    if (client !== undefined) await endSession(client);
  }

  async #connect(): Promise<void> {
    const client = await this.#deps.session();
    // The beat finds out why.
    client.once('end', () => {
      if (this.#client === client && !this.#isBeating) this.#later(0);
    });
    try {
      client.on('notification', ({ payload }) => this.#receive(payload));
      await client.query(`listen ${client.escapeIdentifier(this.#deps.channel())}`);
      this.#client = client;
      await this.#deps.connected(client);
      await this.#ask(client);
    } catch (cause) {
      this.#client = undefined;
      void endSession(client);
      throw cause;
    }
  }

  /**
   * Reads the time of the database, at the middle of the question's way, and whether it writes.
   *
   * @throws if it cannot be reached, or sends this session no notices any more
   */
  async #ask(client: Client): Promise<void> {
    const { monotonicNow, clock, availability } = this.#deps;
    const asked = monotonicNow();
    const { rows } = await client.query<Beat>(BEAT);
    const answered = monotonicNow();
    availability.answered();
    const [beat] = rows;
    if (beat?.listens !== true) throw new Error(LISTENS_NO_MORE);
    clock.read({ asked, answered, now: beat.now });
    this.#lastSign = answered;
    if (beat.onlyReads) availability.refused(new Error(ONLY_READS));
    else if (availability.wantsProbe) await this.#probe(client);
  }

  async #probe(client: Client): Promise<void> {
    const { availability } = this.#deps;
    try {
      await client.query(PROBE);
      availability.committed();
    } catch (cause) {
      if (!(cause instanceof DatabaseError)) throw cause;
      availability.failed(cause);
    }
  }

  #later(ms: number): void {
    clearTimeout(this.#timer);
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => void this.#beat(), ms).unref();
  }

  /** Never rejects. */
  async #beat(): Promise<void> {
    this.#endCount();
    const isNew = this.#client === undefined;
    this.#isBeating = true;
    try {
      if (this.#client === undefined) await this.#connect();
      else await this.#ask(this.#client);
      if (isNew) this.#isBack();
      this.#later(BEAT_MS);
    } catch (cause) {
      this.#drop();
      this.#lost(cause);
      this.#later(this.#retryMs);
      this.#retryMs = Math.min(2 * this.#retryMs, RETRY_MS_MAX);
    }
    this.#isBeating = false;
  }

  #isBack(): void {
    if (this.#isClosed) return;
    this.#retryMs = RETRY_MS;
    this.#isLost = false;
    clearTimeout(this.#bound);
    this.#deps.availability.found();
    this.#listener?.missedNotices();
    this.#listener?.isBack();
  }

  #lost(cause: unknown): void {
    if (this.#isClosed) return;
    const { availability, cut, monotonicNow } = this.#deps;
    const isSilent =
      !(cause instanceof DatabaseError) && monotonicNow() - availability.answeredAt >= SILENT_MS;
    // Not at the first failure: an answer that is late, here or there, is no cut.
    const isCut = this.#isLost && isSilent;
    if (!this.#isLost) this.#boundCaches();
    this.#isLost = true;
    availability.lost(cause, isCut);
    if (isCut) cut();
  }

  /** Drops the caches at the end of their time, and again: the other connections may fill them. */
  #boundCaches(): void {
    const ms = Math.max(0, this.#lastSign + CACHED_WITHOUT_DATABASE_MS - this.#deps.monotonicNow());
    this.#bound = setTimeout(() => this.#dropCaches(), ms).unref();
  }

  #dropCaches(): void {
    this.#listener?.missedNotices();
    this.#bound = setTimeout(() => this.#dropCaches(), RETRY_MS_MAX).unref();
  }

  #drop(): void {
    const client = this.#client;
    this.#client = undefined;
    if (client !== undefined) void endSession(client);
  }

  get #isFlooded(): boolean {
    return this.#notices > NOTICES_MAX || this.#noticeChars > NOTICE_CHARS_MAX;
  }

  #endCount(): void {
    const wasFlooded = this.#isFlooded;
    this.#notices = 0;
    this.#noticeChars = 0;
    if (!wasFlooded) return;
    this.#deps.flooded();
    this.#listener?.missedNotices();
  }

  /** A payload of another version of Annex, or of another program, is skipped. */
  #receive(payload = ''): void {
    this.#notices += 1;
    this.#noticeChars += payload.length;
    if (this.#isFlooded) return;
    const notice = parsed(payload);
    if (notice === undefined || notice.from === this.#deps.node) return;
    this.#listener?.noticed(notice);
  }
}

function parsed(payload: string): (Notice & { readonly from: string }) | undefined {
  try {
    const notice = JSON.parse(payload) as Partial<Notice & { from: string }>;
    const { change, about, from } = notice;
    if (typeof change !== 'string' || typeof from !== 'string' || !Array.isArray(about)) return undefined;
    return { change, about: about.map(String), from };
  } catch {
    return undefined;
  }
}
