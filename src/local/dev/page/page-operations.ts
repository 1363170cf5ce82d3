/**
 * What the page of `annex dev` can do: the closed list of operations, each of them on the
 * installation of the session, or on what its organization sees.
 */
import { type Annex, AnnexError } from '../../../../packages/client/src/index.ts';
import type { DevEvent } from '../dev-event.ts';
import {
  type ConfigurationLevel,
  componentsOf,
  configuredPlaces,
  type DevSession,
  eventsOf,
  type Live,
  placesOf,
  postEvent,
  SAMPLE_SPACE,
  sampleFor,
} from '../dev-session.ts';
import type { DevTraffic, OwnRequest } from '../dev-traffic.ts';

type JsonObject = Readonly<Record<string, unknown>>;

export interface RenderAnswer {
  readonly status: number;
  readonly body: unknown;
  readonly cacheControl: string | null;
}

export interface PageOperations {
  readonly reads: Readonly<Record<string, (query: Readonly<Record<string, string>>) => Promise<unknown>>>;
  readonly writes: Readonly<Record<string, (body: JsonObject) => Promise<unknown>>>;
  render(body: JsonObject, query: Readonly<Record<string, string>>): Promise<RenderAnswer>;
}

/** An answer of the endpoint. */
interface CallAnswer {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string;
  readonly isWhole: boolean;
  readonly durationMs: number;
}

/** Bytes of an answer of the endpoint that the page shows. */
const SHOWN_BYTES_MAX = 256 * 1024;
const CALL_MS = 60_000;
const STORED_KEYS_SHOWN = 100;

export interface PageOperationsDeps {
  readonly annex: Annex;
  readonly session: DevSession;
  /** Tells the terminal, and the pages that are open, what the page has asked. */
  readonly emit: (event: DevEvent) => Promise<void>;
  /** Of a service of its own. */
  readonly traffic?: DevTraffic;
}

export function pageOperations({ annex, session, emit, traffic }: PageOperationsDeps): PageOperations {
  const asked = askedBy(emit, traffic);
  const live = (): Live => {
    if (session.live === undefined)
      throw Object.assign(new Error('No version is live yet: the terminal shows why.'), { statusCode: 409 });
    return session.live;
  };
  const target = (place: unknown) => {
    live();
    return session.path(placeOf(place));
  };
  const revision = () => revisionOf(annex, placesOf(live().manifest).map(target));
  return {
    reads: {
      session: async () => ({
        ...stateOf(session.live),
        ...(session.live !== undefined && {
          levelNames: await annex.levelNames.get(),
          ...(await revision()),
        }),
      }),
      revision,
      sample: async ({ type = '' }) => sampleFor(type, live()),
      deliveries: async ({ event = '' }) => deliveriesOf(annex, event),
      storage: async () => {
        const { integration, installation } = live();
        const page = { limit: STORED_KEYS_SHOWN };
        const [own, shared] = await Promise.all([
          annex.installations.listStoredKeys(integration, installation.id, page),
          annex.integrations.listStoredKeys(integration, page),
        ]);
        return { own, shared };
      },
      schedules: async () => schedulesOf(annex, live()),
      blocks: async () =>
        annex.request('GET', '/v1/blocks', {
          query: { organization: live().installation.organization, space: SAMPLE_SPACE },
        }),
    },
    writes: {
      form: async ({ place, method, path, body, ifMatch }) =>
        formAnswer(annex, method === 'GET' || method === 'PATCH' ? method : 'POST', {
          path: `${target(place)}${FORM_PATHS.find((one) => one === path) ?? '/configuration'}`,
          body,
          ...(typeof ifMatch === 'string' && { ifMatch }),
        }),
      event: async ({ event }) => {
        const { organization, id } = live().installation;
        const posted = { ...(event as JsonObject), organization, installationId: id };
        const { type } = event as { type?: unknown };
        return asked([`Post ${type}`, posted], () => postEvent(annex, posted));
      },
      deleteStored: async ({ area, key }) => {
        const { integration, installation } = live();
        await (area === 'shared'
          ? annex.integrations.deleteStoredValue(integration, String(key))
          : annex.installations.deleteStoredValue(integration, installation.id, String(key)));
        return {};
      },
      schedule: async ({ id, level }) => {
        const { integration, installation } = live();
        return level === 'integration'
          ? annex.integrations.runSchedule(integration, String(id))
          : annex.schedules.run(integration, installation.id, String(id));
      },
      ask: async ({ call, input }) => {
        const path = `${target('account')}/calls/{call}`;
        const run = ({ headers }: OwnRequest) =>
          annex.request('POST', path, { path: { call: String(call) }, body: input, headers });
        return { answer: await asked([`Call ${call}`, input], run) };
      },
      unfurl: async ({ url }) => {
        const body = { url, organization: live().installation.organization, space: SAMPLE_SPACE };
        return asked(['Paste a URL', { url }], ({ headers }) =>
          annex.request('POST', '/v1/blocks/unfurl', { body, headers }),
        );
      },
      call: async (body) => callEndpoint(asked, live().installation.publicEndpoint, body),
    },
    async render({ componentId, props, state, context, action, choices }, { place }) {
      const body = { componentId, props, state, context, action, choices };
      const { action: pressed = 'first drawing' } = (action ?? {}) as { action?: unknown };
      const run = ({ headers }: OwnRequest) => rendered(annex, `${target(place)}/render`, { body, headers });
      return asked([`${componentId}, ${pressed}`, body], run, outcomeOfDrawing);
    },
  };
}

/** What came of a request. */
interface Outcome {
  readonly status: number;
  readonly answer: unknown;
  /** Of one that failed. */
  readonly requestId?: string | undefined;
}

type Asked = ReturnType<typeof askedBy>;

/** Runs a request of the page, and tells what came of it. */
const askedBy =
  (emit: PageOperationsDeps['emit'], traffic: DevTraffic | undefined) =>
  async <Answer>(
    [title, request]: readonly [title: string, request: unknown],
    run: (own: OwnRequest) => Promise<Answer>,
    outcomeOf: (answer: Answer) => Outcome = (answer) => ({ status: 200, answer }),
  ): Promise<Answer> => {
    const since = performance.now();
    const send = async (own: OwnRequest): Promise<Answer> => {
      const tell = ({ status, answer, requestId = own.requestId }: Outcome) =>
        emit({
          ...{ event: 'asked', title, status, request: cut(request), answer: cut(answer) },
          durationMs: Math.round(performance.now() - since),
          ...(requestId !== undefined && { requestId }),
        });
      const answer = await run(own).catch(async (error: Error & Partial<AnnexError>) => {
        const { status = 0, message, requestId } = error;
        await tell({ status, answer: message, requestId });
        throw error;
      });
      await tell(outcomeOf(answer));
      return answer;
    };
    return traffic === undefined ? send({ headers: {} }) : traffic.announced(send);
  };

/** Characters of a value that the session keeps. */
const KEPT_CHARS_MAX = 50_000;

/** A value, or the beginning of its text where it is long. */
function cut(value: unknown): unknown {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text === undefined || text.length <= KEPT_CHARS_MAX ? value : `${text.slice(0, KEPT_CHARS_MAX)}…`;
}

/** The id of a request in the error that it was answered with. */
const requestIdOf = (body: unknown): string | undefined =>
  (body as { error?: { requestId?: string } } | undefined)?.error?.requestId;

const outcomeOfDrawing = ({ status, body }: RenderAnswer): Outcome => ({
  ...{ status, answer: body, requestId: requestIdOf(body) },
});

function outcomeOfCall(answer: CallAnswer): Outcome {
  const outcome = { status: answer.status, answer };
  if (answer.status < 400) return outcome;
  try {
    return { ...outcome, requestId: requestIdOf(JSON.parse(answer.body)) };
  } catch {
    // Not the service has answered, but the code.
    return outcome;
  }
}

/** What `<annex-configuration>` asks for, below the path of its target. */
const FORM_PATHS = ['/configuration', '/completions', '/render'] as const;

/** An answer to the form as it came, errors too: the form shows them. */
async function formAnswer(
  annex: Annex,
  method: 'GET' | 'PATCH' | 'POST',
  { path, body, ifMatch }: { path: string; body: unknown; ifMatch?: string },
): Promise<{ status: number; body: unknown; etag: string | null }> {
  const headers = { 'if-match': ifMatch };
  const parts = { ...(method !== 'GET' && { body }), headers, options: { retries: 0 } };
  try {
    const answer = await annex.request(method, path, parts).answer();
    return { status: 200, body: answer.body, etag: answer.headers.get('etag') };
  } catch (error) {
    if (!(error instanceof AnnexError)) throw error;
    return { status: error.status || 502, body: { error: error.details }, etag: null };
  }
}

/** The place that the page names; the installation itself where it names none. */
const placeOf = (place: unknown): ConfigurationLevel =>
  place === 'space' || place === 'site' ? place : 'account';

/** Differs after each edit of the installation, by anyone. */
async function revisionOf(annex: Annex, paths: readonly string[]): Promise<{ revision: string }> {
  const targets = paths.map((path) => annex.request<{ updatedAt: string; status: string }>('GET', path));
  // A sample place may be uninstalled by another command.
  const revisions = (await Promise.allSettled(targets)).map((target) =>
    target.status === 'fulfilled' ? `${target.value.status} ${target.value.updatedAt}` : 'not installed',
  );
  return { revision: revisions.join(', ') };
}

/** What the page shows before anything happens. */
function stateOf(live: Live | undefined): JsonObject {
  if (live === undefined) return { live: null };
  const { manifest, integration, version, installation } = live;
  return {
    live: { integration, version, title: manifest.title, ...installation },
    components: componentsOf(manifest),
    configurations: configuredPlaces(manifest),
    blocks: manifest.blocks.map(({ id, title, description, urlUnfurl }) => ({
      ...{ id, title, description, urlUnfurl },
    })),
    events: eventsOf(live),
    hasSchedules: manifest.schedules !== undefined,
    calls: (manifest.calls ?? []).map(({ name, description }) => ({ name, description })),
  };
}

/** An answer of the render API as it came, errors too: the page shows them where they happened. */
async function rendered(
  annex: Annex,
  path: string,
  request: { readonly body: JsonObject; readonly headers: OwnRequest['headers'] },
): Promise<RenderAnswer> {
  const reply = annex.request('POST', path, { ...request, options: { retries: 0 } });
  try {
    const { body: drawing, headers } = await reply.answer();
    return { status: 200, body: drawing, cacheControl: headers.get('cache-control') };
  } catch (error) {
    const { status, code = 'FAILED', message, requestId } = error as Error & Partial<AnnexError>;
    return { status: status || 502, body: { error: { code, message, requestId } }, cacheControl: null };
  }
}

/** The schedules of the installation, and those of the integration's own endpoint. */
async function schedulesOf(annex: Annex, { integration, installation }: Live): Promise<unknown> {
  const lists = await Promise.all([
    annex.schedules.list(integration, installation.id),
    annex.integrations.listSchedules(integration),
  ]);
  return { items: lists.flatMap(({ items }) => items) };
}

/** The deliveries of an event with their attempts. */
async function deliveriesOf(annex: Annex, event: string): Promise<unknown> {
  const { items } = await annex.deliveries.list({ event });
  return Promise.all(items.map(({ id }) => annex.deliveries.get(id)));
}

async function callEndpoint(asked: Asked, endpoint: string, given: JsonObject): Promise<CallAnswer> {
  const title = `${given['method'] ?? 'GET'} /${String(given['path'] ?? '').replace(/^\/+/, '')}`;
  return asked([title, given], ({ headers }) => sent(endpoint, given, headers), outcomeOfCall);
}

/**
 * Sends a request to the endpoint of the installation, and only there.
 *
 * Attack: a path that leads to another host, such as `//other`: it is appended to the endpoint.
 */
async function sent(endpoint: string, given: JsonObject, own: OwnRequest['headers']): Promise<CallAnswer> {
  const { method = 'GET', path = '', headers = {}, body } = given;
  const begun = performance.now();
  const answer = await fetch(`${endpoint}/${String(path).replace(/^\/+/, '')}`, {
    method: String(method),
    headers: { ...(headers as Record<string, string>), ...own },
    redirect: 'manual',
    signal: AbortSignal.timeout(CALL_MS),
    ...(typeof body === 'string' && body !== '' && { body }),
  });
  const bytes = Buffer.from(await answer.arrayBuffer());
  return {
    status: answer.status,
    headers: [...answer.headers],
    body: bytes.subarray(0, SHOWN_BYTES_MAX).toString('utf8'),
    isWhole: bytes.byteLength <= SHOWN_BYTES_MAX,
    durationMs: Math.round(performance.now() - begun),
  };
}
