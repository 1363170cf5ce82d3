/**
 * Reads the body of a publish (REFERENCE D10): `multipart/form-data` becomes a manifest, code and secrets, or a list of
 * everything wrong with them.
 *
 *   manifest   YAML text; where it is absent, `platform-manifest.yaml` among the files
 *   files      any number, the filename being the relative path        } exactly
 *   archive    one .tar or .tar.gz of the same                         } one of
 *   script     one ready ES module                                     } the three
 *   secrets    JSON object, secret name → value
 *
 * The body is hostile until read: it is counted as it arrives and given up at the limit. Nothing is judged here that a
 * single part does not tell; what the parts mean together is `publish.ts`.
 */
import type { Readable } from 'node:stream';
import { Busboy, type BusboyInstance } from '@fastify/busboy';
import { readArchive } from '../bundle/reading/archive.ts';
import { missingManifest } from '../bundle/reading/misplaced-manifest.ts';
import { Upload } from '../bundle/upload.ts';
import { AnnexError } from '../errors.ts';
import type { Limits } from '../limits.ts';
import { jsonFault } from '../model/json-fault.ts';
import { limitError } from '../model/limit-met.ts';
import { MANIFEST_FILE } from '../model/manifest/manifest.ts';
import { nearest } from '../model/nearest.ts';
import { limitProblem, type Problem, problem } from '../model/problem.ts';

/** Parts that are not `files`: each is read at most once, but a repeated one has to be noticed. */
const SINGLE_PARTS = ['manifest', 'archive', 'script', 'secrets'] as const;
type SinglePart = (typeof SINGLE_PARTS)[number];
const PART_NAMES = ['files', ...SINGLE_PARTS] as const;
/** Room for single parts, repeated ones included, beside the files. */
const SPARE_PARTS = 16;
/** Boundary and headers of one part; what is longer is cut off by the parser. */
const PART_HEAD_BYTES = 4 * 1024;

/** An upload whose parts are all in order. */
export interface ReceivedUpload {
  readonly manifest: string;
  /** Relative path → bytes; empty where a ready script was sent. */
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** A ready script, taken as it is. */
  readonly script?: string;
  readonly secrets: ReadonlyMap<string, string>;
}

export type UploadReading =
  | { readonly ok: true; readonly upload: ReceivedUpload }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/**
 * Reads a publish to its end.
 *
 * @param body is read but never destroyed, so that the connection can still carry an answer.
 * @throws `REQUEST_INVALID` where the body is not well-formed multipart, `REQUEST_TOO_LARGE` at the upload limit,
 *   `CALL_CANCELED` where the sender went away.
 */
export async function readUpload(
  body: Readable,
  contentType: string | undefined,
  limits: Limits,
): Promise<UploadReading> {
  const parts = new Parts(limits);
  const parser = parserFor(contentType, limits);
  parser.on('file', (name, stream, filename) => {
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => {
      parts.hold(chunk.length);
      if (parts.excess === undefined) chunks.push(chunk);
    });
    // A body cut off inside a part fails that part too; nobody listening would end the process. `feed` has the answer.
    stream.on('error', () => {});
    stream.on('end', () => parts.add(name, filename, Buffer.concat(chunks)));
  });
  parser.on('partsLimit', () => parts.tooMany());
  await feed(parser, body, parts, limits);
  return parts.reading();
}

function parserFor(contentType: string | undefined, limits: Limits): BusboyInstance {
  const invalid =
    'The body must be multipart/form-data with a boundary, as curl -F archive=@upload.tar.gz sends it.';
  if (contentType === undefined || !/^multipart\/form-data\s*;/i.test(contentType)) {
    throw new AnnexError('REQUEST_INVALID', invalid);
  }
  try {
    return new Busboy({
      headers: { 'content-type': contentType },
      preservePath: true,
      // Every part is read as bytes: the parser's own fields are decoded leniently, and a broken byte would go unseen.
      isPartAFile: () => true,
      limits: { parts: limits.uploadFiles + SPARE_PARTS, headerPairs: 16, headerSize: PART_HEAD_BYTES },
    });
  } catch (cause) {
    throw new AnnexError('REQUEST_INVALID', invalid, { cause });
  }
}

/** Sends the body through the parser, as fast as the parser takes it and no further than the limit. */
async function feed(parser: BusboyInstance, body: Readable, parts: Parts, limits: Limits): Promise<void> {
  const broken = Promise.withResolvers<never>();
  const finished = Promise.withResolvers<void>();
  broken.promise.catch(() => {});
  parser.on('error', (cause) => {
    const why = cause instanceof Error ? `: ${cause.message}` : '';
    broken.reject(
      new AnnexError('REQUEST_INVALID', `The body is not well-formed multipart${why}.`, { cause }),
    );
  });
  parser.on('finish', () => finished.resolve());
  // Text before the first boundary, after the last, or in parts without a name is in no part; it counts here.
  const bodyBytesMax = limits.uploadBytes + (limits.uploadFiles + SPARE_PARTS) * PART_HEAD_BYTES;
  let bytes = 0;
  for await (const chunk of chunksOf(body)) {
    bytes += chunk.length;
    if (bytes > bodyBytesMax) parts.hold(limits.uploadBytes + 1);
    const drained = parser.write(chunk) || new Promise((resolve) => parser.once('drain', resolve));
    await Promise.race([drained, broken.promise]);
    if (parts.excess !== undefined) throw parts.excess;
  }
  parser.end();
  await Promise.race([finished.promise, broken.promise]);
  if (parts.excess !== undefined) throw parts.excess;
}

async function* chunksOf(body: Readable): AsyncGenerator<Buffer> {
  try {
    yield* body.iterator({ destroyOnReturn: false });
  } catch (cause) {
    throw new AnnexError('CALL_CANCELED', 'The upload ended before its last part.', { cause });
  }
}

/** What has arrived so far. */
class Parts {
  /** Set once more bytes have arrived than an upload may have. */
  excess: AnnexError | undefined;
  readonly #limits: Limits;
  readonly #singles = new Map<SinglePart, Buffer>();
  readonly #files: Upload;
  readonly #problems: Problem[] = [];
  #bytes = 0;
  #filesSent = false;
  #stopped = false;

  constructor(limits: Limits) {
    this.#limits = limits;
    this.#files = new Upload(limits);
  }

  /** Counts bytes before they are kept. */
  hold(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes <= this.#limits.uploadBytes) return;
    this.excess ??= limitError('REQUEST_TOO_LARGE', { name: 'uploadBytes', max: this.#limits.uploadBytes });
  }

  tooMany(): void {
    this.#problems.push(limitProblem({ name: 'uploadFiles', max: this.#limits.uploadFiles }));
  }

  add(name: string | undefined, filename: string | undefined, bytes: Buffer): void {
    if (this.#stopped || this.excess !== undefined) return;
    const single = SINGLE_PARTS.find((known) => known === name);
    if (name === 'files') this.#addFile(filename, bytes);
    else if (single === undefined) this.#stopped = !this.#files.note(unknownPart(name));
    else if (this.#singles.has(single)) {
      this.#stopped = !this.#files.note(problem(`The part "${single}" is there twice.`, { file: single }));
    } else this.#singles.set(single, bytes);
  }

  async reading(): Promise<UploadReading> {
    const problems = this.#problems;
    const secrets = this.#secrets();
    const script = this.#text('script', 'scriptBytes');
    const files = (await this.#unpacked()) ?? this.#files.files;
    const manifest = this.#manifest(files);
    problems.push(...this.#files.problems);
    const codes = [this.#filesSent, this.#singles.has('archive'), this.#singles.has('script')];
    if (codes.filter(Boolean).length !== 1) {
      const hint = 'Send "files", or one "archive", or one ready "script".';
      problems.push(
        problem(`The upload has ${codes.includes(true) ? 'its code twice' : 'no code'}.`, { hint }),
      );
    }
    if (problems.length > 0 || manifest === undefined) return { ok: false, problems };
    return { ok: true, upload: { manifest, files, secrets, ...(script === undefined ? {} : { script }) } };
  }

  #addFile(path: string | undefined, bytes: Buffer): void {
    this.#filesSent = true;
    this.#stopped = !this.#files.add(path ?? '', bytes);
  }

  async #unpacked(): Promise<ReadonlyMap<string, Uint8Array> | undefined> {
    const bytes = this.#singles.get('archive');
    if (bytes === undefined) return undefined;
    const archive = await readArchive(bytes, this.#limits);
    if (archive.ok) return archive.files;
    this.#problems.push(...archive.problems);
    return undefined;
  }

  #manifest(files: ReadonlyMap<string, Uint8Array>): string | undefined {
    if (this.#singles.has('manifest')) return this.#text('manifest', 'uploadBytes');
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
    const bytes = this.#singles.get(part);
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

function unknownPart(name: string | undefined): Problem {
  const near = nearest(name ?? '', PART_NAMES);
  const hint = near === undefined ? `The parts are ${PART_NAMES.join(', ')}.` : `Did you mean "${near}"?`;
  return problem(`The part "${(name ?? '').slice(0, 80)}" is not a known part.`, { hint });
}

/** Problems of secrets in one answer. */
const SECRETS_SHOWN = 10;
const SECRET_CHARS_SHOWN = 64;
/** Longer texts are not searched for their fault: that takes the thread of everybody a second for 20 MiB. */
const SEARCHED_CHARS_MAX = 1024 * 1024;

/** What keeps a text from being a JSON object of strings. Values are in no problem: they are secrets. */
function secretsProblems(text: string, { wrong }: { readonly wrong: readonly string[] }): Problem[] {
  const file = 'secrets';
  const fault = text.length <= SEARCHED_CHARS_MAX ? jsonFault(text) : undefined;
  if (fault !== undefined) {
    const { line, column, expected } = fault;
    return [problem(`The secrets are no JSON: ${expected} is expected here.`, { file, line, column })];
  }
  if (wrong.length === 0) return [problem('The secrets must be a JSON object of texts.', { file })];
  return wrong.slice(0, SECRETS_SHOWN).map((name) => {
    const message = `The value of "${name.slice(0, SECRET_CHARS_SHOWN)}" must be a text.`;
    return problem(message, { file, hint: 'Write it in double quotes.' });
  });
}

/** The members of a JSON object of strings, or the names of those that are none. */
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
