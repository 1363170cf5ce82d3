/**
 * A real service for tests: own data folder, free ports, real cells. Tests use it over HTTP, like
 * clients; only the operator's side (pids of cells, the store) is reached directly.
 */
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import type { InspectionSettings } from '../../src/host/inspector/inspection-settings.ts';
import type { Service } from '../../src/host/service.ts';
import type { Store } from '../../src/host/store/store.ts';
import type { Limits } from '../../src/limits.ts';
import { uploadFolder } from '../../src/local/demo/folder-form-data.ts';
import { type Sent, toRequest } from '../../src/local/demo/transcript.ts';
import { startTemporaryService } from '../../src/local/temporary-service.ts';
import type { Level } from '../../src/model/level.ts';
import { preparedProcesses } from './prepared-processes.ts';
import { putEmptyDatabase } from './store/empty-database.ts';
import { claimEvent } from './store/installed.ts';
import { OPERATOR } from './store/temporary-store.ts';
import { serviceDatabase } from './store/test-engine.ts';

const FIXTURES = fileURLToPath(new URL('../../fixtures/', import.meta.url));

/**
 * Limits for tests that count what a cell was called for, and are not about cells that hang: a
 * machine that is busy with other work may give a cell no time for longer than the defaults.
 */
export const PATIENT = { cellHeartbeatMs: 30_000, probeWallMs: 30_000 } satisfies Partial<Limits>;

export interface Installed {
  readonly id: string;
  readonly endpoint: string;
}

export interface LogLine {
  readonly level: string;
  readonly text: string;
}

export class TestService {
  readonly service: Service;
  readonly admin: string;
  /** A platform token. */
  readonly platform: string;
  #organizations = 0;
  readonly #quiet: QuietInstalls;

  readonly #end: () => Promise<void>;

  private constructor(
    service: Service,
    { admin, platform }: { admin: string; platform: string },
    end: () => Promise<void>,
  ) {
    this.#end = end;
    this.service = service;
    this.#quiet = new QuietInstalls(service.store);
    this.admin = admin;
    this.platform = platform;
  }

  /** Starts a service; the caller stops it. */
  static async start(
    options: {
      cells?: number;
      limits?: Partial<Limits>;
      flags?: readonly string[];
      /** Variables of settings that have no flag. */
      env?: Readonly<Record<string, string>>;
      inspect?: InspectionSettings;
      /** Takes everything the service logs, from `trace` on. */
      logTo?: { write(line: string): void };
    } = {},
  ): Promise<TestService> {
    const { env, drop } = await serviceDatabase();
    const { service, end } = await startTemporaryService({
      env: { ...env, ...options.env },
      // No built-in integrations by default: lists and counts are of integrations that the test has
      // published.
      flags: ['--built-ins', 'none', '--cells', String(options.cells ?? 1), ...(options.flags ?? [])],
      limits: options.limits ?? {},
      ...(options.inspect && { inspect: options.inspect }),
      logLevel: options.logTo ? 'trace' : (process.env['ANNEX_TEST_LOG'] ?? 'silent'),
      ...(options.logTo && { logTo: options.logTo }),
      prepare: async (config) => {
        await putEmptyDatabase(config.dataFolder);
        return preparedProcesses(config);
      },
    });
    const { token } = await service.store.tokens.create({ kind: 'platform' }, OPERATOR);
    const tokens = { admin: service.firstAdminToken ?? '', platform: token };
    return new TestService(service, tokens, () => end().finally(drop));
  }

  /** A node of a service that is started elsewhere. */
  static node(service: Service, tokens: { admin: string; platform: string }, end: () => Promise<void>) {
    return new TestService(service, tokens, end);
  }

  stop(): Promise<void> {
    return this.#end();
  }

  /** Sends one request to the control listener. */
  async api(
    method: string,
    path: string,
    { token = this.admin, ...rest }: Pick<Sent, 'token' | 'json' | 'form'> = {},
  ): Promise<{ status: number; body: Record<string, unknown> }> {
    const url = `${this.service.controlUrl}${path}`;
    const response = await fetch(toRequest({ method, url, token, ...rest }));
    const text = await response.text();
    return { status: response.status, body: text === '' ? {} : JSON.parse(text) };
  }

  /** Publishes an integration of `acme` made of these files; `index.js` is the entry. */
  async publish(name: string, files: Record<string, string>, manifest = ''): Promise<number> {
    const { status, body } = await this.tryPublish(name, files, manifest);
    if (status !== 201) throw new Error(`publish answered ${status}: ${JSON.stringify(body)}`);
    return Number(body['version']);
  }

  tryPublish(name: string, files: Record<string, string>, manifest = '', token = this.admin) {
    const form = new FormData();
    const entry = Object.keys(files)[0] ?? 'index.js';
    form.append(
      'manifest',
      `name: ${name}\ntitle: ${name}\ndescription: for a test\norganization: acme\nvisibility: public\nscopes: []\nscript: ${entry}\n${manifest}`,
    );
    for (const [path, source] of Object.entries(files)) form.append('files', new Blob([source]), path);
    return this.api('POST', '/v1/integrations', { form, token });
  }

  async publishFixture(name: string): Promise<void> {
    const form = await uploadFolder(`${FIXTURES}${name}`);
    const { status, body } = await this.api('POST', '/v1/integrations', { form });
    if (status !== 201) throw new Error(`publish answered ${status}: ${JSON.stringify(body)}`);
  }

  /**
   * Installs for a new organization, or the given one. The integration gets no lifecycle event, so
   * that calls of the test are the only ones; with `notified` it gets one, as usual.
   */
  install(
    name: string,
    organization = this.#newOrganization(),
    { notified = false } = {},
  ): Promise<Installed> {
    const install = () => this.#install(name, organization);
    return notified ? install() : this.#quiet.run(install);
  }

  async #install(name: string, organization: string): Promise<Installed> {
    const { status, body } = await this.api('POST', `/v1/integrations/${name}/installations`, {
      json: { organization },
    });
    if (status !== 201) throw new Error(`install answered ${status}: ${JSON.stringify(body)}`);
    const { id, urls } = body as { id: string; urls: { publicEndpoint: string } };
    return { id, endpoint: urls.publicEndpoint };
  }

  /** Creates a space or site installation below an installation. */
  async installBelow(
    name: string,
    { id }: Installed,
    level: Exclude<Level, 'organization'>,
    place: string,
  ): Promise<Installed> {
    const { status, body } = await this.api(
      'POST',
      `/v1/integrations/${name}/installations/${id}/${level}s`,
      {
        json: { [level]: place },
      },
    );
    if (status !== 201) throw new Error(`install answered ${status}: ${JSON.stringify(body)}`);
    const { urls } = body as { urls: { publicEndpoint: string } };
    return { id, endpoint: urls.publicEndpoint };
  }

  #newOrganization(): string {
    this.#organizations += 1;
    return `org-${this.#organizations}`;
  }

  /** Publishes and installs. */
  async deploy(name: string, source: string, { notified = false } = {}): Promise<Installed> {
    await this.publish(name, { 'index.js': source });
    return this.install(name, undefined, { notified });
  }

  /** Sends one envelope, with the platform's token unless another is given. */
  envelope(
    { endpoint }: Installed,
    event: unknown,
    {
      body,
      environment = '{}',
      token = this.platform,
    }: { body?: string; environment?: string; token?: string } = {},
  ): Promise<Response> {
    const form = new FormData();
    form.append('event', typeof event === 'string' ? event : JSON.stringify(event));
    form.append('environment', environment);
    if (body !== undefined) form.append('fetch-body', new Blob([body]), 'fetch-body');
    return fetch(`${endpoint}/v1`, {
      method: 'POST',
      body: form,
      headers: token === '' ? {} : { authorization: `Bearer ${token}` },
    });
  }

  /** The log of an installation, oldest line first, after waiting lines were written. */
  async log({ id }: Installed): Promise<LogLine[]> {
    await this.service.store.logs.pass();
    const { body } = await this.api('GET', `/v1/logs?installation=${id}&limit=100`);
    return (body['items'] as LogLine[]).toReversed();
  }

  /** The value of a metric, by its name with labels. */
  async metric(name: string): Promise<number> {
    const text = await (await fetch(`${this.service.controlUrl}/metrics`)).text();
    const line = text.split('\n').find((candidate) => candidate.startsWith(`${name} `));
    return Number(line?.split(' ').at(-1) ?? 0);
  }

  get cellPids(): number[] {
    return this.service.pool.cells.flatMap(({ pid }) => (pid === undefined ? [] : [pid]));
  }
}

/**
 * Installs without lifecycle events: settles each event before the lifecycle worker learns of it.
 */
class QuietInstalls {
  readonly #events: Store['lifecycleEvents'];
  readonly #changes: Store['changes'];
  /** Installations to report to the lifecycle worker when no install runs. */
  readonly #held = new Set<string>();
  #running = 0;
  #listeners: ((installationId: string) => void)[] = [];

  constructor({ lifecycleEvents, changes }: Store) {
    this.#events = lifecycleEvents;
    this.#changes = changes;
  }

  async run(install: () => Promise<Installed>): Promise<Installed> {
    if (this.#running === 0) {
      this.#listeners = this.#changes.listeners('lifecycle');
      this.#changes.removeAllListeners('lifecycle');
      this.#changes.on('lifecycle', (id) => void this.#held.add(id));
    }
    this.#running += 1;
    try {
      const installed = await install();
      const event = await claimEvent({ lifecycleEvents: this.#events }, installed.id);
      const end = { state: 'canceled', outcome: 'not delivered in this test', called: false } as const;
      if (event) await this.#events.finish(event, end);
      return installed;
    } finally {
      this.#running -= 1;
      if (this.#running === 0) {
        this.#changes.removeAllListeners('lifecycle');
        for (const listener of this.#listeners) this.#changes.on('lifecycle', listener);
        for (const id of this.#held) this.#changes.emit('lifecycle', id);
        this.#held.clear();
      }
    }
  }
}

/** A service for one test. */
export async function startTestService(
  options: Parameters<typeof TestService.start>[0] = {},
): Promise<TestService> {
  const service = await TestService.start(options);
  onTestFinished(() => service.stop());
  return service;
}
