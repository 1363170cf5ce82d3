/**
 * Interprets the parts of a publish: a manifest, code and secrets, or a list of every problem with
 * them.
 *
 *   manifest   YAML text; where it is absent, `platform-manifest.yaml` among the files
 *   files      any number, the filename being the relative path        } exactly
 *   archive    one .tar or .tar.gz of the same                         } one of
 *   script     one ready ES module                                     } the three
 *   secrets    JSON object, secret name → value
 *
 * Runs in the process of the upload, because it unpacks, decodes and parses untrusted bytes.
 */
import type { Limits } from '../../limits.ts';
import { jsonFault } from '../../model/json-fault.ts';
import { MANIFEST_FILE } from '../../model/manifest/manifest.ts';
import { limitProblem, type Problem, problem } from '../../model/problem.ts';
import type { SinglePart, UploadForm } from '../upload-form.ts';
import { readArchive } from './archive.ts';
import { missingManifest } from './misplaced-manifest.ts';

/** An upload whose parts are all valid. */
export interface ReceivedUpload {
  readonly manifest: string;
  /** Relative path → bytes; empty where a ready script was sent. */
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
    const manifest = this.#manifest(files);
    problems.push(...fileProblems);
    const codes = [filesSent, singles.has('archive'), singles.has('script')];
    if (codes.filter(Boolean).length !== 1) {
      const hint = 'Send "files", or one "archive", or one ready "script".';
      problems.push(
        problem(`The upload has ${codes.includes(true) ? 'its code twice' : 'no code'}.`, { hint }),
      );
    }
    if (problems.length > 0 || manifest === undefined) return { ok: false, problems };
    return { ok: true, upload: { manifest, files, secrets, ...(script === undefined ? {} : { script }) } };
  }

  async #unpacked(): Promise<ReadonlyMap<string, Uint8Array> | undefined> {
    const bytes = this.#form.singles.get('archive');
    if (bytes === undefined) return undefined;
    const archive = await readArchive(bytes, this.#limits);
    if (archive.ok) return archive.files;
    this.#problems.push(...archive.problems);
    return undefined;
  }

  #manifest(files: ReadonlyMap<string, Uint8Array>): string | undefined {
    if (this.#form.singles.has('manifest')) return this.#text('manifest', 'uploadBytes');
    const bytes = files.get(MANIFEST_FILE);
    if (bytes !== undefined) return this.#decoded(bytes, MANIFEST_FILE);
    this.#problems.push(missingManifest(files.keys()));
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
