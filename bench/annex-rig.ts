/**
 * The set-up of the delivery benchmarks: a service with many webhooks and the receiver that they
 * post to, each in a process of its own.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installWebhooks, type Posted, shareSecrets } from '../test/support/deliveries/webhook-senders.ts';
import { HostProcess } from '../test/support/host-process.ts';
import type { LedgerReceiver } from '../test/support/receivers/ledger-receiver.ts';
import { type Allowance, feed } from './peers/feed.ts';
import type { ProducerSettings } from './producer.ts';

const POLL_EVERY_MS = 50;

export interface RigOptions {
  readonly receiver: LedgerReceiver;
  /** Another receiver that the egress may reach, for URLs of `urlOf`. */
  readonly also?: LedgerReceiver;
  readonly webhooks: number;
  /** Webhooks of each organization, which share an isolate; default 1. */
  readonly perOrganization?: number;
  readonly verifyEvery: number;
  /** URL of the webhook with this index; by default each has its own path at `receiver`. */
  readonly urlOf?: (index: number) => string;
  /** Flags for the Node of the host. */
  readonly node?: readonly string[];
}

/** Events that a producer posts. */
export interface Stream {
  /** The number of acknowledged events so far. */
  acknowledged(): number;
  end(): Promise<void>;
}

export class AnnexRig {
  readonly data: string;
  readonly places: readonly Posted[];
  readonly receiver: LedgerReceiver;
  readonly #options: RigOptions;
  #host: HostProcess | undefined;

  private constructor(data: string, host: HostProcess, places: readonly Posted[], options: RigOptions) {
    this.data = data;
    this.#host = host;
    this.places = places;
    this.receiver = options.receiver;
    this.#options = options;
  }

  /** Starts the service and installs everything. */
  static async start(options: RigOptions): Promise<AnnexRig> {
    const { receiver, webhooks, verifyEvery } = options;
    const data = join(await mkdtemp(join(tmpdir(), 'annex-bench-')), 'data');
    const host = await startHost(data, options);
    const urlOf = options.urlOf ?? ((index: number) => receiver.url(`o${index}`));
    const places = await installWebhooks(host, webhooks, urlOf, options.perOrganization);
    await shareSecrets(host, places, receiver, { verifyEvery, keepsLedger: false, answerWithinMs: 0 });
    return new AnnexRig(data, host, places, options);
  }

  get host(): HostProcess {
    if (this.#host === undefined) throw new Error('The service is not running.');
    return this.#host;
  }

  /** Stops the service, runs `work` on its folder, and starts it again. */
  async between(work: (folder: string) => Promise<void>): Promise<void> {
    await this.host.stop();
    this.#host = undefined;
    await work(this.data);
    this.#host = await startHost(this.data, this.#options);
  }

  /** Posts events as fast as they are delivered. */
  async pour(places = this.places): Promise<Stream> {
    const stream = this.#produce({ places });
    const { received } = await this.receiver.progress();
    const endFeed = feed(stream.producer, this.receiver, received);
    return {
      ...stream,
      end: async () => {
        await endFeed();
        await stream.end();
      },
    };
  }

  /** Posts events at a steady rate. */
  steady(perSecond: number, places = this.places): Stream {
    return this.#produce({ places, perSecond });
  }

  /** Posts events as fast as they are accepted, delivered or not. */
  flood(places: readonly Posted[]): Stream {
    const stream = this.#produce({ places });
    stream.producer.send({ upTo: Number.MAX_SAFE_INTEGER } satisfies Allowance);
    return stream;
  }

  #produce(wanted: Pick<ProducerSettings, 'places' | 'perSecond'>): Stream & { producer: ChildProcess } {
    const { control, adminToken: token } = this.host;
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

  /** Resolves when no delivery is pending. */
  async delivered(): Promise<void> {
    for (;;) {
      const { items } = await this.host.api('GET', '/deliveries?state=pending&limit=1');
      if ((items as unknown[]).length === 0) return;
      await new Promise((resolve) => setTimeout(resolve, POLL_EVERY_MS));
    }
  }

  async end(): Promise<void> {
    await this.#host?.stop();
    await rm(join(this.data, '..'), { recursive: true, force: true });
  }
}

function startHost(data: string, { receiver, also, node = [] }: RigOptions): Promise<HostProcess> {
  const reached = [receiver, ...(also ? [also] : [])].map(({ port }) => `127.0.0.1:${port}`);
  const flags = ['--webhook-http', 'allow', '--egress-allow', reached.join()];
  return HostProcess.start({ data, flags, node });
}
