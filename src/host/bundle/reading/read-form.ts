/**
 * Interprets the parts of a publish: a manifest, code and secrets, or a list of every problem with
 * them.
 *
 *   manifest   YAML text, or the path of an uploaded file; where it is absent, the one file that is
 *              named `…-manifest.yaml`
 *   files      any number, the filename being the relative path        } at most one
 *   archive    one .tar or .tar.gz of the same                         } of the two
 *   script     one ready ES module; the files beside it are its images, not its code
 *   secrets    JSON object, secret name → value
 *   env        name of an environment of the manifest
 *   overwriteSecrets   whether the values replace stored ones: `true` or `false`
 *
 * Runs in the process of the upload, because it unpacks, decodes and parses untrusted bytes.
 */
import type { Limits } from '../../../limits.ts';
import { jsonFault } from '../../../model/json-fault.ts';
import { findManifest, namedFile } from '../../../model/manifest/find-manifest.ts';
import { MANIFEST_FILE } from '../../../model/manifest/manifest.ts';
import { YAML_BYTES_MAX } from '../../../model/manifest/yaml-source.ts';
import { limitProblem, type Problem, problem } from '../../../model/problem.ts';
import { overwritesSecrets, type SinglePart, type UploadForm } from '../upload-form.ts';
import { readArchive } from './archive.ts';

/** An upload whose parts are all valid. */
export interface ReceivedUpload {
  readonly manifest: string;
  /** Path of the manifest inside the upload, or the name of a manifest that is its own part. */
  readonly manifestFile: string;
  /** Folder of the manifest inside the upload, with a slash at its end; empty for the root. */
  readonly folder: string;
  /** Name of the environment that the publisher chose. */
  readonly environment?: string;
  /** Relative path → bytes. */
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** Text of a ready script, if one was sent. */
  readonly script?: string;
  readonly secrets: ReadonlyMap<string, string>;
}

export type FormReading =
  | { readonly ok: true; readonly upload: ReceivedUpload }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** Reads the parts of a publish. Invalid parts become problems and never throw. */
export function readForm(form: UploadForm, limits: Limits): Promise<FormReading> {
  return new FormReader(form, limits).read();
}

type ManifestText = Pick<ReceivedUpload, 'manifest' | 'manifestFile' | 'folder'>;

const UNCLEAR_SWITCH = problem('This is neither "true" nor "false".', {
  file: 'overwriteSecrets',
  hint: 'With "true", the values that are sent replace stored ones.',
});
/** Longest name of an environment. */
const ENVIRONMENT_CHARS_MAX = 128;

class FormReader {
  readonly #form: UploadForm;
  readonly #limits: Limits;
  readonly #problems: Problem[];

  constructor(form: UploadForm, limits: Limits) {
    this.#form = form;
    this.#limits = limits;
    this.#problems = [...form.problems];
  }

  async read(): Promise<FormReading> {
    const problems = this.#problems;
    const { singles, filesSent, fileProblems } = this.#form;
    const secrets = this.#secrets();
    const script = this.#text('script', 'scriptBytes');
    const files = (await this.#unpacked()) ?? this.#form.files;
    const environment = this.#environment();
    if (overwritesSecrets(this.#form) === undefined) problems.push(UNCLEAR_SWITCH);
    const manifest = this.#manifest(files);
    problems.push(...fileProblems);
    const isTwice = filesSent && singles.has('archive');
    if (isTwice || !(filesSent || singles.has('archive') || singles.has('script'))) {
      const hint = 'Send "files", or one "archive", or one ready "script".';
      problems.push(problem(`The upload has ${isTwice ? 'its code twice' : 'no code'}.`, { hint }));
    }
    if (problems.length > 0 || manifest === undefined) return { ok: false, problems };
    const upload = { ...manifest, files, secrets, ...(script !== undefined && { script }) };
    return { ok: true, upload: { ...upload, ...(environment !== undefined && { environment }) } };
  }

  #environment(): string | undefined {
    const name = this.#text('env', 'uploadBytes')?.trim();
    if (name === undefined || name.length <= ENVIRONMENT_CHARS_MAX) return name || undefined;
    this.#problems.push(problem('This is not the name of an environment.', { file: 'env' }));
    return undefined;
  }

  async #unpacked(): Promise<ReadonlyMap<string, Uint8Array> | undefined> {
    const bytes = this.#form.singles.get('archive');
    if (bytes === undefined) return undefined;
    const archive = await readArchive(bytes, this.#limits);
    if (archive.ok) return archive.files;
    this.#problems.push(...archive.problems);
    return undefined;
  }

  #manifest(files: ReadonlyMap<string, Uint8Array>): ManifestText | undefined {
    const { singles } = this.#form;
    const part = singles.has('manifest') ? this.#text('manifest', 'uploadBytes') : undefined;
    const named = part === undefined ? undefined : namedFile(part, files);
    if (singles.has('manifest') && named === undefined)
      return part === undefined ? undefined : { manifest: part, manifestFile: MANIFEST_FILE, folder: '' };
    const beginningOf = (path: string) =>
      Buffer.from(files.get(path)?.subarray(0, YAML_BYTES_MAX) ?? []).toString('utf8');
    const found = named ?? findManifest(files.keys(), beginningOf);
    if (typeof found === 'string') {
      const text = this.#decoded(files.get(found) ?? new Uint8Array(), found);
      const folder = found.slice(0, found.lastIndexOf('/') + 1);
      return text === undefined ? undefined : { manifest: text, manifestFile: found, folder };
    }
    this.#problems.push(found);
    return undefined;
  }

  #secrets(): ReadonlyMap<string, string> {
    const text = this.#text('secrets', 'uploadBytes');
    if (text === undefined) return new Map();
    const { secretsPerIntegration } = this.#limits;
    const entries = stringEntries(text);
    if (!Array.isArray(entries)) {
      this.#problems.push(...secretsProblems(text, entries));
    } else if (entries.length > secretsPerIntegration) {
      const limit = { max: secretsPerIntegration, used: entries.length };
      this.#problems.push(limitProblem({ name: 'secretsPerIntegration', ...limit }, { file: 'secrets' }));
    } else return new Map(entries);
    return new Map();
  }

  #text(part: SinglePart, name: 'scriptBytes' | 'uploadBytes'): string | undefined {
    const bytes = this.#form.singles.get(part);
    const max = this.#limits[name];
    if (bytes === undefined || bytes.length <= max) return bytes && this.#decoded(bytes, part);
    this.#problems.push(limitProblem({ name, max, used: bytes.length }, { file: part }));
    return undefined;
  }

  #decoded(bytes: Uint8Array, file: string): string | undefined {
    try {
      return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    } catch {
      this.#problems.push(problem('This is not UTF-8 text.', { file }));
      return undefined;
    }
  }
}

/** Most problems about secrets in one answer. */
const SECRETS_SHOWN = 10;
const SECRET_CHARS_SHOWN = 64;
/** Longest text that is searched for its syntax error; 20 MiB would take a second. */
const SEARCHED_CHARS_MAX = 1024 * 1024;

/**
 * Reports why a text is not a JSON object of strings. Problems never contain values, because they
 * are secrets.
 */
function secretsProblems(text: string, { wrong }: { readonly wrong: readonly string[] }): Problem[] {
  const file = 'secrets';
  const fault = text.length <= SEARCHED_CHARS_MAX ? jsonFault(text) : undefined;
  if (fault !== undefined) {
    const { line, column, expected } = fault;
    return [problem(`The secrets are not JSON: ${expected} is expected here.`, { file, line, column })];
  }
  if (wrong.length === 0) return [problem('The secrets must be a JSON object of texts.', { file })];
  return wrong.slice(0, SECRETS_SHOWN).map((name) => {
    const message = `The value of "${name.slice(0, SECRET_CHARS_SHOWN)}" must be a text.`;
    return problem(message, { file, hint: 'Write it in double quotes.' });
  });
}

/**
 * Returns the members of a JSON object of strings, or the names of members that are not strings.
 */
function stringEntries(text: string): [string, string][] | { readonly wrong: readonly string[] } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { wrong: [] };
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { wrong: [] };
  const entries = Object.entries(value);
  const isText = (entry: [string, unknown]): entry is [string, string] => typeof entry[1] === 'string';
  return entries.every(isText)
    ? entries
    : { wrong: entries.filter((entry) => !isText(entry)).map(([name]) => name) };
}
