/**
 * The service behind `@annex/testing`: a temporary one with real cells and production's limits,
 * whose outbound requests the test answers and whose time the test sets forward. It publishes a
 * folder once for each content of it.
 */
import { createHash } from 'node:crypto';
import { Annex, AnnexError } from '../../../packages/client/src/index.ts';
import type { PublishedFolder, TestRequest } from '../../../packages/testing/src/test-messages.ts';
import { type FolderUpload, folderUpload } from '../../cli/upload/folder-upload.ts';
import { secretValues } from '../../cli/upload/secret-values.ts';
import { UPLOAD_MS, uploadForm } from '../../cli/upload/upload-form.ts';
import type { Limits } from '../../limits.ts';
import { isError, type Problem } from '../../model/problem.ts';
import type { Service } from '../../service.ts';
import { startTemporaryService } from '../temporary-service.ts';
import { type EarlyProcesses, TEST_SERVICE_FLAGS } from './early-processes.ts';
import { type Answering, mockedNetwork } from './mocked-network.ts';
import { TestTime } from './test-time.ts';

/** Between two looks at work in flight. */
const LOOK_MS = 2;
const PAGE = 1_000;

export class TestBed {
  readonly service: Service;
  readonly limits: Limits;
  readonly #annex: Annex;
  readonly #time: TestTime;
  readonly #end: () => Promise<void>;
  /** By the content of the folder. */
  readonly #published = new Map<string, Promise<PublishedFolder>>();

  private constructor(
    { service, limits, end }: { service: Service; limits: Limits; end: () => Promise<void> },
    time: TestTime,
  ) {
    this.service = service;
    this.limits = limits;
    this.#time = time;
    this.#end = end;
    this.#annex = new Annex({ url: service.controlUrl, token: this.token });
  }

  /**
   * @param answering answers the outbound requests of integrations, and webhooks
   * @param early what the processes of the service start from
   */
  static async start(answering: Answering, { confined }: EarlyProcesses): Promise<TestBed> {
    const time = new TestTime();
    const started = await startTemporaryService({
      flags: TEST_SERVICE_FLAGS,
      logLevel: 'error',
      expectsUploads: true,
      prepare: () => confined,
      standIns: { time, connect: mockedNetwork(answering) },
    });
    const end = async () => {
      await started.end();
      (await confined).build.remove();
    };
    return new TestBed({ ...started, end }, time);
  }

  /** An admin token. */
  get token(): string {
    return this.service.firstAdminToken ?? '';
  }

  /** Does what a test kit asks. @returns what the answer has, as JSON */
  async do(request: TestRequest): Promise<unknown> {
    if (request.ask === 'publish') return this.publish(request.folder, request.secrets);
    if (request.ask === 'settle') return this.settle();
    return this.advance(request.ms);
  }

  /**
   * Publishes a folder, unless this content of it is published already.
   *
   * @throws an Error that lists its problems
   */
  async publish(folder: string, secrets: Readonly<Record<string, string>>): Promise<PublishedFolder> {
    const upload = await folderUpload({ folder });
    if (!('files' in upload)) throw refused(folder, upload.problems);
    const errors = upload.problems.filter(isError);
    if (errors.length > 0) throw refused(folder, errors);
    const values = await secretsOf(upload, folder, secrets);
    const key = contentKey(upload, values);
    const known = this.#published.get(key);
    if (known !== undefined) return known;
    const published = this.#publish(folder, upload, values);
    this.#published.set(key, published);
    published.catch(() => this.#published.delete(key));
    return published;
  }

  /** Waits until no call is in flight and no delivery is due, and writes the logs. */
  async settle(): Promise<void> {
    while (this.service.callsInFlight > 0 || (await this.#isDue()))
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    await this.service.store.logs.pass();
  }

  /** Sets the time forward. Deliveries and their retries are made at their times. */
  async advance(ms: number): Promise<void> {
    await this.#time.advance(ms, { settled: () => this.settle(), nextDueAt: () => this.#nextDueAt() });
  }

  /** Stops the service, and removes its folder. */
  async end(): Promise<void> {
    await this.#end();
  }

  async #publish(
    folder: string,
    upload: FolderUpload,
    secrets: Readonly<Record<string, string>>,
  ): Promise<PublishedFolder> {
    const form = uploadForm(upload, { secrets, overwriteSecrets: true });
    try {
      const options = { timeoutMs: UPLOAD_MS, retries: 0 };
      const { integration: name, version } = await this.#annex.integrations.publish(form, options);
      const { organization = '', visibility = 'private' } = upload.manifest ?? {};
      return { name, version, organization, isPrivate: visibility === 'private' };
    } catch (cause) {
      if (cause instanceof AnnexError && cause.code === 'PUBLISH_INVALID')
        throw refused(folder, cause.problems as readonly Problem[]);
      throw cause;
    }
  }

  async #isDue(): Promise<boolean> {
    const dueAt = await this.#nextDueAt();
    return dueAt !== undefined && dueAt <= this.#time.clock();
  }

  /** When the next delivery or lifecycle event is due; 0 for one that is in flight. */
  async #nextDueAt(): Promise<number | undefined> {
    const { deliveryQueue, lifecycleEvents } = this.service.store;
    const request = { cursor: undefined, limit: PAGE };
    const [endpoints, installations] = await Promise.all([
      deliveryQueue.waitingEndpoints(request),
      lifecycleEvents.waitingInstallations(request),
    ]);
    const events = await Promise.all(installations.items.map((id) => lifecycleEvents.first(id)));
    const times = [
      ...endpoints.items.map(({ dueAt }) => dueAt),
      ...events.flatMap((event) => (event === undefined ? [] : [event.leasedUntil ? 0 : event.dueAt])),
    ];
    return times.length === 0 ? undefined : Math.min(...times);
  }
}

/** Values for secrets that have none in the manifest. No test reads those of its machine. */
async function secretsOf(
  { manifest }: FolderUpload,
  folder: string,
  given: Readonly<Record<string, string>>,
): Promise<Readonly<Record<string, string>>> {
  // The service says what is wrong with the manifest.
  if (manifest === undefined) return {};
  const declared = manifest.secrets;
  const options = Object.entries(given).map(([name, value]) => `${name}=${value}`);
  const env = { given: options, file: undefined, env: {}, cwd: folder, folder: NO_FOLDER };
  const { values, open } = await secretValues(declared, env);
  return { ...Object.fromEntries([...open.keys()].map((name) => [name, `secret-${name}`])), ...values };
}

/** Has no `.env`: that of the author has real secrets. */
const NO_FOLDER = '/nonexistent';

function contentKey(
  { files, manifestFile }: FolderUpload,
  secrets: Readonly<Record<string, string>>,
): string {
  const hash = createHash('sha256');
  const part = (bytes: Uint8Array | string) => hash.update(`${bytes.length}:`).update(bytes);
  part(manifestFile);
  part(JSON.stringify(secrets));
  for (const [path, { bytes }] of files) {
    part(path);
    part(bytes);
  }
  return hash.digest('base64url');
}

function refused(folder: string, problems: readonly Problem[]): Error {
  const lines = problems.map(({ file, line, column, message, hint }) => {
    const place = [file, line, column].filter((each) => each !== undefined).join(':');
    return `  ${place === '' ? '' : `${place}: `}${message}${hint === undefined ? '' : ` ${hint}`}`;
  });
  return new Error(`${folder} cannot be published:\n${lines.join('\n')}`);
}
