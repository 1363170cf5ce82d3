/**
 * One session of `annex dev`: publishes the folder in rounds, installs it once, and knows which
 * version is live. After a refusal the version before goes on.
 *
 * What happens is emitted as events. Nothing is printed here, and no file is watched.
 */
import { createHash } from 'node:crypto';
import { relative } from 'node:path';
import {
  type Annex,
  AnnexError,
  type DeliveryChange,
  type EventType,
  type LogLine,
} from '../../../packages/client/src/index.ts';
import type { CommandContext } from '../../cli/command.ts';
import { type InstalledOnce, installOnce, targetPath } from '../../cli/traffic/installation.ts';
import { SAMPLES } from '../../cli/traffic/sample-event.ts';
import {
  type FolderInput,
  type PreparedUpload,
  type PublishOutcome,
  prepareUpload,
  problemView,
  publishUpload,
  type SecretInput,
  valuesOf,
} from '../../cli/upload/prepared-upload.ts';
import type { SecretValues } from '../../cli/upload/secret-values.ts';
import type { Manifest } from '../../model/manifest/manifest.ts';
import { missingScopes } from '../../model/manifest/scope.ts';
import type { DevEvent, ProblemReport } from './dev-event.ts';

/** A space and a site for what happens in one, beside the installation itself. */
export const SAMPLE_SPACE = 'sample-space';
const SAMPLE_SITE = 'sample-site';

/** The installation itself, or the sample space or site in it. */
export type ConfigurationLevel = keyof typeof PLACE_PATHS;
const PLACE_PATHS = { account: '', space: `/spaces/${SAMPLE_SPACE}`, site: `/sites/${SAMPLE_SITE}` } as const;

export interface DevInput extends FolderInput, SecretInput {
  /** Installs it for this organization in place of its owner. */
  readonly organization: string | undefined;
  /** Whether values of this folder replace those that the service has. */
  readonly overwriteSecrets: boolean;
}

interface DevSessionDeps {
  readonly context: CommandContext;
  readonly annex: Annex;
  readonly input: DevInput;
  readonly emit: (event: DevEvent, report?: ProblemReport) => void;
  /** Called with the paths of the files of each upload. */
  readonly uploaded: (origins: Iterable<string>) => void;
  readonly monotonicNow: () => number;
}

/** What answers now. */
export interface Live {
  readonly manifest: Manifest;
  readonly integration: string;
  readonly version: number;
  readonly installation: InstalledOnce;
  /** Event types that the product has declared. */
  readonly declared: readonly EventType[];
}

export class DevSession {
  readonly #deps: DevSessionDeps;
  #live: Live | undefined;
  /** Hash of the last upload that the service has judged. */
  #judged: string | undefined;

  constructor(deps: DevSessionDeps) {
    this.#deps = deps;
  }

  get live(): Live | undefined {
    return this.#live;
  }

  /** Publishes the folder as it is now. @param since ticks of the change that it is for */
  async round(since: number): Promise<void> {
    const { context, emit } = this.#deps;
    try {
      await this.#publish(since);
    } catch (error) {
      // It may be published all the same, or the next round may succeed.
      this.#judged = undefined;
      if (context.signal.aborted) return;
      // It was uninstalled meanwhile: the next round installs it again.
      if (error instanceof AnnexError && error.code === 'INSTALLATION_UNKNOWN') this.#live = undefined;
      const { message, details } = context.explain(error);
      emit({ event: 'failed', message, ...(details.hint !== undefined && { hint: details.hint }) });
    }
  }

  async #publish(since: number): Promise<void> {
    const { context, annex, input, uploaded } = this.#deps;
    const { signal } = context;
    const prepared = await prepareUpload(context, input);
    uploaded([...prepared.upload.files.values()].map(({ origin }) => origin));
    const secrets = await valuesOf(prepared, input, context);
    const hash = hashOf(prepared, secrets);
    // Files that were written and are the same, or that are in no upload.
    if (hash === this.#judged) return;
    const { overwriteSecrets } = input;
    const outcome = await publishUpload(annex, prepared, { secrets, overwriteSecrets, signal });
    await this.#show(outcome, prepared, since);
    this.#judged = hash;
  }

  async #show(outcome: PublishOutcome, prepared: PreparedUpload, since: number): Promise<void> {
    const { annex, context, emit, monotonicNow } = this.#deps;
    const report = { problems: outcome.problems, files: prepared.files };
    const problems = outcome.problems.map((found) => problemView(found, prepared.files));
    const { manifest } = prepared.upload;
    if (!outcome.ok || manifest === undefined) {
      emit({ event: 'refused', version: this.#live?.version ?? null, problems }, report);
      return;
    }
    const durationMs = Math.round(monotonicNow() - since);
    const { integration, version } = outcome;
    const installation = await this.#installed(integration, manifest);
    const declared = await declaredTypes(annex, context.signal);
    this.#live = { manifest, integration, version, installation, declared };
    const { status } = await annex.installations.get(integration, installation.id, {
      signal: context.signal,
    });
    emit(
      {
        ...{ event: 'live', integration, version, durationMs, problems, status },
        ...{ installation: installation.id, endpoint: installation.publicEndpoint },
      },
      report,
    );
  }

  async #installed(integration: string, manifest: Manifest): Promise<InstalledOnce> {
    const { annex, context, input } = this.#deps;
    const { signal } = context;
    const known = this.#live?.integration === integration ? this.#live : undefined;
    if (known?.manifest.target === manifest.target) return known.installation;
    const organization = input.organization ?? manifest.organization;
    const installation = known?.installation ?? (await installOnce(annex, integration, organization, signal));
    const { id } = installation;
    await ignoringRefusal(annex.spaces.create(integration, id, { space: SAMPLE_SPACE }, { signal }));
    await ignoringRefusal(annex.sites.create(integration, id, { site: SAMPLE_SITE }, { signal }));
    return installation;
  }

  /** Path of the routes of a place. @throws Error where nothing is live */
  path(place: ConfigurationLevel = 'account'): string {
    if (this.#live === undefined) throw new Error('No version is live yet.');
    const { integration, installation } = this.#live;
    return `${targetPath({ integration, id: installation.id })}${PLACE_PATHS[place]}`;
  }
}

/** The event types of the product; none where the token may not read them. */
async function declaredTypes(annex: Annex, signal: AbortSignal): Promise<readonly EventType[]> {
  try {
    return (await annex.eventTypes.list({ signal })).items;
  } catch (error) {
    if (error instanceof AnnexError && error.status < 500) return [];
    throw error;
  }
}

/** It is there already, or the manifest has another target. */
async function ignoringRefusal(made: Promise<unknown>): Promise<void> {
  try {
    await made;
  } catch (error) {
    if (!(error instanceof AnnexError) || error.status < 400 || error.status >= 500) throw error;
  }
}

/** Hash of all that a publish would send. */
function hashOf({ upload, folder }: PreparedUpload, { values }: SecretValues): string {
  const hash = createHash('sha256').update(JSON.stringify([upload.manifestFile, upload.environment, values]));
  for (const [path, { bytes }] of upload.files) hash.update(`\0${path}\0${bytes.byteLength}\0`).update(bytes);
  if (upload.script !== undefined)
    hash.update(`\0${relative(folder, upload.script.origin)}\0`).update(upload.script.bytes);
  return hash.digest('base64');
}

/** Places in which an integration is installed. */
export const placesOf = ({ target }: Manifest): readonly ConfigurationLevel[] => {
  const inside = (['space', 'site'] as const).filter((place) => target === 'all' || target === place);
  return ['account', ...inside];
};

/** Places whose settings the manifest declares, in which it is installed. */
export const configuredPlaces = (manifest: Manifest): readonly ConfigurationLevel[] =>
  placesOf(manifest).filter((place) => manifest.configurations[place] !== undefined);

/** A component that the manifest names, and where it is shown. */
interface PlacedComponent {
  readonly id: string;
  readonly place: ConfigurationLevel;
}

/** Components that the manifest names: blocks, which belong to a space, and configurations. */
export function componentsOf(manifest: Manifest): readonly PlacedComponent[] {
  const { blocks, configurations } = manifest;
  const block = placesOf(manifest).includes('space') ? 'space' : 'account';
  const drawn = configuredPlaces(manifest).flatMap((place) => {
    const one = configurations[place];
    return one !== undefined && 'componentId' in one && typeof one.componentId === 'string'
      ? [{ id: one.componentId, place }]
      : [];
  });
  return [...blocks.map(({ id }) => ({ id, place: block }) as const), ...drawn];
}

const PLACES = { organization: {}, space: { spaceId: SAMPLE_SPACE }, site: { siteId: SAMPLE_SITE } } as const;

export interface Following {
  readonly annex: Annex;
  /** @returns when the reader of the events can take more */
  readonly emit: (event: DevEvent) => Promise<void>;
  readonly signal: AbortSignal;
}

/** Emits log lines and deliveries of an installation until the signal, across reconnects. */
export async function followTraffic(
  { annex, emit, signal }: Following,
  { installation: { id } }: Live,
): Promise<void> {
  const options = { signal, reconnects: Number.POSITIVE_INFINITY };
  const query = { installation: id, follow: true };
  const lines = async () => {
    for await (const line of annex.follow<LogLine>('/v1/logs', { query }, options))
      await emit({ event: 'log', line });
  };
  const changes = async () => {
    for await (const change of annex.follow<DeliveryChange>('/v1/deliveries', { query }, options))
      await emit({ event: 'delivery', change });
  };
  await Promise.all([lines(), changes()]);
}

/**
 * Types of posted events that the scopes of a manifest let it receive, and those that the product
 * has declared: the service alone knows whether it has their scopes.
 */
export const eventsOf = ({ manifest: { scopes }, declared }: Live): readonly string[] => [
  ...Object.keys(SAMPLES).filter((type) => missingScopes(type, scopes) === undefined),
  ...declared.map(({ type }) => type),
];

/** A sample of an event for one installation, as the host product would post it. */
export function sampleFor(type: string, { installation, declared }: Live): Readonly<Record<string, unknown>> {
  const sample = SAMPLES[type];
  const { organization, id } = installation;
  const own = declared.find((one) => one.type === type);
  if (own !== undefined)
    return {
      ...{ type, organization, installationId: id },
      ...(own.level === 'space' && { space: SAMPLE_SPACE }),
      ...(own.level === 'site' && { site: SAMPLE_SITE }),
      data: own.sample ?? {},
    };
  return {
    ...{ type, organization, installationId: id },
    ...(sample && PLACES[sample.level]),
    ...sample?.members,
  };
}

/** Posts an event. */
export async function postEvent(annex: Annex, event: Readonly<Record<string, unknown>>) {
  return annex.request<{ eventId: string; deliveries: number }>('POST', '/v1/events', { body: event });
}
