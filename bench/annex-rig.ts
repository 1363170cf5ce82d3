/**
 * The set-up of the delivery benchmarks: a service with many webhooks and the receiver that they
 * post to, each in a process of its own. On PostgreSQL it may have several nodes, each of which is
 * fed by a producer of its own.
 */
import { fork } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  DECLARED,
  declareType,
  installWebhooks,
  type Posted,
  shareSecrets,
} from '../test/support/deliveries/webhook-senders.ts';
import { HostProcess } from '../test/support/host-process.ts';
import type { LedgerReceiver } from '../test/support/receivers/ledger-receiver.ts';
import { type Allowance, type Fed, feed } from './peers/feed.ts';
import { databaseUrl, type QueueServer } from './peers/queue-servers.ts';
import type { StorePlace } from './prefilled.ts';
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
  /** Webhooks select the declared type, too. */
  readonly declares?: boolean;
  /** URL of the webhook with this index; by default each has its own path at `receiver`. */
  readonly urlOf?: (index: number) => string;
  /** Flags for the Node of each host. */
  readonly node?: readonly string[];
  /** The server of PostgreSQL, with an empty database; absent: SQLite. */
  readonly postgres?: QueueServer | undefined;
  /** Nodes of the service; default 1. */
  readonly nodes?: number;
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
  #hosts: readonly HostProcess[];

  private constructor(
    data: string,
    hosts: readonly HostProcess[],
    places: readonly Posted[],
    options: RigOptions,
  ) {
    this.data = data;
    this.#hosts = hosts;
    this.places = places;
    this.receiver = options.receiver;
    this.#options = options;
  }

  /** Starts the service and installs everything. */
  static async start(options: RigOptions): Promise<AnnexRig> {
    const { receiver, webhooks, verifyEvery } = options;
    const data = join(await mkdtemp(join(tmpdir(), 'annex-bench-')), 'data');
    const hosts = await startHosts(data, options);
    const [host] = hosts as [HostProcess];
    const urlOf = options.urlOf ?? ((index: number) => receiver.url(`o${index}`));
    if (options.declares) await declareType(host);
    const types = ['site_view', ...(options.declares ? [DECLARED] : [])];
    const places = await installWebhooks(host, webhooks, urlOf, options.perOrganization, types);
    await shareSecrets(host, places, receiver, { verifyEvery, keepsLedger: false, answerWithinMs: 0 });
    return new AnnexRig(data, hosts, places, options);
  }

  /** The first node. */
  get host(): HostProcess {
    const [host] = this.#hosts;
    if (host === undefined) throw new Error('The service is not running.');
    return host;
  }

  get hosts(): readonly HostProcess[] {
    return this.#hosts;
  }

  /** Server of the database, if it is one. */
  get postgres(): QueueServer | undefined {
    return this.#options.postgres;
  }

  /** Stops the service, runs `work` on its store, and starts it again. */
  async between(work: (store: StorePlace) => Promise<void>): Promise<void> {
    await this.#stop();
    const { postgres } = this.#options;
    await work({ folder: this.data, ...(postgres && { url: databaseUrl(postgres) }) });
    this.#hosts = await startHosts(this.data, this.#options);
  }

  /** Posts events as fast as they are delivered. */
  async pour(places = this.places, declared = false): Promise<Stream> {
    const begin = declared ? 'd' : 'b';
    const streams = this.#hosts.map((host, index) =>
      this.#produce(host, { places, declared, prefix: `${begin}${index}` }),
    );
    const { received } = await this.receiver.progress();
    const endFeed = feed(streams, this.receiver, received);
    return together(streams, endFeed);
  }

  /** Posts events at a steady rate. */
  steady(perSecond: number, places = this.places): Stream {
    return this.#produce(this.host, { places, perSecond, prefix: 'b' });
  }

  /** Posts events as fast as they are accepted, delivered or not. */
  flood(places: readonly Posted[]): Stream {
    const stream = this.#produce(this.host, { places, prefix: 'b' });
    stream.producer.send({ upTo: Number.MAX_SAFE_INTEGER } satisfies Allowance);
    return stream;
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

  /** Resolves when no delivery is pending. */
  async delivered(): Promise<void> {
    for (;;) {
      const { items } = await this.host.api('GET', '/deliveries?state=pending&limit=1');
      if ((items as unknown[]).length === 0) return;
      await new Promise((resolve) => setTimeout(resolve, POLL_EVERY_MS));
    }
  }

  async end(): Promise<void> {
    await this.#stop();
    await rm(join(this.data, '..'), { recursive: true, force: true });
  }

  async #stop(): Promise<void> {
    await Promise.all(this.#hosts.map((host) => host.stop()));
    this.#hosts = [];
  }
}

function together(streams: readonly Stream[], endFeed: () => Promise<void>): Stream {
  return {
    acknowledged: () => streams.reduce((sum, stream) => sum + stream.acknowledged(), 0),
    end: async () => {
      await endFeed();
      await Promise.all(streams.map((stream) => stream.end()));
    },
  };
}

/** One after the other: the first makes the keys and the token that all use. */
async function startHosts(data: string, options: RigOptions): Promise<readonly HostProcess[]> {
  const { receiver, also, node = [], postgres, nodes = 1 } = options;
  const reached = [receiver, ...(also ? [also] : [])].map(({ port }) => `127.0.0.1:${port}`);
  const flags = ['--webhook-http', 'allow', '--egress-allow', reached.join()];
  const env = postgres && { ANNEX_DATABASE_URL: databaseUrl(postgres) };
  const hosts: HostProcess[] = [];
  for (let started = 0; started < nodes; started += 1)
    hosts.push(await HostProcess.start({ data, flags, node, ...(env && { env }) }));
  return hosts;
}
