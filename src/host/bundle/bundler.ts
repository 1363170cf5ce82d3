/**
 * Host side of one upload: runs a process that reads it and bundles its code into one script.
 *
 * The host parses nothing of the upload. It starts a confined process, sends it the parts unparsed,
 * and validates both answers, which must arrive within a bound on CPU and one on time. If the
 * process dies, only this upload fails. The exports of the bundle are not known here; a probe finds
 * them later.
 */

import { AnnexError } from '../../errors.ts';
import { SDK_ENTRIES, SDK_SOURCE } from '../../imports/sdk-source.ts';
import type { Limits } from '../../limits.ts';
import type { ManifestRules } from '../../model/manifest/manifest.ts';
import { ABSENT_BINDINGS, type AbsentBinding } from '../../model/manifest/worker.ts';
import { type Problem, problem } from '../../model/problem.ts';
import { nearest } from '../../model/spelling-hint.ts';
import { programPath } from '../../own-files.ts';
import { Launcher } from '../confinement/launch.ts';
import { type BundleResult, parseBundle, ranOut } from './bundle-result.ts';
import { BundlerChild } from './bundler-child.ts';
import { BundlerSlots } from './bundler-slots.ts';
import { answerBounds, type BundleRequest, type ReadRequest } from './bundler-wire.ts';
import { NODE_SOURCE } from './node-source.ts';
import { parseReading, type Reading } from './reading/reading.ts';
import { packForm, type UploadForm } from './upload-form.ts';

export type { BundleResult } from './bundle-result.ts';

/** Runs the process from its sources, unconfined: for tests and tools. */
const FROM_SOURCE = new Launcher({
  path: process.execPath,
  args: [programPath('./bundler-process', import.meta.url)],
  files: [],
});
/** The sources that the bundler adds to uploads. */
const BUNDLED_SOURCES = [...SDK_SOURCE.values(), ...NODE_SOURCE.values()].map((text) => Buffer.from(text));
/** Two concurrent uploads; twenty waiting. */
const slots = new BundlerSlots(2, 20);

export interface BundlerOptions {
  readonly limits: Limits;
  /** What this deployment asks of manifests. */
  readonly rules?: ManifestRules;
  /** Sender of the upload; publishers take turns. */
  readonly publisher?: string;
  /** Starts the confined process. */
  readonly launcher?: Pick<Launcher, 'launch'>;
  /** Time by the clock that it has in any case; a minute by default. */
  readonly wallMsMin?: number;
  /** Aborts when the publisher disconnects: the work stops, and the signal's reason is thrown. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * One upload and its process. Call `read`, then `bundle` at most once, and always `end`.
 */
export class UploadJob {
  readonly #options: BundlerOptions;
  readonly #child: BundlerChild;
  readonly #leave: () => void;

  private constructor(options: BundlerOptions, leave: () => void) {
    const { limits, launcher = FROM_SOURCE, wallMsMin, signal } = options;
    this.#options = options;
    this.#leave = leave;
    this.#child = new BundlerChild({
      launcher,
      ...{ cpuMsMax: limits.bundleMs, wallMsMin },
      bounds: answerBounds(limits),
      signal,
    });
  }

  /**
   * Waits for a slot and starts the process.
   *
   * @throws AnnexError if too many uploads wait; the signal's reason once it aborts
   */
  static async begin(options: BundlerOptions): Promise<UploadJob> {
    const { publisher = '', signal } = options;
    const leave = await slots.enter(publisher, signal);
    try {
      signal?.throwIfAborted();
      return new UploadJob(options, leave);
    } catch (cause) {
      leave();
      throw cause;
    }
  }

  /**
   * Reads the parts of an upload: manifest, secrets, images and entrypoint, or every problem found.
   *
   * @throws AnnexError where the process cannot be started or violates the protocol; the signal's
   * reason
   */
  async read(form: UploadForm): Promise<Reading> {
    const { limits, rules = {} } = this.#options;
    const { index, blobs } = packForm(form);
    const value: ReadRequest = { form: index, limits, rules };
    const place = { hint: 'Upload less code.' };
    const answer = await this.#child.ask({ name: 'read', value, blobs, place, died: unreadable });
    if ('problem' in answer) return { ok: false, problems: [answer.problem] };
    return believed(await parseReading(answer.parcel, { limits, rules }));
  }

  /**
   * Bundles the code of the upload. A ready script counts as an upload of one file
   * (`docs/contract/api.md#publishing`).
   *
   * @param entry path of the entrypoint inside the upload
   * @param mode value of `MODE` and `process.env.NODE_ENV`
   * @param worker what the manifest says of the code as a worker
   * @returns the script and its map, or every problem found, each with file, line and column
   * @throws AnnexError where the process violates the protocol; the signal's reason
   */
  async bundle(entry: string, mode = 'production', worker?: BundleRequest['worker']): Promise<BundleResult> {
    const value: BundleRequest = {
      entry,
      mode,
      sdk: [...SDK_SOURCE.keys()],
      node: [...NODE_SOURCE.keys()],
      sdkEntries: [...SDK_ENTRIES],
      ...(worker && { worker }),
    };
    const blobs = BUNDLED_SOURCES;
    const place = { file: entry, hint: 'Upload less code.' };
    const died = () => ranOut(entry);
    const answer = await this.#child.ask({ name: 'bundle', value, blobs, place, died });
    if ('problem' in answer) return { ok: false, problems: [answer.problem] };
    const result = believed(parseBundle(answer.parcel, this.#options.limits.scriptBytes));
    return result.ok ? result : { ...result, problems: result.problems.map(withExportHint) };
  }

  /** Ends the process and its children, and releases the slot. */
  end(): void {
    this.#child.end();
    this.#leave();
  }
}

const unreadable = () =>
  problem('The bundler ran out of memory or stack while it read this upload.', {
    hint: 'Look for an archive of very many entries or links, and for deep nesting in the manifest.',
  });

/** Attack: an upload takes over its process and sends forged answers to the host. */
function believed<T>(answer: T | undefined): T {
  if (answer !== undefined) return answer;
  throw new AnnexError('INTERNAL_ERROR', 'The upload could not be read.', {
    detail: 'The process of an upload sent an invalid answer.',
  });
}

/** What `cloudflare:workers` has elsewhere → the binding that is made of it. */
const NO_CLASS = /^No matching export in "sdk:worker\/module\.ts" for import "([^"]+)"/;
const CLASSES: Readonly<Record<string, AbsentBinding | undefined>> = {
  DurableObject: ABSENT_BINDINGS['durable_objects'],
  WorkflowEntrypoint: ABSENT_BINDINGS['workflows'],
};

const NO_EXPORT = /^No matching export in "(?:sdk:|@annex\/sdk\/)index\.ts" for import "([^"]+)"/;

/**
 * Names of exported values, read from the export lists of the SDK's entry. Types are erased before
 * esbuild resolves names.
 */
const EXPORTS: readonly string[] = [...(SDK_SOURCE.get('index.ts') ?? '').matchAll(/^export \{([^{}]*)\}/gm)]
  .flatMap(([, names = '']) => names.split(','))
  .map((name) => name.trim())
  .filter((name) => /^\w+$/.test(name));

/**
 * Adds "Did you mean …?" to esbuild's error about an import that the SDK does not export.
 *
 * Adds the nearest exported name as a hint, if there is one.
 */
function withExportHint(found: Problem): Problem {
  const [, member] = NO_CLASS.exec(found.message) ?? [];
  if (member !== undefined) {
    const absent = Object.hasOwn(CLASSES, member) ? CLASSES[member] : undefined;
    const hint = absent?.instead ?? 'There are env, waitUntil, WorkerEntrypoint and RpcTarget.';
    const why = absent === undefined ? '' : `: Annex has no ${absent.name}`;
    return { ...found, message: `"cloudflare:workers" has no "${member}" here${why}.`, hint };
  }
  const [, name] = NO_EXPORT.exec(found.message) ?? [];
  const near = name === undefined ? undefined : nearest(name, EXPORTS);
  return near === undefined ? found : { ...found, hint: `Did you mean "${near}"?` };
}
