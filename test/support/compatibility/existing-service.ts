/**
 * A service on which integrations that exist elsewhere are installed and called, with a product
 * that has an API of its own. One half of the tests runs on a shared origin, as by default, the
 * other on an origin for each endpoint.
 */
import { expect } from 'vitest';
import { FakeProduct } from '../http/fake-product.ts';
import { type Asked, askPublic } from '../module-worker.ts';
import { TestService } from '../service.ts';
import { type PublishOptions, publishExisting } from './existing-integration.ts';

/** Where the endpoints are, and the flags for it. */
export const HALVES: readonly [name: string, flags: readonly string[]][] = [
  ['a shared origin', []],
  ['origins of their own', ['--public-url', 'http://{endpoint}.apps.example.com']],
];

export type InstalledLevel = 'installation' | 'space' | 'site';

/** An installed integration, and its endpoints. */
export interface Targets {
  readonly name: string;
  readonly organization: string;
  /** Id of the installation. */
  readonly id: string;
  /** Id of the space, and of the site. */
  readonly place: string;
  readonly integration: string;
  readonly installation: string;
  readonly space?: string;
  readonly site?: string;
}

interface Urls {
  readonly urls: { readonly publicEndpoint: string };
}

export class ExistingService {
  readonly annex: TestService;
  readonly product: FakeProduct;
  #installed = 0;

  private constructor(annex: TestService, product: FakeProduct) {
    this.annex = annex;
    this.product = product;
  }

  static async start(flags: readonly string[]): Promise<ExistingService> {
    const product = await FakeProduct.start();
    const own = ['--internal-organizations', 'acme', '--product-api', product.url];
    return new ExistingService(await TestService.start({ flags: [...own, ...flags] }), product);
  }

  async stop(): Promise<void> {
    await this.annex.stop();
    await this.product.close();
  }

  /** Publishes a fixture, which must succeed, and installs it at these levels. */
  async deploy(
    fixture: string,
    { levels = [], ...options }: PublishOptions & { readonly levels?: readonly ('space' | 'site')[] } = {},
  ): Promise<Targets> {
    const { status, body } = await publishExisting(this.annex, fixture, options);
    expect([status, body['error']]).toEqual([201, undefined]);
    return this.#install(String(body['integration']), levels);
  }

  /** Installs the same integration for another organization. */
  installAgain({ name }: Targets, levels: readonly ('space' | 'site')[] = []): Promise<Targets> {
    return this.#install(name, levels);
  }

  async #install(name: string, levels: readonly ('space' | 'site')[]): Promise<Targets> {
    this.#installed += 1;
    // Private and unlisted integrations are installed by their owner.
    const { body: record } = await this.annex.api('GET', `/v1/integrations/${name}`);
    const organization = record['visibility'] === 'public' ? `org-${this.#installed}` : 'acme';
    const place = `place-${this.#installed}`;
    const installed = await this.annex.install(name, organization, { notified: true });
    const targets = {
      ...{ name, organization, place, id: installed.id, installation: installed.endpoint },
      integration: (record as unknown as Urls).urls.publicEndpoint,
    };
    const below: Partial<Record<'space' | 'site', string>> = {};
    for (const level of levels)
      below[level] = (await this.annex.installBelow(name, installed, level, place)).endpoint;
    return { ...targets, ...below };
  }

  /** Raw traffic to a public URL, as a proxy in front would send it. */
  ask(url: string, options?: Parameters<typeof askPublic>[2]): Promise<Asked> {
    return askPublic(this.annex, url, options);
  }

  /** An envelope of the platform to the endpoint of a level. */
  envelope(targets: Targets, level: InstalledLevel, event: object, body?: Buffer): Promise<Asked> {
    return this.envelopeAt(String(targets[level]), event, body);
  }

  async envelopeAt(endpoint: string, event: object, body?: Buffer): Promise<Asked> {
    const form = new FormData();
    form.append('event', JSON.stringify(event));
    form.append('environment', '{}');
    if (body !== undefined) form.append('fetch-body', new Blob([new Uint8Array(body)]), 'fetch-body');
    const encoded = new Response(form);
    const headers = {
      authorization: `Bearer ${this.annex.platform}`,
      'content-type': encoded.headers.get('content-type') ?? '',
    };
    return this.ask(`${endpoint}/v1`, {
      method: 'POST',
      headers,
      body: Buffer.from(await encoded.arrayBuffer()),
    });
  }

  /** Draws a component through the API. */
  draw(
    targets: Targets,
    json: object,
    level: InstalledLevel = 'installation',
  ): Promise<{ status: number; body: Record<string, unknown> }> {
    return this.annex.api('POST', `${pathOf(targets, level)}/render`, { json });
  }

  /** A drawing that must succeed, as text. */
  async drawText(targets: Targets, json: object): Promise<string> {
    const { status, body } = await this.draw(targets, json);
    expect([status, body['error']]).toEqual([200, undefined]);
    return JSON.stringify(body);
  }

  async read(targets: Targets, level: InstalledLevel = 'installation'): Promise<Record<string, unknown>> {
    return (await this.annex.api('GET', pathOf(targets, level))).body;
  }

  async edit(targets: Targets, level: InstalledLevel, json: object): Promise<void> {
    const { status, body } = await this.annex.api('PATCH', pathOf(targets, level), { json });
    expect([status, body['error']]).toEqual([200, undefined]);
  }

  async remove(targets: Targets): Promise<void> {
    await this.annex.api('DELETE', pathOf(targets, 'installation'));
  }

  /** Posts an event of the product. */
  async post(event: object): Promise<void> {
    const { status, body } = await this.annex.api('POST', '/v1/events', { json: event });
    expect([status, body['error']]).toEqual([202, undefined]);
  }

  /** The texts of an installation's log, oldest first. */
  async lines({ id }: Targets): Promise<string[]> {
    return (await this.annex.log({ id, endpoint: '' })).map(({ text }) => text);
  }

  /** The texts of the log of the integration's own level. */
  async linesOfIntegration(name: string): Promise<string[]> {
    await this.annex.service.store.logs.pass();
    const { body } = await this.annex.api('GET', `/v1/logs?integration=${name}`);
    return (body['items'] as { text: string }[]).map(({ text }) => text);
  }
}

function pathOf({ name, id, place }: Targets, level: InstalledLevel): string {
  const installation = `/v1/integrations/${name}/installations/${id}`;
  return level === 'installation' ? installation : `${installation}/${level}s/${place}`;
}
