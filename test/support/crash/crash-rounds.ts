/**
 * Rounds of `kill -9`: a client posts events and records which were acknowledged, while the host is
 * killed and started again. In the end the ledger of the client is compared with that of the
 * receiver.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as passed } from 'node:timers/promises';
import { type Batch, EventClient } from '../deliveries/event-client.ts';
import { installWebhooks, type Posted, shareSecrets, siteView } from '../deliveries/webhook-senders.ts';
import { HostProcess } from '../host-process.ts';
import { type LedgerEntry, LedgerReceiver } from '../receivers/ledger-receiver.ts';

export interface CrashOptions {
  readonly rounds: number;
  readonly events: number;
  readonly random: () => number;
  /** Called after each round. */
  readonly onRound?: (round: number, acknowledged: number) => void;
}

/** The differences of the two ledgers. */
export interface Comparison {
  readonly acknowledged: number;
  /**
   * Events of batches without an answer that were not posted again: all of a batch may have
   * arrived, or none.
   */
  readonly givenUp: number;
  readonly requests: number;
  /** Requests of deliveries beyond their first. */
  readonly duplicates: number;
  /** The most deliveries that can have been in flight at all crashes together. */
  readonly duplicatesMax: number;
  /** Acknowledged events that did not arrive. */
  readonly lost: readonly string[];
  /** Ids that arrived and were never posted. */
  readonly neverPosted: readonly string[];
  /** Deliveries that one process of the host posted more than once. */
  readonly postedTwice: readonly string[];
  /** Events that arrived as more than one delivery, or at a wrong receiver. */
  readonly misrouted: readonly string[];
  /** Batches of which only a part arrived. */
  readonly partialBatches: number;
  readonly badSignatures: number;
}

const RECEIVERS = 20;
const WRITERS = 8;
/**
 * Events that may be ahead of their deliveries: so the host accepts and delivers at the same time
 * until it is killed.
 */
const AHEAD_MAX = 120;
const POLL_EVERY_MS = 2;
const BATCH_MAX = 24;
/** Answers take some time, so that deliveries are always in flight. */
const ANSWER_WITHIN_MS = 20;
const IN_FLIGHT_MAX = 100;
/** Long enough for a lease of a dead process and for the last retries. */
const SETTLED_WITHIN_MS = 60_000;

export async function crashRounds(options: CrashOptions): Promise<Comparison> {
  const folder = await mkdtemp(join(tmpdir(), 'annex-crash-'));
  const receiver = await LedgerReceiver.start();
  try {
    return await new CrashRounds(options, receiver, join(folder, 'data')).run();
  } finally {
    receiver.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

class CrashRounds {
  readonly #options: CrashOptions;
  readonly #receiver: LedgerReceiver;
  readonly #data: string;
  /** Event → the site where it was posted. */
  readonly #posted = new Map<string, Posted>();
  #hosts = 0;
  /** Events posted to the running process, and requests of all processes before it. */
  #sent = 0;
  #arrivedBefore = 0;

  constructor(options: CrashOptions, receiver: LedgerReceiver, data: string) {
    this.#options = options;
    this.#receiver = receiver;
    this.#data = data;
  }

  async run(): Promise<Comparison> {
    const { random } = this.#options;
    let host = await this.#start();
    try {
      const places = await installWebhooks(host, RECEIVERS, (index) => this.#receiver.url(`o${index}`));
      await shareSecrets(host, places, this.#receiver, {
        verifyEvery: 1,
        keepsLedger: true,
        answerWithinMs: ANSWER_WITHIN_MS,
      });
      const client = new EventClient(host, random);
      const written = Promise.all(Array.from({ length: WRITERS }, () => this.#write(client, places)));
      const failed = written.then(() => undefined);
      for (const at of this.#crashPoints()) {
        await Promise.race([this.#reached(client, at), failed]);
        const killed = host.kill();
        const back = client.hostGone();
        await killed;
        await this.#receiver.endLife();
        host = await this.#start();
        this.#sent = 0;
        this.#arrivedBefore = (await this.#receiver.progress()).received;
        back(host);
        this.#options.onRound?.(this.#hosts - 1, client.acknowledgedEvents);
      }
      await written;
      await client.close();
      await settled(host);
      return this.#compare(client.batches);
    } finally {
      await host.kill();
    }
  }

  #start(): Promise<HostProcess> {
    this.#hosts += 1;
    // Receivers are on this machine, which the egress refuses unless the operator allows it.
    const flags = ['--cells', '1', '--webhook-http', 'allow'];
    const reach = ['--egress-allow', `127.0.0.1:${this.#receiver.port}`];
    const env = { ANNEX_LIMIT_DELIVERIES_IN_FLIGHT: String(IN_FLIGHT_MAX) };
    return HostProcess.start({ data: this.#data, flags: [...flags, ...reach], env });
  }

  /**
   * Numbers of acknowledged events after which the host is killed: one in the share of each round.
   */
  #crashPoints(): number[] {
    const { rounds, events, random } = this.#options;
    const share = Math.floor(events / (rounds + 1));
    return Array.from({ length: rounds }, (_, round) => Math.floor(share * (round + 0.5 + random() / 2)));
  }

  /** Looks again and again: what it waits for goes on in other processes. */
  async #reached(client: EventClient, acknowledged: number): Promise<void> {
    while (client.acknowledgedEvents < acknowledged || (await this.#arrived()) === 0)
      await passed(POLL_EVERY_MS);
  }

  /** Requests of the running process. */
  async #arrived(): Promise<number> {
    return (await this.#receiver.progress()).received - this.#arrivedBefore;
  }

  async #write(client: EventClient, places: readonly Posted[]): Promise<void> {
    const { events, random } = this.#options;
    while (this.#posted.size < events) {
      while (this.#sent - (await this.#arrived()) > AHEAD_MAX) await passed(POLL_EVERY_MS);
      const count = Math.min(1 + Math.floor(random() * BATCH_MAX), events - this.#posted.size);
      // Other writers have posted the last events meanwhile.
      if (count <= 0) return;
      const batch = Array.from({ length: count }, () => {
        const place = places[Math.floor(random() * places.length)] as Posted;
        const eventId = `crash-${this.#posted.size}`;
        this.#posted.set(eventId, place);
        return { ...siteView(place, eventId), eventId };
      });
      this.#sent += batch.length;
      await client.post(batch);
    }
  }

  async #compare(batches: readonly Batch[]): Promise<Comparison> {
    const ledger = await this.#receiver.ledger();
    const { badSignatures } = await this.#receiver.progress();
    const arrived = new Map<string, LedgerEntry[]>();
    for (const entry of ledger) {
      const of = arrived.get(entry.eventId);
      if (of === undefined) arrived.set(entry.eventId, [entry]);
      else of.push(entry);
    }
    const eventsOf = (state: Batch['state']) =>
      batches.filter((batch) => batch.state === state).flatMap(({ eventIds }) => eventIds);
    const acknowledged = eventsOf('acknowledged');
    const isPartial = ({ eventIds }: Batch) =>
      new Set(eventIds.map((eventId) => arrived.has(eventId))).size > 1;
    const isMisrouted = (eventId: string) => {
      const [entry, ...more] = arrived.get(eventId) ?? [];
      const url = this.#posted.get(eventId)?.url ?? '';
      return more.length > 0 || (entry !== undefined && !url.endsWith(entry.path));
    };
    const requests = ledger.reduce((sum, { lives }) => sum + lives.length, 0);
    return {
      acknowledged: acknowledged.length,
      givenUp: eventsOf('given up').length,
      requests,
      duplicates: requests - ledger.length,
      duplicatesMax: this.#options.rounds * IN_FLIGHT_MAX,
      lost: acknowledged.filter((eventId) => !arrived.has(eventId)),
      neverPosted: [...arrived.keys()].filter((eventId) => !this.#posted.has(eventId)),
      postedTwice: ledger
        .filter(({ lives }) => new Set(lives).size < lives.length)
        .map(({ deliveryId }) => deliveryId),
      misrouted: [...this.#posted.keys()].filter(isMisrouted),
      partialBatches: batches.filter(isPartial).length,
      badSignatures,
    };
  }
}

/** Waits until no delivery is pending. */
async function settled(host: HostProcess): Promise<void> {
  const until = performance.now() + SETTLED_WITHIN_MS;
  for (;;) {
    const { items } = await host.api('GET', '/deliveries?state=pending&limit=1');
    if ((items as unknown[]).length === 0) return;
    if (performance.now() > until) throw new Error(`Deliveries are still pending: ${JSON.stringify(items)}`);
    await passed(20);
  }
}
