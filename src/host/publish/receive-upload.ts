/**
 * Receives the body of a publish (`docs/contract/api.md#publishing`): splits `multipart/form-data`
 * into unparsed parts.
 *
 * Bytes are counted as they arrive, and receiving stops at the limit, so the work is linear in at
 * most one upload. The contents of parts are not parsed here, on the host's main thread: the
 * process of the upload parses them (`bundle/reading/`), under its deadline.
 */
import type { Readable } from 'node:stream';
import { Busboy, type BusboyInstance } from '@fastify/busboy';
import { AnnexError } from '../../errors.ts';
import type { Limits } from '../../limits.ts';
import { limitError } from '../../model/limit-met.ts';
import { limitProblem, type Problem, problem } from '../../model/problem.ts';
import { nearest } from '../../model/spelling-hint.ts';
import { UploadedFiles } from '../bundle/upload.ts';
import { SINGLE_PARTS, type SinglePart, type UploadForm } from '../bundle/upload-form.ts';
import type { UploadShare } from './upload-budget.ts';

const PART_NAMES = ['files', ...SINGLE_PARTS] as const;
/** Parts allowed in addition to the files: single parts, also repeated ones. */
const SPARE_PARTS = 16;
/** Boundary and headers of one part; the parser truncates longer ones. */
const PART_HEAD_BYTES = 4 * 1024;

/**
 * Receives the whole body of a publish.
 *
 * @param body is read but never destroyed, so that the connection can still carry an answer.
 * @param share charges the bytes to the upload budget, if given; the caller releases it
 * @throws `REQUEST_INVALID` where the body is not well-formed multipart, `REQUEST_TOO_LARGE` at the
 *   upload limit, `PUBLISH_BUSY` where the upload budget is used up, `CALL_CANCELED` where the
 *   sender disconnects.
 */
export async function receiveUpload(
  body: Readable,
  contentType: string | undefined,
  limits: Limits,
  share?: Pick<UploadShare, 'take'>,
): Promise<UploadForm> {
  const parts = new Parts(limits);
  const parser = parserFor(contentType, limits);
  parser.on('file', (name, stream, filename) => {
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => {
      parts.hold(chunk.length);
      if (parts.excess === undefined) chunks.push(chunk);
    });
    // A truncated body also emits an error on its last part; without a listener that would end the
    // host. `feed` reports it.
    stream.on('error', () => {});
    stream.on('end', () => parts.add(name, filename, Buffer.concat(chunks)));
  });
  parser.on('partsLimit', () => parts.tooMany());
  await feed(parser, counted(body, share), parts, limits);
  return parts.form();
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
      // Every part is read as bytes: the parser decodes text fields leniently and would hide
      // invalid UTF-8.
      isPartAFile: () => true,
      limits: { parts: limits.uploadFiles + SPARE_PARTS, headerPairs: 16, headerSize: PART_HEAD_BYTES },
    });
  } catch (cause) {
    throw new AnnexError('REQUEST_INVALID', invalid, { cause });
  }
}

/**
 * Writes the body to the parser with backpressure, up to the limit.
 */
async function feed(
  parser: BusboyInstance,
  body: AsyncIterable<Buffer>,
  parts: Parts,
  limits: Limits,
): Promise<void> {
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
  // Counts the whole body, because text before the first boundary, after the last, or in parts
  // without a name belongs to no part.
  const bodyBytesMax = limits.uploadBytes + (limits.uploadFiles + SPARE_PARTS) * PART_HEAD_BYTES;
  let bytes = 0;
  for await (const chunk of body) {
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

/**
 * Attack: many uploads that stop just before their end. Bytes are charged before they are kept.
 */
async function* counted(
  body: Readable,
  share: Pick<UploadShare, 'take'> | undefined,
): AsyncGenerator<Buffer> {
  for await (const chunk of chunksOf(body)) {
    share?.take(chunk.length);
    yield chunk;
  }
}

async function* chunksOf(body: Readable): AsyncGenerator<Buffer> {
  try {
    yield* body.iterator({ destroyOnReturn: false });
  } catch (cause) {
    throw new AnnexError('CALL_CANCELED', 'The upload ended before its last part.', { cause });
  }
}

/** The parts received so far. */
class Parts {
  /** Set once the upload is over its limit on bytes. */
  excess: AnnexError | undefined;
  readonly #limits: Limits;
  readonly #singles = new Map<SinglePart, Buffer>();
  readonly #files: UploadedFiles;
  readonly #problems: Problem[] = [];
  #bytes = 0;
  #filesSent = false;
  #stopped = false;

  constructor(limits: Limits) {
    this.#limits = limits;
    this.#files = new UploadedFiles(limits);
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

  form(): UploadForm {
    return {
      files: this.#files.files,
      singles: this.#singles,
      filesSent: this.#filesSent,
      problems: this.#problems,
      fileProblems: this.#files.problems,
    };
  }

  #addFile(path: string | undefined, bytes: Buffer): void {
    this.#filesSent = true;
    this.#stopped = !this.#files.add(path ?? '', bytes);
  }
}

function unknownPart(name: string | undefined): Problem {
  const near = nearest(name ?? '', PART_NAMES);
  const hint = near === undefined ? `The parts are ${PART_NAMES.join(', ')}.` : `Did you mean "${near}"?`;
  return problem(`The part "${(name ?? '').slice(0, 80)}" is not a known part.`, { hint });
}
