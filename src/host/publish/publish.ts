/**
 * Publishing (`docs/contract/api.md#publishing`): turns an upload into a new active version, or
 * into a list of its problems.
 *
 *   parts → [ manifest, secrets, images ] → rights → [ bundle ] → probe → registry
 *
 * Steps in brackets run in the process of the upload. After a problem, later steps still run where
 * they can, so that the author sees all problems at once. Rights are checked before bundling, the
 * most expensive step. Only the last step stores anything, so a failed publish changes nothing.
 * Tenant code runs only in the probe, inside a cell.
 */

import { AnnexError } from '../../errors.ts';
import type { Limits } from '../../limits.ts';
import type { Actor } from '../../model/actor.ts';
import { type EventCatalog, isDeclarable, NO_EVENT_TYPES } from '../../model/event-type.ts';
import { BUILT_IN_ORGANIZATION, isEventPattern, movedBuiltIn } from '../../model/identifiers.ts';
import {
  MANIFEST_FILE,
  type Manifest,
  type ManifestRules,
  publishedManifest,
} from '../../model/manifest/manifest.ts';
import { HANDLED_EVENTS } from '../../model/manifest/scope.ts';
import { keptSecret, missingSecret } from '../../model/manifest/secrets.ts';
import { takesRequests } from '../../model/manifest/worker.ts';
import { isRuntime, mayPublish, mayShadow, type Principal } from '../../model/principal.ts';
import { isError, limitProblem, type Problem, problem, warning } from '../../model/problem.ts';
import { PROBED_SCRIPT, type ScriptExports, scriptUrl } from '../../protocol/wire.ts';
import { UploadJob } from '../bundle/bundler.ts';
import type { BundleRequest } from '../bundle/bundler-wire.ts';
import type { Reading } from '../bundle/reading/reading.ts';
import { createStackMapper } from '../bundle/source-map.ts';
import { overwritesSecrets, type UploadForm } from '../bundle/upload-form.ts';
import type { Launcher } from '../confinement/launch.ts';
import type { VersionCode } from '../store/integrations/integration-rows.ts';
import type { Publication, Published, Registry } from '../store/integrations/registry.ts';
import type { Organizations } from '../store/organizations.ts';
import { inspectExports, PROBLEMS_MAX, type Probe, probeProblem, requireOwnEnd } from './probe-check.ts';

export interface PublisherDeps {
  readonly registry: Pick<Registry, 'integration' | 'publish' | 'secretNames' | 'keptSecrets'>;
  readonly probe: Probe;
  /** Has the cell of the probe start while the code is bundled. */
  readonly expectProbe?: () => void;
  readonly limits: Limits;
  /** What this deployment asks of manifests. */
  readonly rules?: ManifestRules;
  /** The event types that the product declares; none by default. */
  readonly eventTypes?: () => Promise<EventCatalog>;
  /** Whose a manifest is that names a subdomain; by default it names ids alone. */
  readonly organizations?: Pick<Organizations, 'idOf' | 'trusted'>;
  /** Starts the confined process that reads and bundles an upload. */
  readonly bundlers?: Pick<Launcher, 'launch'>;
}

/** An upload with errors. */
export interface Refused {
  readonly ok: false;
  readonly problems: readonly Problem[];
}

interface Accepted {
  readonly ok: true;
  readonly integration: string;
  readonly warnings: readonly Problem[];
}

export type Checking = (Accepted & { readonly scriptBytes: number }) | Refused;
export type Publishing = (Accepted & Pick<Published, 'version' | 'waits'>) | Refused;

/** All that a publish stores, before it is stored. */
type Examined = { readonly ok: true; readonly publication: Publication; readonly found: Found } | Refused;

/** Warnings, and what those about secrets are made from. */
type Found = Pick<Read, 'problems' | 'more' | 'placeOf'>;

/** Bundled code. */
interface Code {
  readonly script: string;
  readonly sourceMap: string;
  /** Path of its entrypoint inside the upload. */
  readonly entry: string;
}

/** An upload whose parts were accepted. */
type Read = Reading & { readonly ok: true };

interface Built {
  readonly reading: Read;
  readonly problems: readonly Problem[];
  /** Absent where the code could not be bundled. */
  readonly code?: Code;
}

/** Result of the probe. */
interface Probed {
  readonly problems: readonly Problem[];
  readonly exports?: ScriptExports;
}

export class Publisher {
  readonly #deps: PublisherDeps;

  constructor(deps: PublisherDeps) {
    this.#deps = deps;
  }

  /**
   * Publishes an upload, or lists its problems.
   *
   * @param gone aborts when the publisher disconnects: the work stops and nothing is stored.
   * @throws `TOKEN_FORBIDDEN` where the principal may not publish for the organization that the
   *   manifest names; the reason of `gone` once it aborts.
   */
  async publish(form: UploadForm, by: Actor, gone?: AbortSignal): Promise<Publishing> {
    const examined = await this.#examined(form, by.principal, gone);
    return examined.ok ? this.#store(examined.publication, examined.found, by) : examined;
  }

  /**
   * Does all that a publish does before it stores the version, and stores nothing.
   *
   * @throws as `publish`
   */
  async check(form: UploadForm, principal: Principal, gone?: AbortSignal): Promise<Checking> {
    const examined = await this.#examined(form, principal, gone);
    if (!examined.ok) return examined;
    const { publication, found } = examined;
    const { name } = publication.manifest;
    const kept = await this.#deps.registry.keptSecrets(publication);
    const scriptBytes = Buffer.byteLength(publication.script);
    return { ok: true, integration: name, scriptBytes, warnings: warningsOf(name, kept, found) };
  }

  async #examined(form: UploadForm, principal: Principal, gone?: AbortSignal): Promise<Examined> {
    const { limits, bundlers } = this.#deps;
    const catalog = (await this.#deps.eventTypes?.()) ?? NO_EVENT_TYPES;
    const rules = { ...this.#deps.rules, ...catalog.manifestRules, ...(await this.#trusted()) };
    const job = await UploadJob.begin({
      limits,
      publisher: publisherOf(principal),
      signal: gone,
      rules,
      ...(bundlers && { launcher: bundlers }),
    });
    const built = await this.#built(job, form, principal).finally(() => job.end());
    if (!('reading' in built)) return built;
    const { reading, code } = built;
    const problems = [...reading.problems, ...built.problems];
    gone?.throwIfAborted();
    const probed = code && (await this.#probed(code, reading, catalog));
    problems.push(...(probed?.problems ?? []));
    // Stores nothing after a disconnect: the publisher would not learn of the new active version.
    gone?.throwIfAborted();
    const { manifest, secrets, images, more } = reading;
    if (manifest === undefined || code === undefined || problems.some(isError))
      return { ok: false, problems: bounded(problems, more) };
    const ready = { script: code.script, sourceMap: code.sourceMap, ...handled(probed?.exports) };
    // Read from the form itself: the process of the upload does not decide it.
    const overwriteSecrets = overwritesSecrets(form) === true;
    const publication = {
      manifest: publishedManifest(manifest),
      ...ready,
      secrets,
      overwriteSecrets,
      images,
    };
    return { ok: true, publication, found: { problems, more, placeOf: reading.placeOf } };
  }

  /**
   * Runs the steps in the process of the upload. Checks rights before bundling, which costs most.
   */
  async #built(job: UploadJob, form: UploadForm, principal: Principal): Promise<Built | Refused> {
    const read = await job.read(form);
    if (!read.ok) return { ok: false, problems: read.problems };
    const reading = await this.#ofOwner(read);
    const problems: Problem[] = [];
    if (reading.manifest !== undefined) {
      this.#requireRights(principal, reading.manifest.organization);
      const taken = await this.#nameProblem(principal, reading.manifest);
      if (taken !== undefined) return { ok: false, problems: [taken] };
      problems.push(...(await this.#missingSecrets(reading, reading.manifest)));
      problems.push(...this.#tooManySchedules(reading, reading.manifest));
    }
    if (reading.entry === undefined) return { reading, problems };
    this.#deps.expectProbe?.();
    const code = await bundled(job, reading.entry, workerIn(reading));
    return { reading, ...code, problems: [...problems, ...code.problems] };
  }

  /** The same, with the id of the organization that the manifest names by its subdomain. */
  async #ofOwner<Reading extends Read>(reading: Reading): Promise<Reading> {
    const { manifest } = reading;
    if (manifest === undefined) return reading;
    const organization = await this.#deps.organizations?.idOf(manifest.organization);
    return organization === undefined ? reading : { ...reading, manifest: { ...manifest, organization } };
  }

  async #trusted(): Promise<Pick<ManifestRules, 'internalOrganizations'>> {
    const { rules, organizations } = this.#deps;
    const entries = rules?.internalOrganizations;
    if (entries === undefined || organizations === undefined) return {};
    return { internalOrganizations: await organizations.trusted(entries) };
  }

  /** The problem of a name that is another organization's, or that of a built-in integration. */
  async #nameProblem(
    principal: Principal,
    { name, organization, visibility }: Manifest,
  ): Promise<Problem | undefined> {
    const { registry } = this.#deps;
    const existing = await registry.integration(name);
    if (existing === undefined || organization === BUILT_IN_ORGANIZATION) return undefined;
    const isFirst = existing.organization === BUILT_IN_ORGANIZATION;
    if (!isFirst && existing.organization !== organization) return nameTaken(name);
    const builtIn = isFirst ? existing : await registry.integration(movedBuiltIn(name));
    const isBuiltIn = builtIn?.organization === BUILT_IN_ORGANIZATION;
    return isBuiltIn && !mayShadow(principal, visibility) ? nameBuiltIn(name) : undefined;
  }

  /** The problem of each secret whose value was neither sent nor stored by an earlier publish. */
  async #missingSecrets({ unsent, placeOf }: Read, { name, secrets }: Manifest): Promise<Problem[]> {
    const stored = unsent.length === 0 ? [] : await this.#deps.registry.secretNames(name);
    return unsent
      .filter((secret) => !stored.includes(secret))
      .map((secret) => missingSecret(secret, secrets[secret] ?? '', placeOf(['secrets', secret])));
  }

  #tooManySchedules({ placeOf }: Read, { schedules = [] }: Manifest): Problem[] {
    const { schedulesPerManifest: max } = this.#deps.limits;
    if (schedules.length <= max) return [];
    const limit = { name: 'schedulesPerManifest', max, used: schedules.length } as const;
    return [limitProblem(limit, placeOf(['schedules']))];
  }

  #requireRights(principal: Principal, organization: string): void {
    if (mayPublish(principal, organization)) return;
    const message =
      principal.kind === 'organization'
        ? `This token publishes for "${principal.organization}", and the manifest names "${organization}".`
        : `A ${principal.kind} token does not publish.`;
    throw new AnnexError('TOKEN_FORBIDDEN', message);
  }

  /** Runs the code once and checks its exports against the manifest. */
  async #probed(
    { script, sourceMap, entry }: Code,
    { manifest, placeOf }: Read,
    catalog: EventCatalog,
  ): Promise<Probed> {
    const { end, exports } = await this.#deps.probe(script);
    requireOwnEnd(end);
    if (end.outcome !== 'ok' || exports === undefined) {
      const toSource = createStackMapper(sourceMap, scriptUrl(PROBED_SCRIPT));
      return { problems: [probeProblem(end, { limits: this.#deps.limits, entry, toSource })] };
    }
    const problems = inspectExports(exports, entry, manifest && { manifest, placeOf }, catalog);
    return { problems, exports };
  }

  async #store(publication: Publication, found: Found, by: Actor): Promise<Publishing> {
    const integration = publication.manifest.name;
    const stored = await this.#deps.registry.publish(publication, by);
    // Another organization took the name while this upload was being bundled.
    if (stored === undefined) return { ok: false, problems: [nameTaken(integration)] };
    const { keptSecrets, ...published } = stored;
    return { ok: true, integration, ...published, warnings: warningsOf(integration, keptSecrets, found) };
  }
}

/** @param kept secrets that keep another value than the one in the upload */
function warningsOf(integration: string, kept: readonly string[], { problems, more, placeOf }: Found) {
  const unapplied = kept.map((name) => keptSecret(name, integration, placeOf(['secrets', name])));
  // First: a truncated list must still say that a value was not applied.
  return bounded([...unapplied, ...problems], more);
}

/**
 * Stores known event types, and a bounded number of names and patterns that the product may
 * declare, also later. Attack: a script that declares any number of names.
 */
function handled(exports: ScriptExports | undefined): Pick<VersionCode, 'handles'> {
  if (!exports?.sdk) return {};
  const known = HANDLED_EVENTS.filter((type) => exports.events.includes(type));
  const declarable = exports.events.filter((type) => isDeclarable(type) || isEventPattern(type));
  return { handles: [...known, ...declarable.slice(0, DECLARABLE_MAX)] };
}
const DECLARABLE_MAX = 300;

/**
 * Publisher that an upload's slot and memory are charged to: the organization of the token. An
 * admin token publishes for any organization, so each one is its own publisher; the space in its
 * name rules out a clash with an organization.
 */
export const publisherOf = (principal: Principal): string =>
  isRuntime(principal) ? '' : (principal.organization ?? `token ${principal.tokenId}`);

/** What the bundler has to know of a manifest. */
function workerIn({ manifest, placeOf }: Read): BundleRequest['worker'] {
  if (manifest === undefined) return undefined;
  const { vars = {}, secrets, kv = [], assets, schedules = [] } = manifest;
  const { file = '' } = placeOf([]);
  return {
    takesRequests: takesRequests(manifest),
    folder: file.slice(0, file.lastIndexOf('/') + 1),
    ...{ vars, secrets: Object.keys(secrets), kv },
    ...(assets && { assets: assets.binding }),
    crons: Object.fromEntries(schedules.map(({ id, cron }) => [id, cron])),
  };
}

/** Bundles the code; cells run the script as it is. */
async function bundled(
  job: UploadJob,
  entry: string,
  worker: BundleRequest['worker'],
): Promise<Pick<Built, 'problems' | 'code'>> {
  const result = await job.bundle(entry, 'production', worker);
  if (!result.ok) return { problems: result.problems };
  const { script, map: sourceMap, warnings } = result;
  // Text columns of PostgreSQL cannot store U+0000. esbuild escapes it except where the escape
  // would change the code.
  if (!script.includes('\0')) return { problems: warnings, code: { script, sourceMap, entry } };
  const hint = 'Look at regular expressions and tagged templates, and write it as \\0.';
  return { problems: [...warnings, problem('The code contains a NUL character.', { file: entry, hint })] };
}

const nameTaken = (name: string): Problem =>
  problem(`The name "${name}" belongs to another organization.`, {
    file: MANIFEST_FILE,
    hint: 'Choose another name.',
  });

const nameBuiltIn = (name: string): Problem =>
  problem(`The name "${name}" is that of a built-in integration, which other organizations install.`, {
    file: MANIFEST_FILE,
    hint: 'Write "visibility: private", or have the operator publish it with an admin token.',
  });

/** Truncates the problems. @param more number of problems already omitted */
function bounded(problems: readonly Problem[], more: number): readonly Problem[] {
  if (problems.length + more <= PROBLEMS_MAX) return problems;
  // Errors first: an omitted problem must not be the reason of the refusal.
  const sorted = [...problems.filter(isError), ...problems.filter((found) => !isError(found))];
  const shown = sorted.slice(0, PROBLEMS_MAX);
  const rest = problems.length + more - shown.length;
  return [...shown, warning(`There are ${rest} more problems, not listed.`)];
}
