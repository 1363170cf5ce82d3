/**
 * A service with many webhooks, the receiver that they post to, and producers of their events: each
 * in a process of its own.
 */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import {
  DECLARED,
  declareType,
  installWebhooks,
  type Posted,
  shareSecrets,
} from '../test/support/deliveries/webhook-senders.ts';
import type { HostProcess } from '../test/support/host-process.ts';
import type { LedgerReceiver } from '../test/support/receivers/ledger-receiver.ts';
import { type Allowance, type Fed, feed } from './feed.ts';
import { pause } from './figures.ts';
import { CpuMeter } from './processes.ts';
import type { ProducerSettings } from './producer.ts';
import { Rig, type RigOptions } from './rig.ts';

const POLL_EVERY_MS = 50;
export const VERIFY_EVERY = 16;

export interface WebhookOptions extends RigOptions {
  readonly receiver: LedgerReceiver;
  /** Another receiver that the egress may reach, for URLs of `urlOf`. */
  readonly also?: LedgerReceiver;
  readonly webhooks: number;
  /** Webhooks of each organization, which share an isolate; default 1. */
  readonly perOrganization?: number;
  /** Webhooks select the declared type, too. */
  readonly declares?: boolean;
  /** URL of the webhook with this index; by default each has its own path at `receiver`. */
  readonly urlOf?: (index: number) => string;
}

/** Events that a producer posts. */
export interface Stream {
  /** The number of acknowledged events so far. */
  acknowledged(): number;
  end(): Promise<void>;
}

/** Deliveries in a second, as the receiver counts them, and microseconds of CPU of each. */
export interface Delivered {
  readonly perSecond: number;
  /** Of the queue's processes, without the server of the database. */
  readonly ownUs: number;
  readonly serverUs: number;
}

export interface Processes {
  readonly receiver: LedgerReceiver;
  readonly pids: readonly number[];
  readonly server?: number | undefined;
}

export async function delivered(
  { receiver, pids, server }: Processes,
  { warmupSeconds, seconds }: { readonly warmupSeconds: number; readonly seconds: number },
): Promise<Delivered> {
  await pause(warmupSeconds * 1_000);
  const [startedAt, before] = [performance.now(), await receiver.progress()];
  const meters = [new CpuMeter(pids), new CpuMeter(server === undefined ? [] : [server])];
  await pause(seconds * 1_000);
  const after = await receiver.progress();
  if (after.badSignatures > 0) throw new Error('A signature did not verify.');
  const count = after.received - before.received;
  if (count === 0) throw new Error(`Nothing was delivered in ${seconds} seconds.`);
  const perSecond = (count * 1_000) / (performance.now() - startedAt);
  const [ownUs = 0, serverUs = 0] = meters.map((meter) => meter.us() / count);
  return { perSecond, ownUs, serverUs };
}

export class Webhooks {
  readonly rig: Rig;
  readonly places: readonly Posted[];
  readonly receiver: LedgerReceiver;

  private constructor(rig: Rig, places: readonly Posted[], receiver: LedgerReceiver) {
    this.rig = rig;
    this.places = places;
    this.receiver = receiver;
  }

  /** Starts the service and installs everything. */
  static async start(options: WebhookOptions): Promise<Webhooks> {
    const { receiver, also, webhooks, perOrganization, declares = false } = options;
    const reached = [receiver, ...(also ? [also] : [])].map(({ port }) => `127.0.0.1:${port}`);
    const flags = ['--webhook-http', 'allow', '--egress-allow', reached.join(), ...(options.flags ?? [])];
    const rig = await Rig.start({ ...options, flags });
    const urlOf = options.urlOf ?? ((index: number) => receiver.url(`o${index}`));
    if (declares) await declareType(rig);
    const types = ['site_view', ...(declares ? [DECLARED] : [])];
    const places = await installWebhooks(rig, webhooks, urlOf, perOrganization, types);
    const settings = { verifyEvery: VERIFY_EVERY, keepsLedger: false, answerWithinMs: 0 };
    await shareSecrets(rig, places, receiver, settings);
    return new Webhooks(rig, places, receiver);
  }

  delivered(times: { readonly warmupSeconds: number; readonly seconds: number }): Promise<Delivered> {
    const { pids, postgres } = this.rig;
    return delivered({ receiver: this.receiver, pids, server: postgres?.pid }, times);
  }

  /** Posts events as fast as they are delivered. */
  async pour(places = this.places, declared = false): Promise<Stream> {
    const streams = this.rig.hosts.map((host, index) =>
      this.#produce(host, { places, declared, prefix: `${declared ? 'd' : 'b'}${index}` }),
    );
    const { received } = await this.receiver.progress();
    const endFeed = feed(streams, this.receiver, received);
    return {
      acknowledged: () => streams.reduce((sum, stream) => sum + stream.acknowledged(), 0),
      end: async () => {
        await endFeed();
        await Promise.all(streams.map((stream) => stream.end()));
      },
    };
  }

  /** Posts events at a steady rate. */
  steady(perSecond: number, places = this.places): Stream {
    return this.#produce(this.rig.host, { places, perSecond, prefix: 's' });
  }

  /** Posts events as fast as they are accepted, delivered or not. */
  flood(places: readonly Posted[]): Stream {
    const stream = this.#produce(this.rig.host, { places, prefix: 'f' });
    stream.producer.send({ upTo: Number.MAX_SAFE_INTEGER } satisfies Allowance);
    return stream;
  }

  /** Resolves when no delivery is pending. */
  async settled(): Promise<void> {
    for (;;) {
      const { items } = await this.rig.api('GET', '/deliveries?state=pending&limit=1');
      if ((items as unknown[]).length === 0) return;
      await pause(POLL_EVERY_MS);
    }
  }

  #produce(
    { control, adminToken: token }: HostProcess,
    wanted: Pick<ProducerSettings, 'places' | 'perSecond' | 'prefix' | 'declared'>,
  ): Stream & Fed {
    const settings: ProducerSettings = { control, token, batch: 128, batchesAtOnce: 4, ...wanted };
    const program = fileURLToPath(new URL('producer.ts', import.meta.url));
    const producer = fork(program, [JSON.stringify(settings)]);
    let acknowledged = 0;
    producer.on('message', (count: number) => (acknowledged += count));
    const exited = new Promise((resolve) => producer.once('exit', resolve));
    return {
      producer,
      acknowledged: () => acknowledged,
      end: async () => {
        if (producer.exitCode !== null) throw new Error('The producer ended early.');
        producer.kill('SIGKILL');
        await exited;
      },
    };
  }
}
