/**
 * One installation of the integration under test. Each step resolves when all that it has begun is
 * done, `waitUntil` and the deliveries that are due included: what a test reads next is complete.
 */
import type {
  Annex,
  DeclaredEvent,
  Delivery,
  LogLine,
  PostedEvent,
  Schedule,
  StoredKey,
} from '../../client/src/index.ts';
import { Component, type Values } from './component.ts';
import { type Duration, milliseconds } from './duration.ts';
import type { Mocks, SentRequest } from './fetch-table.ts';
import type { OutboundRequests } from './outbound-requests.ts';
import type { ServiceProcess } from './service-process.ts';

export interface InstallOptions {
  /** Values of the properties of the configuration. */
  readonly configuration?: Values;
  /** Spaces to install into, with the values of their configurations. */
  readonly spaces?: Readonly<Record<string, Values>>;
  /** Sites to install into, with the values of their configurations. */
  readonly sites?: Readonly<Record<string, Values>>;
  /** Values of secrets. They are those of the integration: later installs keep them. */
  readonly secrets?: Readonly<Record<string, string>>;
  /** Mocks of this installation; they win over those of `load()`. */
  readonly fetches?: Mocks;
  /** The organization that installs; one that has nothing else unless given. */
  readonly organization?: string;
}

export interface RenderOptions {
  readonly props?: Values;
  /** Where it is shown. */
  readonly context?: Values;
  /** Id of the user to whom it is shown. */
  readonly userId?: string;
}

/** The events of the specification. */
type DefinedEvent = Exclude<PostedEvent, DeclaredEvent>;

/** Members of an event, without its type and its organization. */
export type EventMembers<Type extends DefinedEvent['type']> = Omit<
  Extract<DefinedEvent, { type: Type }>,
  'type' | 'organization' | 'installationId'
>;

/** Members of an event of a declared type; each may be left out. */
export interface DeclaredMembers {
  /** It has to fit the schema of the type; by default the sample of the type. */
  readonly data?: unknown;
  /** Where it happened; by default the first place of the installation that the type is of. */
  readonly space?: string;
  readonly site?: string;
  readonly eventId?: string;
}

interface Parts {
  readonly annex: Annex;
  readonly service: Pick<ServiceProcess, 'ask' | 'answerBy' | 'fetch'>;
  readonly outbound: OutboundRequests;
}

interface Identity {
  readonly integration: string;
  readonly id: string;
  readonly organization: string;
  readonly endpoint: string;
}

export class Installation {
  readonly id: string;
  readonly organization: string;
  /** The public endpoint, without a slash at its end. */
  readonly endpoint: string;
  readonly #integration: string;
  readonly #deps: Parts;
  readonly #stopAnswering: () => void;
  #logs: readonly LogLine[] = [];
  #deliveries: readonly Delivery[] = [];
  #storedKeys: readonly StoredKey[] = [];
  /** The first space and the first site that it was installed into. */
  readonly #places: { space?: string; site?: string } = {};
  #shown: Component | undefined;
  #isClosed = false;

  /** @internal `app.install()` makes it */
  constructor(deps: Parts, { integration, id, organization, endpoint }: Identity) {
    this.#deps = deps;
    this.#integration = integration;
    this.id = id;
    this.organization = organization;
    this.endpoint = endpoint.replace(/\/$/, '');
    this.#stopAnswering = deps.service.answerBy((request) => deps.outbound.answer(request));
  }

  /** Lines of its log, oldest first, as they were at the end of the last step. */
  get logs(): readonly LogLine[] {
    return this.#logs;
  }

  /** Deliveries of events and tasks, oldest first, as they were at the end of the last step. */
  get deliveries(): readonly Delivery[] {
    return this.#deliveries;
  }

  /**
   * Keys that its code has stored in `context.storage`, in their order, as they were at the end of
   * the last step. Values are for the code: a test reads what it answers.
   */
  get storedKeys(): readonly StoredKey[] {
    return this.#storedKeys;
  }

  /** Requests that its code has sent to other servers, and webhooks, oldest first. */
  get fetches(): readonly SentRequest[] {
    return this.#deps.outbound.sent;
  }

  /**
   * Sends a request to the public endpoint.
   *
   * @param path below the endpoint, or a whole URL
   */
  fetch(path: string | URL = '/', init: RequestInit = {}): Promise<Response> {
    const url = URL.canParse(path) ? path : `${this.endpoint}${`${path}`.startsWith('/') ? '' : '/'}${path}`;
    return this.#step(() => this.#deps.service.fetch(url, { redirect: 'manual', ...init }));
  }

  /** Draws a component, as it is shown at first. */
  async render(componentId: string, options: RenderOptions = {}): Promise<Component> {
    const { props, context, userId } = options;
    const place = { ...(context && { context }), ...(userId !== undefined && { auth: { userId } }) };
    const { annex } = this.#deps;
    const component = await Component.draw({
      componentId,
      ...(props && { props }),
      render: (request) =>
        this.#step(() => annex.installations.render(this.#integration, this.id, { ...place, ...request })),
    });
    this.#shown = component;
    return component;
  }

  /** `press()` of the component that was rendered last, or of the modal that it has opened. */
  press(label: string): Promise<void> {
    return this.#inFront.press(label);
  }

  /** `type()` of the component that was rendered last, or of the modal that it has opened. */
  type(field: string, value: string): Promise<void> {
    return this.#inFront.type(field, value);
  }

  /**
   * Asks the installation, as the backend of the host product does.
   *
   * @param call name of a call of the manifest
   * @returns what its handler has returned
   */
  call<Answer = unknown>(call: string, input: Values = {}): Promise<Answer> {
    const { installations } = this.#deps.annex;
    return this.#step(() => installations.call<Answer>(this.#integration, this.id, call, input));
  }

  /**
   * Posts an event of the host product for this installation: of a type of the specification, or of
   * one that `load()` has declared.
   *
   * @returns what became of its deliveries
   * @throws AnnexError `EVENT_DATA_INVALID` where data does not fit the schema of its type;
   *   `problems` has a JSON pointer for each
   */
  emit<Type extends DefinedEvent['type']>(
    type: Type,
    members: EventMembers<Type>,
  ): Promise<readonly Delivery[]>;
  emit(type: string, members?: DeclaredMembers): Promise<readonly Delivery[]>;
  async emit(type: string, members?: object): Promise<readonly Delivery[]> {
    const { organization, id } = this;
    const sample = await this.#sampleOf(type);
    const event = { type, organization, installationId: id, ...sample, ...members } as PostedEvent;
    const posted = await this.#step(() => this.#deps.annex.events.post(event));
    return this.#deliveries.filter(({ eventId }) => 'eventId' in posted && eventId === posted.eventId);
  }

  /** The members of an event that its declaration has; none for a type that was not declared. */
  async #sampleOf(type: string): Promise<DeclaredMembers> {
    const { items } = await this.#deps.annex.eventTypes.list();
    const declared = items.find((one) => one.type === type);
    if (declared === undefined) return {};
    const { level, sample = {} } = declared;
    const { space, site } = this.#places;
    return {
      data: sample,
      ...(level === 'space' && space !== undefined && { space }),
      ...(level === 'site' && site !== undefined && { site }),
    };
  }

  /** Sets properties of its configuration; null unsets one. The others stay. */
  async configure(configuration: Values): Promise<void> {
    const { installations } = this.#deps.annex;
    await this.#step(() =>
      installations.update(this.#integration, this.id, { configuration }, { configuration: 'merge' }),
    );
  }

  /** Installs into a space or a site, and sets its configuration. */
  async addTo(
    place: { readonly space: string } | { readonly site: string },
    configuration: Values = {},
  ): Promise<void> {
    const { annex, outbound } = this.#deps;
    const { spaces, sites } = annex;
    const at = [this.#integration, this.id] as const;
    await this.#step(async () => {
      const { urls } = await ('space' in place ? spaces.create(...at, place) : sites.create(...at, place));
      outbound.addEndpoint(urls.publicEndpoint);
      if ('space' in place) this.#places.space ??= place.space;
      else this.#places.site ??= place.site;
      const edit = { configuration };
      await ('space' in place
        ? spaces.update(...at, place.space, edit)
        : sites.update(...at, place.site, edit));
    });
  }

  /**
   * Sets the time of the service forward. Retries, tasks and runs of schedules that become due are
   * done, each at its time. The time of the code of the integration stays that of the machine.
   */
  async advance(duration: Duration): Promise<void> {
    const ms = milliseconds(duration);
    await this.#step(() => this.#deps.service.ask({ ask: 'advance', ms }));
  }

  /** Schedules of the manifest for installations, with their next runs and their last. */
  async schedules(): Promise<readonly Schedule[]> {
    const { items } = await this.#deps.annex.schedules.list(this.#integration, this.id);
    return items;
  }

  /** Runs a schedule now. @param id in the manifest; its number in the list if it has none there */
  async runSchedule(id: string): Promise<void> {
    await this.#step(() => this.#deps.annex.schedules.run(this.#integration, this.id, id));
  }

  /** Waits until all that its code has begun is done; each step does so itself. */
  async settle(): Promise<void> {
    await this.#step(async () => undefined);
  }

  /**
   * Removes it. A second time does nothing.
   *
   * @throws the error of a request that no mock has answered since the last step
   */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const { annex, service, outbound } = this.#deps;
    await annex.installations.delete(this.#integration, this.id);
    await service.ask({ ask: 'settle' });
    this.#stopAnswering();
    outbound.check();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  get #inFront(): Component {
    if (this.#shown === undefined) throw new Error('Nothing is shown: call render() before.');
    return this.#shown.inFront;
  }

  /** @throws the error of the step, or of a request of the code that no mock answers */
  async #step<Value>(step: () => PromiseLike<Value>): Promise<Value> {
    const { service, outbound } = this.#deps;
    let failure: unknown;
    const value = await Promise.resolve()
      .then(step)
      .catch((cause: unknown) => {
        failure = cause ?? new Error('The step failed.');
        return undefined as Value;
      });
    await service.ask({ ask: 'settle' });
    // First: the failure is mostly its consequence.
    outbound.check();
    if (failure !== undefined) throw failure;
    await this.#read();
    return value;
  }

  async #read(): Promise<void> {
    const { logs, deliveries, installations } = this.#deps.annex;
    const [lines, delivered, keys] = await Promise.all([
      all(logs.all({ installation: this.id })),
      all(deliveries.all({ installation: this.id })),
      all(installations.allStoredKeys(this.#integration, this.id)),
    ]);
    this.#logs = lines.reverse();
    this.#deliveries = delivered.reverse();
    this.#storedKeys = keys;
  }
}

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const found: Item[] = [];
  for await (const item of items) found.push(item);
  return found;
}
