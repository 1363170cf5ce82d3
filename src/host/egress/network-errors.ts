/** Turns network errors into texts for the tenant and for the log. */
import type { Limits } from '../../limits.ts';
import { limitSentence } from '../../model/limit-met.ts';
import { EgressError, type FetchResult } from './egress-error.ts';
import { NO_ADDRESS } from './name-resolution.ts';

/** Error codes of undici, Node, c-ares, OpenSSL and zlib; the first row that fits counts. */
const MEANINGS: readonly (readonly [codes: RegExp, message: string, result?: FetchResult])[] = [
  [/^(ETIMEDOUT|ETIMEOUT)$/, 'The connection could not be made in time.', 'timeout'],
  [/^(ENOTFOUND|ENODATA|ENONAME|EBADNAME|EAI_|EFORMERR|ESERVFAIL|EREFUSED|EBADRESP)/, NO_ADDRESS],
  [/^(ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL)$/, 'The connection could not be made.'],
  [
    /CERT|SELF_SIGNED|UNABLE_TO|HOSTNAME_MISMATCH|INVALID_PURPOSE/,
    'The certificate of the server was not accepted.',
  ],
  [/^(ERR_SSL|ERR_TLS|EPROTO)/, 'The connection could not be secured.'],
  [/^(HTTPParserError|ERR_ASSERTION|UND_ERR_INVALID)/, 'The answer is not valid HTTP.'],
  [/^ERR_EGRESS_PROXY$/, 'This service could not reach the network.'],
  [/^(Z_|ERR__ERROR_)/, 'The body of the answer could not be decompressed.'],
  [/^UND_ERR_(CLOSED|DESTROYED)$/, 'The service is stopping.'],
];
/** Codes of undici for the limits that undici enforces. */
const LIMITS: ReadonlyMap<string, readonly ['fetchConnectMs' | 'fetchHeaderBytes', FetchResult]> = new Map([
  ['UND_ERR_CONNECT_TIMEOUT', ['fetchConnectMs', 'timeout']],
  ['UND_ERR_HEADERS_OVERFLOW', ['fetchHeaderBytes', 'tooLarge']],
]);
const OTHERWISE = 'The connection ended before the answer was complete.';

/** @param where the origin of the request, without path and query */
export function explain(
  cause: unknown,
  where: string,
  limits: Pick<Limits, 'fetchConnectMs' | 'fetchHeaderBytes'>,
): EgressError {
  if (cause instanceof EgressError) {
    const { message, detail, result, limit } = cause;
    if (detail !== message) return cause;
    return new EgressError(message, { detail: `${where}: ${message}`, result, limit, cause });
  }
  const error = deepest(cause);
  // undici's error for an answer that is not HTTP has a name, and no code.
  const code = String((error as NodeJS.ErrnoException).code ?? error.name);
  const [name, met] = LIMITS.get(code) ?? [];
  if (name) {
    const limit = { name, max: limits[name] };
    const text = limitSentence(limit);
    return new EgressError(text, { detail: `${where}: ${text}`, cause, limit, ...(met && { result: met }) });
  }
  const [, message, result] = MEANINGS.find(([codes]) => codes.test(code)) ?? [code, OTHERWISE];
  const detail = `${where}: ${causeText(error, code)}`;
  return new EgressError(message, { detail, cause, ...(result && { result }) });
}

/**
 * The cause in one line, without OpenSSL's source locations and Node's advice after a semicolon.
 */
function causeText(error: Error, code: string): string {
  const { reason } = error as { readonly reason?: unknown };
  const [first = ''] = (typeof reason === 'string' ? reason : error.message).split('; ');
  const text = first.replace(/\s+/g, ' ').trim();
  return text.includes(code) ? text : `${code} ${text}`;
}

/** The first error, if one connection was attempted several times. */
export function deepest(cause: unknown): Error {
  if (cause instanceof AggregateError && cause.errors[0] instanceof Error) return cause.errors[0];
  return cause instanceof Error ? cause : new Error(String(cause));
}
