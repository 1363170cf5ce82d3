/**
 * Several nodes on one PostgreSQL, as operators run them, with a ledger receiver for their webhooks
 * and an integration that answers calls. Tests kill nodes and the database, and look at what the
 * operator's log says meanwhile.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as passed } from 'node:timers/promises';
import { installWebhooks, type Posted, shareSecrets } from '../deliveries/webhook-senders.ts';
import { HostProcess } from '../host-process.ts';
import { LedgerReceiver } from '../receivers/ledger-receiver.ts';
import type { PostgresCluster } from './postgres-cluster.ts';

/** Answers take some time, so that deliveries are always in flight. */
const ANSWER_WITHIN_MS = 40;
const RECEIVERS = 12;
const POLL_EVERY_MS = 50;
/** A line that takes longer is missing. */
const LOGGED_MS = 15_000;

export interface NodeOptions {
  /** URL of the database, if not that of the cluster: over a proxy. */
  readonly databaseUrl?: string;
  /** More variables of the process. */
  readonly env?: Readonly<Record<string, string>>;
}

/** What the nodes of a group share. */
interface Shared {
  readonly data: string;
  readonly databaseUrl: string;
  readonly flags: readonly string[];
}

/** A line of the operator's log. */
export interface LogLine {
  readonly level: number;
  readonly msg: string;
  readonly [name: string]: unknown;
}

/** One node: a process that may be killed and started again. */
export class GroupNode {
  readonly name: string;
  /** Lines of its log so far, of all of its processes. */
  readonly lines: LogLine[] = [];
  readonly #group: Shared;
  readonly #options: NodeOptions;
  #host: HostProcess | undefined;

  constructor(name: string, group: Shared, options: NodeOptions) {
    this.name = name;
    this.#group = group;
    this.#options = options;
  }

  /** The running process; undefined after a kill. */
  get running(): HostProcess | undefined {
    return this.#host;
  }

  get host(): HostProcess {
    if (this.#host === undefined) throw new Error(`Node ${this.name} does not run.`);
    return this.#host;
  }

  async start(): Promise<void> {
    const { data, databaseUrl, flags } = this.#group;
    this.#host = await HostProcess.start({
      ...{ data, flags },
      env: { ANNEX_DATABASE_URL: this.#options.databaseUrl ?? databaseUrl, ...this.#options.env },
      onLine: (line) => this.#read(line),
    });
  }

  /** Resolves when the process has ended. */
  async kill(): Promise<void> {
    const host = this.#host;
    this.#host = undefined;
    await host?.kill();
  }

  async stop(): Promise<void> {
    const host = this.#host;
    this.#host = undefined;
    await host?.stop();
  }

  /** Whether its process lives. */
  get isAlive(): boolean {
    try {
      return this.#host !== undefined && process.kill(this.#host.pid, 0);
    } catch {
      return false;
    }
  }

  /** The answer of a route of the control listener that needs no token. */
  async health(path: string): Promise<{ status: number; body: Record<string, unknown> }> {
    const response = await fetch(`${this.host.control}${path}`);
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  }

  /** Waits for a line that begins with these words. @returns whether it came */
  async logged(words: string, since: number): Promise<boolean> {
    const until = performance.now() + LOGGED_MS;
    const isThere = () => this.lines.slice(since).some(({ msg }) => msg.startsWith(words));
    while (!isThere() && performance.now() < until) await passed(POLL_EVERY_MS);
    return isThere();
  }

  #read(line: string): void {
    if (!line.startsWith('{')) return;
    this.lines.push(JSON.parse(line) as LogLine);
  }
}

export interface GroupOptions {
  readonly cluster: PostgresCluster;
  readonly nodes: readonly NodeOptions[];
  /** Limits, as variables of every node. */
  readonly env?: Readonly<Record<string, string>>;
}

export class NodeGroup {
  readonly cluster: PostgresCluster;
  readonly nodes: readonly GroupNode[];
  readonly receiver: LedgerReceiver;
  /** Sites whose events are posted to the receiver. */
  readonly places: readonly Posted[];
  /** Path of an endpoint that answers the version that serves it. */
  readonly endpointPath: string;
  /** Id of its installation. */
  readonly #installation: string;
  readonly #folder: string;
  /** The active version of the integration that answers calls. */
  #version = '2';

  private constructor(
    parts: Pick<NodeGroup, 'cluster' | 'nodes' | 'receiver' | 'places'>,
    more: {
      readonly answering: Answering;
      readonly folder: string;
    },
  ) {
    this.cluster = parts.cluster;
    this.nodes = parts.nodes;
    this.receiver = parts.receiver;
    this.places = parts.places;
    this.endpointPath = more.answering.path;
    this.#installation = more.answering.id;
    this.#folder = more.folder;
  }

  /** Starts the nodes, one after the other, and installs everything. */
  static async start({ cluster, nodes: options, env = {} }: GroupOptions): Promise<NodeGroup> {
    const folder = await mkdtemp(join(tmpdir(), 'annex-nodes-'));
    const receiver = await LedgerReceiver.start();
    const flags = ['--cells', '1', '--built-ins', 'none', '--webhook-http', 'allow'];
    // A machine that is busy with other work may give a cell no time for longer than the default.
    const patience = { ANNEX_LIMIT_CELL_HEARTBEAT_MS: '30000' };
    const group = {
      data: join(folder, 'data'),
      databaseUrl: cluster.url(),
      flags: [...flags, '--egress-allow', `127.0.0.1:${receiver.port}`],
    };
    const nodes = options.map(
      (one, index) =>
        new GroupNode(String.fromCharCode(97 + index), group, {
          ...one,
          env: { ...patience, ...env, ...one.env },
        }),
    );
    for (const node of nodes) await node.start();
    const [first] = nodes as [GroupNode];
    const places = await installWebhooks(first.host, RECEIVERS, (index) => receiver.url(`o${index}`));
    await shareSecrets(first.host, places, receiver, {
      ...{ verifyEvery: 1, keepsLedger: true, answerWithinMs: ANSWER_WITHIN_MS },
    });
    const answering = await installAnswering(first.host);
    return new NodeGroup({ cluster, nodes, receiver, places }, { answering, folder });
  }

  node(index: number): GroupNode {
    const node = this.nodes[index];
    if (node === undefined) throw new Error(`There is no node ${index}.`);
    return node;
  }

  /**
   * Activates the other version at one node, and calls another node until it serves that version.
   *
   * @returns milliseconds from the answer to the activation
   */
  async activated(at: GroupNode, seenBy: GroupNode): Promise<number> {
    const version = this.#version === '1' ? '2' : '1';
    this.#version = version;
    await at.host.api('POST', `/integrations/${ANSWERING}/versions/${version}/activate`);
    const since = performance.now();
    while ((await this.served(seenBy)) !== version) await passed(1);
    return performance.now() - since;
  }

  /** The version that a node serves. @throws if the call fails */
  async served(node: GroupNode): Promise<string> {
    const response = await fetch(`${node.host.open}${this.endpointPath}`);
    const text = await response.text();
    if (!response.ok) throw new Error(`A call was answered ${response.status}: ${text}`);
    return text;
  }

  /**
   * Whether the log of the integration that answers calls has a line of that time. A caller that
   * asks late finds it on a later page, behind the lines of later calls.
   */
  async hasLineBetween(node: GroupNode, from: number, to: number): Promise<boolean> {
    const path = `/logs?installation=${this.#installation}&limit=100`;
    for (let page = ''; ; ) {
      const { items, next } = (await node.host.api('GET', `${path}${page}`)) as unknown as LogPage;
      const times = items.map(({ at }) => Date.parse(at));
      if (times.some((at) => at > from && at < to)) return true;
      if (next === undefined || times.some((at) => at < from)) return false;
      page = `&cursor=${next}`;
    }
  }

  /** Deliveries with a lease, as `id fence`. */
  async leased(): Promise<Set<string>> {
    const rows = await this.cluster.query<{ key: string }>(
      "select id || ' ' || fence as key from deliveries where lease_until is not null",
    );
    return new Set(rows.map(({ key }) => key));
  }

  /** Resolves when no delivery is pending. @throws after `withinMs` */
  async settled(withinMs: number): Promise<void> {
    const until = performance.now() + withinMs;
    for (;;) {
      const [row] = await this.cluster.query<{ pending: string }>(
        "select count(*) as pending from deliveries where state = 'pending'",
      );
      if (row?.pending === '0') return;
      if (performance.now() > until) throw new Error(`${row?.pending} deliveries are still pending.`);
      await passed(POLL_EVERY_MS);
    }
  }

  /** Ends everything but the cluster. */
  async end(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.kill()));
    this.receiver.stop();
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 10 });
  }
}

const ANSWERING = 'answering';

/** The installation of the integration that answers calls. */
/** A page of `GET /v1/logs`, the newest line first. */
interface LogPage {
  readonly items: readonly { readonly at: string }[];
  readonly next?: string;
}

interface Answering {
  readonly path: string;
  readonly id: string;
}

async function installAnswering(host: HostProcess): Promise<Answering> {
  await publish(host, '1');
  await publish(host, '2');
  const installed = await host.api('POST', `/integrations/${ANSWERING}/installations`, {
    organization: 'acme',
  });
  const { publicEndpoint } = installed['urls'] as { publicEndpoint: string };
  return { path: new URL(publicEndpoint).pathname, id: String(installed['id']) };
}

async function publish(host: HostProcess, version: string): Promise<void> {
  const form = new FormData();
  const manifest = `name: ${ANSWERING}\ntitle: Answering\ndescription: Answers its version.\norganization: acme\nvisibility: private\nscopes: []\nscript: index.js\n`;
  form.append('manifest', manifest);
  const source = `export default { fetch() { console.log('called'); return new Response('${version}'); } };`;
  form.append('files', new Blob([source]), 'index.js');
  await host.api('POST', '/integrations', form);
}
