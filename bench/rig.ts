/**
 * The service that is measured: one process or several nodes, as `npm start` runs them, on a data
 * folder of their own, with what benchmarks publish and install.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { limitVariable } from '../src/host/config.ts';
import type { Limits } from '../src/limits.ts';
import { HostProcess } from '../test/support/host-process.ts';
import type { Target } from './load.ts';
import { databaseUrl, type QueueServer } from './servers.ts';
import type { StorePlace } from './store-fill.ts';

const NEVER = 1_000_000;
/** A single client posts all requests: its address must not be refused for their number. */
const LIMITS: Partial<Limits> = { requestsPerSecondPerAddress: NEVER, requestsPerSecondPerEndpoint: NEVER };

export interface RigOptions {
  readonly flags?: readonly string[];
  readonly limits?: Partial<Limits>;
  /** The server of PostgreSQL, with an empty database; absent: SQLite. */
  readonly postgres?: QueueServer | undefined;
  readonly nodes?: number;
}

export interface Installed {
  readonly id: string;
  readonly url: URL;
}

export type Files = Readonly<Record<string, string>>;

/** The API of a service, as the operator. */
export class Client {
  readonly #control: string;
  readonly #token: string;

  constructor(control: string, token: string) {
    this.#control = control;
    this.#token = token;
  }

  /** Posts to the API, whatever the status is. */
  async post(path: string, body: FormData | object): Promise<{ status: number; text: string }> {
    const isForm = body instanceof FormData;
    const json = isForm ? {} : { 'content-type': 'application/json' };
    const response = await fetch(`${this.#control}/v1${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.#token}`, ...json },
      body: isForm ? body : JSON.stringify(body),
    });
    return { status: response.status, text: await response.text() };
  }

  /**
   * @param files by path; the first is the entry
   * @param more lines of the manifest, and secrets
   */
  async publish(
    name: string,
    files: Files,
    more: { manifest?: string; secrets?: Files } = {},
  ): Promise<void> {
    const form = new FormData();
    const about = `title: ${name}\ndescription: Measured.\norganization: acme\nvisibility: public\nscopes: []`;
    const [script] = Object.keys(files);
    form.append('manifest', `name: ${name}\n${about}\nscript: ${script}\n${more.manifest ?? ''}`);
    for (const [path, source] of Object.entries(files)) form.append('files', new Blob([source]), path);
    if (more.secrets) form.append('secrets', JSON.stringify(more.secrets));
    await this.#made('/integrations', form);
  }

  async install(name: string, organization = 'bench'): Promise<Installed> {
    const { id, urls } = await this.#made(`/integrations/${name}/installations`, { organization });
    return { id: String(id), url: new URL((urls as { publicEndpoint: string }).publicEndpoint) };
  }

  /** An envelope for an installation, from the product. */
  envelope({ url }: Installed, event: object, body = ''): Target {
    const part = (disposition: string, value: string) =>
      `--bench\r\ncontent-disposition: form-data; ${disposition}\r\n\r\n${value}\r\n`;
    const file = body && part('name="fetch-body"; filename="fetch-body"', body);
    const parts = `${part('name="event"', JSON.stringify(event))}${part('name="environment"', '{}')}${file}`;
    const authorization = `Bearer ${this.#token}`;
    return {
      ...{ url: new URL(`${url.href.replace(/\/$/, '')}/v1`), method: 'POST', body: `${parts}--bench--\r\n` },
      headers: { authorization, 'content-type': 'multipart/form-data; boundary=bench' },
    };
  }

  async #made(path: string, body: FormData | object): Promise<Record<string, unknown>> {
    const { status, text } = await this.post(path, body);
    if (status !== 201) throw new Error(`POST ${path} answered ${status}: ${text}`);
    return JSON.parse(text) as Record<string, unknown>;
  }
}

export class Rig {
  readonly data: string;
  readonly #options: RigOptions;
  #hosts: readonly HostProcess[] = [];

  private constructor(data: string, options: RigOptions) {
    this.data = data;
    this.#options = options;
  }

  static async start(options: RigOptions = {}): Promise<Rig> {
    const rig = new Rig(join(await mkdtemp(join(tmpdir(), 'annex-bench-')), 'data'), options);
    await rig.#start();
    return rig;
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

  get pids(): readonly number[] {
    return this.#hosts.map(({ pid }) => pid);
  }

  /** Server of the database, if it is one. */
  get postgres(): QueueServer | undefined {
    return this.#options.postgres;
  }

  api(method: string, path: string, body?: FormData | object): Promise<Record<string, unknown>> {
    return this.host.api(method, path, body);
  }

  get client(): Client {
    return new Client(this.host.control, this.host.adminToken);
  }

  /** Stops the service, runs `work` on its store, and starts it again. */
  async between(work: (store: StorePlace) => Promise<void>): Promise<void> {
    await this.#stop();
    const { postgres } = this.#options;
    await work({ folder: this.data, ...(postgres && { url: databaseUrl(postgres) }) });
    await this.#start();
  }

  async end(): Promise<void> {
    await this.#stop();
    await rm(join(this.data, '..'), { recursive: true, force: true });
  }

  /** One after the other: the first makes the keys and the token that all use. */
  async #start(): Promise<void> {
    const { flags = [], limits, postgres, nodes = 1 } = this.#options;
    const variables = Object.entries({ ...LIMITS, ...limits }).map(([name, value]) => [
      limitVariable(name),
      String(value),
    ]);
    const database = postgres && { ANNEX_DATABASE_URL: databaseUrl(postgres) };
    const env = { ...Object.fromEntries(variables), ...database };
    for (let started = 0; started < nodes; started += 1)
      this.#hosts = [...this.#hosts, await HostProcess.start({ data: this.data, flags, env })];
  }

  async #stop(): Promise<void> {
    await Promise.all(this.#hosts.map((host) => host.stop()));
    this.#hosts = [];
  }
}

/** Runs `work` with a service of its own. */
export async function withRig<T>(options: RigOptions, work: (rig: Rig) => Promise<T>): Promise<T> {
  const rig = await Rig.start(options);
  try {
    return await work(rig);
  } finally {
    await rig.end();
  }
}
