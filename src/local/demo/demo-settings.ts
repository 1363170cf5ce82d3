/**
 * The part of the tour about the lifecycle of an installation: incomplete settings, then valid
 * ones; the lifecycle events that the integration receives; completions that it supplies; a space;
 * a new version and a rollback; the deletion.
 *
 * Like the rest of the tour it is an HTTP client and uses nothing internal.
 */
import { setTimeout } from 'node:timers/promises';
import { type Exchange, type Sent, type Transcript, toRequest } from './transcript.ts';

const NAME = 'greeter';
const ORGANIZATION = 'acme';
const SPACE = 'space-1';
/** Interval and number of polls while the tour waits for the delivery of an event. */
const EVERY_MS = 50;
const TRIES = 200;

export interface SettingsStart {
  /** Control listener. */
  readonly controlUrl: string;
  readonly adminToken: string;
  readonly platformToken: string;
  readonly transcript: Transcript;
  /** The upload of the fixture. */
  upload(): Promise<FormData>;
}

interface EventView {
  readonly type: string;
  readonly state: string;
}

/** Runs through the lifecycle of an installation; the transcript collects unexpected results. */
export async function tourSettings(start: SettingsStart): Promise<void> {
  const tour = new SettingsTour(start);
  await tour.publish(`Publish "${NAME}", which has settings`);
  const installation = await tour.install();
  await tour.edit(installation);
  await tour.complete(installation);
  await tour.addSpace(installation);
  await tour.publish('A second version');
  await tour.rollBack(installation);
  await tour.remove(installation);
}

interface Installation {
  /** Path of its resource in the API, below `/v1`. */
  readonly path: string;
  readonly id: string;
  readonly endpoint: string;
}

class SettingsTour {
  readonly #start: SettingsStart;
  readonly #transcript: Transcript;

  constructor(start: SettingsStart) {
    this.#start = start;
    this.#transcript = start.transcript;
  }

  async publish(title: string): Promise<void> {
    const form = await this.#start.upload();
    const token = this.#start.adminToken;
    const { status } = await this.#ask(title, 'POST', '/integrations', { token, form });
    this.#transcript.expect(status === 201, `"${NAME}" should have been published.`);
  }

  async install(): Promise<Installation> {
    const title = 'Install it: a required setting is missing, so it is pending';
    const json = { organization: ORGANIZATION };
    const installed = await this.#ask(title, 'POST', `/integrations/${NAME}/installations`, { json });
    this.#transcript.expect(hasStatus(installed, 'pending'), 'The installation should be pending.');
    const { id, urls } = installed.json as { id: string; urls: { publicEndpoint: string } };
    const [setup] = await this.#lifecycleEvents('The integration has handled the lifecycle event', id, 1);
    this.#transcript.expect(
      setup?.type === 'installation_setup',
      'installation_setup should have been delivered.',
    );
    return { path: `/integrations/${NAME}/installations/${id}`, id, endpoint: urls.publicEndpoint };
  }

  async edit({ path, id }: Installation): Promise<void> {
    const edit = (title: string, configuration: object) =>
      this.#ask(title, 'PATCH', path, { json: { configuration } });
    const wrong = await edit('An invalid edit: it is stored, and the answer lists the problem', {
      greeting: 'Howdy',
    });
    this.#transcript.expect(hasStatus(wrong, 'pending'), 'With an invalid setting it should stay pending.');
    const valid = { greeting: 'Good day', audience: 'world', times: 2 };
    const right = await edit('A valid edit: the installation becomes active', valid);
    this.#transcript.expect(hasStatus(right, 'active'), 'With valid settings it should be active.');
    const events = await this.#lifecycleEvents(
      'One event for the installation and for each edit, in their order',
      id,
      3,
    );
    const delivered = events.every(({ state }) => state === 'delivered');
    this.#transcript.expect(delivered, 'All three events should have been delivered.');
    await this.#listed('What its handlers logged', `/logs?installation=${id}`, 3);
  }

  async complete({ path }: Installation): Promise<void> {
    const title = 'The choices of a setting, from the integration itself';
    const json = { property: 'city', search: 'be' };
    const completed = await this.#ask(title, 'POST', `${path}/completions`, { json });
    this.#transcript.expect(completed.text.includes('"Berlin"'), 'Berlin should be among the choices.');
  }

  async addSpace({ path, id }: Installation): Promise<void> {
    const title = 'Install it in a space: the space has its own settings, endpoint and events';
    const added = await this.#ask(title, 'POST', `${path}/spaces`, { json: { space: SPACE } });
    this.#transcript.expect(added.status === 201, 'It should have been installed in the space.');
    await this.#lifecycleEvents('The integration has handled the lifecycle event of the space', id, 4);
  }

  async rollBack({ endpoint }: Installation): Promise<void> {
    const token = this.#start.adminToken;
    const path = `/integrations/${NAME}/versions/1/activate`;
    const back = await this.#ask('Roll back to version 1', 'POST', path, { token });
    this.#transcript.expect(back.status === 200, 'Version 1 should be active again.');
    this.#transcript.title('Version 1 is called with the same settings');
    const greeted = await this.#transcript.exchange({ method: 'GET', url: endpoint });
    const twice = greeted.text === 'Good day, world! Good day, world!';
    this.#transcript.expect(twice, 'greeter should have greeted twice.');
  }

  async remove({ path, id }: Installation): Promise<void> {
    const removed = await this.#ask('Remove the installation', 'DELETE', path);
    this.#transcript.expect(removed.status === 204, 'The installation should have been removed.');
    const [last] = await this.#lifecycleEvents(
      'The integration has handled the deletion, after the installation was removed',
      id,
      6,
    );
    const isLast = last?.type === 'installation_deleted';
    this.#transcript.expect(isLast, 'installation_deleted should have come last.');
  }

  /** One request to the API; `rest` may replace the platform token. */
  #ask(title: string, method: string, path: string, rest: Partial<Sent> = {}): Promise<Exchange> {
    this.#transcript.title(title);
    return this.#transcript.exchange({ ...this.#sent(method, path), ...rest });
  }

  #sent(method: string, path: string): Sent {
    const { controlUrl, platformToken: token } = this.#start;
    return { method, url: `${controlUrl}/v1${path}`, token };
  }

  /**
   * Waits until an installation has `count` events and none is pending; lists them, newest first.
   */
  #lifecycleEvents(title: string, id: string, count: number): Promise<readonly EventView[]> {
    return this.#listed<EventView>(title, `/events?installation=${id}`, count);
  }

  /** Waits until `count` items are listed and none of them is pending, and shows them. */
  async #listed<Item extends object>(title: string, path: string, count: number): Promise<readonly Item[]> {
    const itemsOf = (text: string): Item[] => (JSON.parse(text) as { items?: Item[] }).items ?? [];
    const waits = (item: object): boolean => 'state' in item && item.state === 'pending';
    for (let tries = 0; tries < TRIES; tries += 1) {
      const items = itemsOf(await (await fetch(toRequest(this.#sent('GET', path)))).text());
      if (items.length >= count && !items.some(waits)) break;
      await setTimeout(EVERY_MS);
    }
    const items = itemsOf((await this.#ask(title, 'GET', path)).text);
    this.#transcript.expect(items.length === count, `${count} items should be listed.`);
    return items;
  }
}

const hasStatus = ({ json }: Exchange, status: string): boolean =>
  (json as { status?: string } | undefined)?.status === status;
