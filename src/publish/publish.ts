/**
 * Publishing (REFERENCE D10): an upload becomes a new active version, or a list of everything wrong with it.
 *
 *   upload → manifest → rights → secrets → bundle → probe → registry
 *
 * The steps that find problems run on past each other's problems as far as they can, so that the author sees them all at
 * once; rights come before the steps that cost time. Nothing is stored before the last step, which stores everything:
 * a broken publish changes nothing. Tenant code runs nowhere but in the probe, which is a cell's.
 */
import { bundle } from '../bundle/bundler.ts';
import { createStackMapper } from '../bundle/source-map.ts';
import { AnnexError } from '../errors.ts';
import type { Limits } from '../limits.ts';
import type { Actor } from '../model/actor.ts';
import { MANIFEST_FILE, type Manifest, parseManifest, publishedManifest } from '../model/manifest.ts';
import { isRuntime, mayPublish, type Principal } from '../model/principal.ts';
import { isError, type Problem, problem, warning } from '../model/problem.ts';
import { resolveSecrets } from '../model/secrets.ts';
import type { Registry } from '../store/registry.ts';
import { PROBED_SCRIPT, scriptUrl } from '../wire.ts';
import { inspectExports, PROBLEMS_MAX, type Probe, probeProblem } from './inspection.ts';
import type { ReceivedUpload } from './upload.ts';

/** What a ready script is called in problems and stack traces. */
const READY_SCRIPT = 'script.js';

export interface PublisherParts {
  readonly registry: Pick<Registry, 'integration' | 'publish'>;
  readonly probe: Probe;
  readonly limits: Limits;
  /** Whether a manifest has to list the hosts that its integration reaches; by default it may. */
  readonly egressRequired?: boolean;
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
    const { egressRequired = false } = this.#parts;
    const parsed = parseManifest(upload.manifest, { egressRequired });
    const problems: Problem[] = [...(parsed.ok ? parsed.warnings : parsed.problems)];
    let secrets: ReadonlyMap<string, string> = new Map();
    if (parsed.ok) {
      const { manifest, placeOf } = parsed;
      this.#requireRights(principal, manifest.organization);
      const { limits, registry } = this.#parts;
      const existing = await registry.integration(manifest.name);
      if (existing !== undefined && existing.organization !== manifest.organization) {
        return { ok: false, problems: [nameTaken(manifest.name)] };
      }
      const resolved = resolveSecrets({ manifest, values: upload.secrets, limits, placeOf });
      secrets = resolved.secrets;
      problems.push(...resolved.problems);
    }
    const script = parsed.ok ? parsed.manifest.script : parsed.script;
    const code = await this.#code(upload, script, problems, publisherOf(principal, parsed), gone);
    gone?.throwIfAborted();
    if (code !== undefined)
      problems.push(...(await this.#probed(code, parsed.ok ? parsed.manifest : undefined)));
    // Nobody would learn that a new version has become the active one.
    gone?.throwIfAborted();
    if (!parsed.ok || code === undefined || problems.some(isError))
      return { ok: false, problems: bounded(problems) };
    return this.#store(parsed.manifest, code, secrets, problems, by);
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
    script: string | undefined,
    problems: Problem[],
    publisher: string,
    gone: AbortSignal | undefined,
  ): Promise<Code | undefined> {
    const ready = upload.script;
    const files = ready === undefined ? upload.files : new Map([[READY_SCRIPT, Buffer.from(ready, 'utf8')]]);
    const entry = ready === undefined ? script : READY_SCRIPT;
    if (entry === undefined) {
      const hint = 'Add, for instance, "script: src/index.ts".';
      problems.push(
        problem('"script" must name the entrypoint among the files.', { file: MANIFEST_FILE, hint }),
      );
      return undefined;
    }
    const { limits } = this.#parts;
    const bundled = await bundle(files, entry, { limits, publisher, ...(gone && { signal: gone }) });
    if (!bundled.ok) {
      problems.push(...bundled.problems);
      return undefined;
    }
    problems.push(...bundled.warnings);
    // Text columns of PostgreSQL hold no U+0000. The bundler escapes it wherever that changes nothing.
    if (!bundled.script.includes('\0')) return { script: bundled.script, sourceMap: bundled.map };
    const hint = 'Look at regular expressions and tagged templates, and write it as \\0.';
    problems.push(problem('The code contains a NUL character.', { file: entry, hint }));
    return undefined;
  }

  /** Runs the code once and holds what it exports against the manifest. */
  async #probed(code: Code, manifest: Manifest | undefined): Promise<readonly Problem[]> {
    const { end, exports } = await this.#parts.probe(code.script);
    if (end.outcome !== 'ok' || exports === undefined) {
      const toSource = createStackMapper(code.sourceMap, scriptUrl(PROBED_SCRIPT));
      return [probeProblem(end, this.#parts.limits, toSource)];
    }
    return inspectExports(exports, manifest);
  }

  async #store(
    manifest: Manifest,
    code: Code,
    secrets: ReadonlyMap<string, string>,
    warnings: readonly Problem[],
    by: Actor,
  ): Promise<Publishing> {
    const version = await this.#parts.registry.publish(
      { manifest: publishedManifest(manifest), ...code, secrets },
      by,
    );
    // Another organization took the name while this upload was being bundled.
    if (version === undefined) return { ok: false, problems: [nameTaken(manifest.name)] };
    return { ok: true, integration: manifest.name, version, warnings: bounded(warnings) };
  }
}

/** Who waits its turn: the organization, also where an admin publishes for it. */
const publisherOf = (principal: Principal, parsed: ReturnType<typeof parseManifest>): string =>
  (parsed.ok ? parsed.manifest.organization : isRuntime(principal) ? undefined : principal.organization) ??
  '';

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
