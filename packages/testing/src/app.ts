/** An integration that tests have loaded: it makes installations, and removes them at the end. */
import { randomBytes } from 'node:crypto';
import { Annex } from '../../client/src/index.ts';
import { FetchTable, type Mocks } from './fetch-table.ts';
import { Installation, type InstallOptions } from './installation.ts';
import { OutboundRequests } from './outbound-requests.ts';
import type { ServiceProcess } from './service-process.ts';
import type { PublishedFolder } from './test-messages.ts';

/** Installations of this process, by their integration and organization: each pair has one. */
const installed = new Map<string, Installation>();

export class App {
  /** The name of the integration. */
  readonly name: string;
  readonly #published: PublishedFolder;
  readonly #service: ServiceProcess;
  readonly #annex: Annex;
  readonly #mocks: Mocks | undefined;
  readonly #installed: Installation[] = [];

  /** @internal `load()` makes it */
  constructor(service: ServiceProcess, published: PublishedFolder, mocks: Mocks | undefined) {
    this.#service = service;
    this.#published = published;
    const { controlUrl: url, token } = service.ready;
    const send = service.fetch.bind(service);
    // Without a timeout: its timer would be a fake of the test.
    this.#annex = new Annex({ url, token, fetch: send, timeoutMs: Number.POSITIVE_INFINITY });
    // Checked here, so that a wrong key is an error of `load()`.
    new FetchTable(mocks);
    this.#mocks = mocks;
    this.name = published.name;
  }

  /**
   * Installs the integration for an organization that has nothing else. Resolves when its lifecycle
   * events are handled.
   *
   * Only its owner can install a private integration, and once: a further install takes the place of
   * the one before. An install that fails leaves no installation behind.
   */
  async install(options: InstallOptions = {}): Promise<Installation> {
    const { configuration, secrets, fetches } = options;
    const { name, organization: owner, isPrivate } = this.#published;
    const { installations, secrets: stored } = this.#annex;
    const organization =
      options.organization ?? (isPrivate ? owner : `test-${randomBytes(6).toString('hex')}`);
    const outbound = new OutboundRequests(new FetchTable(fetches, this.#mocks));
    if (secrets !== undefined) await stored.set(name, secrets);
    await this.#remove(organization);
    const { id, urls } = await installations.create(name, { organization });
    outbound.of(id);
    outbound.addEndpoint(urls.publicEndpoint);
    const installation = new Installation(
      { annex: this.#annex, service: this.#service, outbound },
      { integration: name, id, organization, endpoint: urls.publicEndpoint },
    );
    try {
      if (configuration === undefined) await installation.settle();
      else await installation.configure(configuration);
      for (const [space, values] of Object.entries(options.spaces ?? {}))
        await installation.addTo({ space }, values);
      for (const [site, values] of Object.entries(options.sites ?? {}))
        await installation.addTo({ site }, values);
    } catch (cause) {
      // What its removal says is of the same failure.
      await installation.close().catch(() => undefined);
      throw cause;
    }
    this.#installed.push(installation);
    installed.set(`${name} ${organization}`, installation);
    return installation;
  }

  /**
   * Removes its installations. Needed only where one process has very many of them: the service ends
   * with the process.
   *
   * @throws the error of a request that no mock has answered since the last step of a test
   */
  async close(): Promise<void> {
    for (const installation of this.#installed.splice(0)) await installation.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Removes the installation that the organization has, of whichever `load()`. */
  async #remove(organization: string): Promise<void> {
    const key = `${this.name} ${organization}`;
    const before = installed.get(key);
    installed.delete(key);
    await before?.close();
  }
}
