/**
 * The errors that the client throws: `AnnexError` for every answer that is no success, and for a
 * request without an answer.
 */
import type { ErrorCode, LimitMet, Problem } from './generated.ts';

/** Codes of the client itself, where the service has given no answer of its own. */
export type ClientErrorCode =
  /** No connection, or it broke. */
  | 'NETWORK_FAILED'
  /** No answer within `timeoutMs`. */
  | 'REQUEST_TIMED_OUT'
  /** The answer is not one of Annex: another server, or a proxy before it. */
  | 'ANSWER_INVALID'
  /** The service ended a stream that was followed; `details.reason` says why. */
  | 'STREAM_ENDED';

/** What is known of an error. */
export interface ErrorParts {
  readonly status: number;
  readonly code: ErrorCode | ClientErrorCode;
  readonly requestId?: string | undefined;
  readonly problems?: readonly Problem[] | undefined;
  readonly limit?: LimitMet | undefined;
  readonly retryAfterS?: number | undefined;
  /** The whole `error` object of the answer. */
  readonly details?: Readonly<Record<string, unknown>> | undefined;
  readonly cause?: unknown;
}

/**
 * A request that failed.
 *
 * @example
 * try {
 *   await annex.installations.get('hello', id);
 * } catch (error) {
 *   if (error instanceof AnnexError && error.code === 'INSTALLATION_UNKNOWN') return undefined;
 *   throw error;
 * }
 */
export class AnnexError extends Error {
  override readonly name = 'AnnexError';
  /** HTTP status; 0 if there was no answer. */
  readonly status: number;
  readonly code: ErrorCode | ClientErrorCode;
  /** Id of the request in the operator's log. */
  readonly requestId: string | undefined;
  /** Each fault, where a request can have several. */
  readonly problems: readonly Problem[];
  /** The limit that was exceeded. */
  readonly limit: LimitMet | undefined;
  /** Seconds after which a repetition may succeed, if the service says. */
  readonly retryAfterS: number | undefined;
  /** All members of the answer's `error`, such as `installation` of `INSTALLATION_EXISTS`. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(message: string, parts: ErrorParts) {
    super(message, parts.cause === undefined ? undefined : { cause: parts.cause });
    this.status = parts.status;
    this.code = parts.code;
    this.requestId = parts.requestId;
    this.problems = parts.problems ?? [];
    this.limit = parts.limit;
    this.retryAfterS = parts.retryAfterS;
    this.details = parts.details ?? {};
  }
}

/** The body of an error of the API. */
interface ErrorBody {
  readonly error?: {
    readonly code?: ErrorCode;
    readonly message?: string;
    readonly requestId?: string;
    readonly problems?: readonly Problem[];
    readonly limit?: LimitMet;
  };
}

/** The error that an answer is. @param text its body */
export function errorOf({ status, headers }: Pick<Response, 'status' | 'headers'>, text: string): AnnexError {
  const retryAfterS = retryAfterSeconds(headers.get('retry-after'));
  const { error } = parsedError(text);
  if (error?.code === undefined)
    return new AnnexError(
      `The server answered ${status} without an error of Annex: is it the control listener?`,
      {
        ...{ status, retryAfterS },
        code: 'ANSWER_INVALID',
        details: { text: text.slice(0, 1_000) },
      },
    );
  const { code, message = code, requestId, problems, limit } = error;
  return new AnnexError(message, { status, code, requestId, problems, limit, retryAfterS, details: error });
}

function parsedError(text: string): ErrorBody {
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === 'object' && body !== null ? body : {};
  } catch {
    return {};
  }
}

/** The value of `Retry-After`; undefined if it is absent, or a date. */
function retryAfterSeconds(header: string | null): number | undefined {
  return header !== null && /^\d{1,9}$/.test(header) ? Number(header) : undefined;
}
