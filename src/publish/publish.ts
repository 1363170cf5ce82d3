/**
 * Publishing (REFERENCE D10): an upload becomes a new active version, or a list of everything wrong with it.
 *
 *   upload → manifest → rights → secrets → images → bundle → probe → registry
 *
 * The steps that find problems run on past each other's problems as far as they can, so that the author sees them all at
 * once; rights come before the steps that cost time. Nothing is stored before the last step, which stores everything:
 * a broken publish changes nothing. Tenant code runs nowhere but in the probe, which is a cell's.
 */
import { bundle } from '../bundle/bundler.ts';
import { absentHint } from '../bundle/reading/absent-file.ts';
import { collectImages } from '../bundle/reading/images.ts';
import { createStackMapper } from '../bundle/source-map.ts';
import { quote } from '../bundle/upload.ts';
import { AnnexError } from '../errors.ts';
import type { Limits } from '../limits.ts';
import type { Actor } from '../model/actor.ts';
import {
  MANIFEST_FILE,
  type Manifest,
  type ManifestRules,
  type ParsedManifest,
  parseManifest,
  publishedManifest,
} from '../model/manifest/manifest.ts';
import { HANDLED_EVENTS } from '../model/manifest/scope.ts';
import { resolveSecrets } from '../model/manifest/secrets.ts';
import { isRuntime, mayPublish, type Principal } from '../model/principal.ts';
import { isError, type Problem, problem, warning } from '../model/problem.ts';
import type { VersionCode } from '../store/integrations/integration-rows.ts';
import type { Publication, Registry } from '../store/integrations/registry.ts';
import { PROBED_SCRIPT, type ScriptExports, scriptUrl } from '../wire.ts';
import { inspectExports, PROBLEMS_MAX, type Probe, probeProblem } from './inspection.ts';
import type { ReceivedUpload } from './upload.ts';

/** What a ready script is called in problems and stack traces. */
const READY_SCRIPT = 'script.js';

export interface PublisherParts {
  readonly registry: Pick<Registry, 'integration' | 'publish'>;
  readonly probe: Probe;
  readonly limits: Limits;
  /** What this deployment asks of manifests. */
  readonly rules?: ManifestRules;
  /** What bundles an upload, where it has been built. */
  readonly bundler?: string;
}

export type Publishing =
  | {
      readonly ok: true;
      readonly integration: string;
      readonly version: number;
      readonly warnings: readonly Problem[];
    }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** Code that is ready to run. */
interface Code {
  readonly script: string;
  readonly sourceMap: string;
  /** Path of its entrypoint inside the upload. */
  readonly entry: string;
}

/** What goes into a publish beside its code. */
type Contents = Pick<Publication, 'secrets' | 'images'>;

/** What running the code once has told. */
interface Probed {
  readonly problems: readonly Problem[];
  readonly exports?: ScriptExports;
}

export class Publisher {
  readonly #parts: PublisherParts;

  constructor(parts: PublisherParts) {
    this.#parts = parts;
  }

  /**
   * Publishes an upload, or tells why not (REFERENCE D10).
   *
   * @param gone aborts when the publisher goes away: the build is stopped and nothing is stored.
   * @throws `TOKEN_FORBIDDEN` where the principal may not publish for the organization that the manifest names; the reason
   *   of `gone` once it aborts.
   */
  async publish(upload: ReceivedUpload, by: Actor, gone?: AbortSignal): Promise<Publishing> {
    const { principal } = by;
    const parsed = parseManifest(upload.manifest, this.#parts.rules);
    const problems: Problem[] = [...(parsed.ok ? parsed.warnings : parsed.problems)];
    let contents: Contents = { secrets: new Map() };
    if (parsed.ok) {
      const { name, organization } = parsed.manifest;
      this.#requireRights(principal, organization);
      const existing = await this.#parts.registry.integration(name);
      if (existing !== undefined && existing.organization !== organization)
        return { ok: false, problems: [nameTaken(name)] };
      contents = this.#contents(upload, parsed, problems);
    }
    const code = await this.#code(upload, parsed, problems, publisherOf(principal, parsed), gone);
    gone?.throwIfAborted();
    const probed = code && (await this.#probed(code, parsed));
    problems.push(...(probed?.problems ?? []));
    // Nobody would learn that a new version has become the active one.
    gone?.throwIfAborted();
    if (!parsed.ok || code === undefined || problems.some(isError))
      return { ok: false, problems: bounded(problems) };
    const ready = { script: code.script, sourceMap: code.sourceMap, ...handled(probed?.exports) };
    return this.#store(parsed.manifest, ready, contents, problems, by);
  }

  /** Secrets and images of an upload; what is wrong with them is noted. */
  #contents(upload: ReceivedUpload, parsed: ParsedManifest & { ok: true }, problems: Problem[]): Contents {
    const { limits } = this.#parts;
    const { manifest, placeOf } = parsed;
    const resolved = resolveSecrets({ manifest, values: upload.secrets, limits, placeOf });
    const files = upload.script === undefined ? { files: upload.files } : {};
    const collected = collectImages({ manifest, placeOf, ...files });
    problems.push(...resolved.problems, ...collected.problems);
    return { secrets: resolved.secrets, images: collected.images };
  }

  #requireRights(principal: Principal, organization: string): void {
    if (mayPublish(principal, organization)) return;
    const message =
      principal.kind === 'organization'
        ? `This token publishes for "${principal.organization}", and the manifest names "${organization}".`
        : `A ${principal.kind} token does not publish.`;
    throw new AnnexError('TOKEN_FORBIDDEN', message);
  }

  /**
   * The bundle of the files, or of a ready script, which is a bundle of one file: the cells take the form that the bundler
   * gives it. Undefined, and the problems noted, where there is none.
   */
  async #code(
    upload: ReceivedUpload,
    parsed: ParsedManifest,
    problems: Problem[],
    publisher: string,
    gone: AbortSignal | undefined,
  ): Promise<Code | undefined> {
    const ready = upload.script;
    const files = ready === undefined ? upload.files : new Map([[READY_SCRIPT, Buffer.from(ready, 'utf8')]]);
    const entry = ready === undefined ? entryOf(upload, parsed, problems) : READY_SCRIPT;
    if (entry === undefined) return undefined;
    const { limits, bundler } = this.#parts;
    const bundled = await bundle(files, entry, {
      limits,
      publisher,
      ...(bundler !== undefined && { program: bundler }),
      ...(gone && { signal: gone }),
    });
    if (!bundled.ok) {
      problems.push(...bundled.problems);
      return undefined;
    }
    problems.push(...bundled.warnings);
    // Text columns of PostgreSQL hold no U+0000. The bundler escapes it wherever that changes nothing.
    if (!bundled.script.includes('\0')) return { script: bundled.script, sourceMap: bundled.map, entry };
    const hint = 'Look at regular expressions and tagged templates, and write it as \\0.';
    problems.push(problem('The code contains a NUL character.', { file: entry, hint }));
    return undefined;
  }

  /** Runs the code once and holds what it exports against the manifest. */
  async #probed({ script, sourceMap, entry }: Code, parsed: ParsedManifest): Promise<Probed> {
    const { end, exports } = await this.#parts.probe(script);
    if (end.outcome !== 'ok' || exports === undefined) {
      const toSource = createStackMapper(sourceMap, scriptUrl(PROBED_SCRIPT));
      return { problems: [probeProblem(end, { limits: this.#parts.limits, entry, toSource })] };
    }
    return { problems: inspectExports(exports, entry, parsed.ok ? parsed : undefined), exports };
  }

  async #store(
    manifest: Manifest,
    code: VersionCode,
    contents: Contents,
    warnings: readonly Problem[],
    by: Actor,
  ): Promise<Publishing> {
    const version = await this.#parts.registry.publish(
      { manifest: publishedManifest(manifest), ...code, ...contents },
      by,
    );
    // Another organization took the name while this upload was being bundled.
    if (version === undefined) return { ok: false, problems: [nameTaken(manifest.name)] };
    return { ok: true, integration: manifest.name, version, warnings: bounded(warnings) };
  }
}

/** Names that are no event's are left out: there could be any number of them. */
const handled = (exports: ScriptExports | undefined): Pick<VersionCode, 'handles'> =>
  exports?.sdk ? { handles: HANDLED_EVENTS.filter((type) => exports.events.includes(type)) } : {};

/** Who waits its turn: the organization, also where an admin publishes for it. */
const publisherOf = (principal: Principal, parsed: ParsedManifest): string =>
  (parsed.ok ? parsed.manifest.organization : isRuntime(principal) ? undefined : principal.organization) ??
  '';

/** The uploaded file that the code begins in; what is wrong with it is noted. */
function entryOf(upload: ReceivedUpload, parsed: ParsedManifest, problems: Problem[]): string | undefined {
  const script = parsed.ok ? (parsed.manifest.script ?? null) : parsed.script;
  if (script === null) {
    const hint = 'Add, for instance, "script: src/index.ts".';
    problems.push(
      problem('"script" must name the entrypoint among the files.', { file: MANIFEST_FILE, hint }),
    );
  }
  // Where the manifest could not be read that far, it has said so; a guess would be one problem too many.
  if (script === null || script === undefined) return undefined;
  const entry = script.replace(/^(\.\/)+/, '');
  if (upload.files.has(entry)) return entry;
  const hint = absentHint(entry, upload.files) ?? 'Name an uploaded file, relative to the manifest.';
  problems.push(
    problem(`The entrypoint ${quote(script)} is not among the uploaded files.`, {
      ...parsed.placeOf(['script']),
      hint,
    }),
  );
  return undefined;
}

const nameTaken = (name: string): Problem =>
  problem(`The name "${name}" belongs to another organization.`, {
    file: MANIFEST_FILE,
    hint: 'Choose another name.',
  });

function bounded(problems: readonly Problem[]): readonly Problem[] {
  if (problems.length <= PROBLEMS_MAX) return problems;
  // Errors first: what is cut off must not be the reason of the refusal.
  const sorted = [...problems.filter(isError), ...problems.filter((found) => !isError(found))];
  const rest = problems.length - PROBLEMS_MAX;
  return [...sorted.slice(0, PROBLEMS_MAX), warning(`There are ${rest} more problems, not listed.`)];
}
