/**
 * The files of one upload, each checked against the path rules and the limits.
 *
 * Multipart files and archives both go through `UploadedFiles`, so names and sizes are checked in
 * one place. Nothing here touches a disk: a path is only a key of a map.
 */
import type { LimitMet, Limits } from '../../limits.ts';
import { quote } from '../../model/plain-text.ts';
import { limitProblem, type Problem, problem } from '../../model/problem.ts';

/** Longest path of a file inside an upload, in UTF-16 units. */
const PATH_CHARS_MAX = 512;
/**
 * Most problems of one upload. Attack: thousands of bad names that become an answer of megabytes.
 */
const PROBLEMS_MAX = 100;

/** The limits that apply to the files of an upload. */
export type UploadLimits = Pick<Limits, 'uploadFiles' | 'uploadBytes'>;

/** Collects the files of an upload; `problems` is empty while all of them are valid. */
export class UploadedFiles {
  readonly files = new Map<string, Uint8Array>();
  readonly problems: Problem[] = [];
  readonly #limits: UploadLimits;
  #bytes = 0;

  constructor(limits: UploadLimits) {
    this.#limits = limits;
  }

  /**
   * Adds one file. A bad path or a duplicate is noted as a problem and skipped.
   *
   * @returns false once a limit is passed: the caller then stops reading, to save memory.
   */
  add(path: string, bytes: Uint8Array): boolean {
    const fault = pathProblem(path);
    if (fault !== undefined) return this.note(fault);
    if (this.files.has(path)) {
      return this.note(problem('The upload has this file more than once.', { file: path }));
    }
    if (this.files.size >= this.#limits.uploadFiles) {
      return this.#stop({ name: 'uploadFiles', max: this.#limits.uploadFiles });
    }
    this.#bytes += bytes.byteLength;
    if (this.#bytes > this.#limits.uploadBytes) {
      return this.#stop({ name: 'uploadBytes', max: this.#limits.uploadBytes });
    }
    this.files.set(path, bytes);
    return true;
  }

  /**
   * Records a problem that the caller found. @returns false once there are too many to continue.
   */
  note(found: Problem): boolean {
    this.problems.push(found);
    if (this.problems.length < PROBLEMS_MAX) return true;
    this.problems.push(problem(`Reading stopped after ${PROBLEMS_MAX} problems.`));
    return false;
  }

  #stop(limit: LimitMet): false {
    this.problems.push(limitProblem(limit, { hint: 'Upload only what the integration imports.' }));
    return false;
  }
}

/**
 * Checks the path of an uploaded file; undefined where it is valid.
 *
 * The rules are stricter than a map of names needs. They keep a path safe for later uses: in a log,
 * in a source map, or when a developer unpacks a published version on a disk.
 */
export function pathProblem(path: string): Problem | undefined {
  const fault = pathFault(path);
  const hint = 'Use a relative path with "/" between its parts, such as "src/index.ts".';
  return fault === undefined ? undefined : problem(`The file name ${quote(path)} ${fault}.`, { hint });
}

/** The fault of a path, as the end of a sentence. */
function pathFault(path: string): string | undefined {
  if (path === '') return 'is empty';
  if (path.length > PATH_CHARS_MAX) return `is longer than ${PATH_CHARS_MAX} characters`;
  // Two names that differ only in lone surrogates become one in UTF-8.
  if (!path.isWellFormed()) return 'is not well-formed Unicode';
  // Attack: NUL truncates a C string; line breaks and escapes forge log lines. U+2028 and U+2029
  // are line breaks.
  if (/[\p{Cc}\u2028\u2029]/u.test(path)) return 'contains a control character';
  if (path.includes('\\')) return 'contains a backslash';
  if (/^[A-Za-z]:/.test(path)) return 'starts with a drive letter';
  if (path.startsWith('/')) return 'is absolute';
  const parts = path.split('/');
  // Attack: path traversal, such as `../../etc/passwd`.
  if (parts.includes('..')) return 'contains ".."';
  if (parts.includes('.') || parts.includes(''))
    return 'is not normalised: it has "./", "//" or a trailing "/"';
  return undefined;
}
