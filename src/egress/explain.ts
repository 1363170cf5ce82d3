/** What went wrong on the network, in words for the tenant and in words for the log. */
import { EgressError } from './egress-error.ts';

/** Prefixes of error codes of undici, Node, c-ares, OpenSSL and zlib; the first that fits counts. */
const MEANINGS: readonly (readonly [codes: RegExp, message: string])[] = [
  [/^(UND_ERR_CONNECT_TIMEOUT|ETIMEDOUT|ETIMEOUT)$/, 'The connection could not be made in time.'],
  [
    /^(ENOTFOUND|ENODATA|ENONAME|EBADNAME|EAI_|EFORMERR|ESERVFAIL|EREFUSED|EBADRESP)/,
    'The name of the host could not be resolved.',
  ],
  [/^(ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL)$/, 'The connection could not be made.'],
  [
    /CERT|SELF_SIGNED|UNABLE_TO|HOSTNAME_MISMATCH|INVALID_PURPOSE/,
    'The certificate of the server was not accepted.',
  ],
  [/^(ERR_SSL|ERR_TLS|EPROTO)/, 'The connection could not be secured.'],
  [/^UND_ERR_HEADERS_OVERFLOW$/, 'The head of the answer is too long.'],
  [/^(HPE_|UND_ERR_INVALID)/, 'The answer is no valid HTTP.'],
  [/^(Z_|ERR__ERROR_)/, 'The body of the answer could not be decompressed.'],
  [/^UND_ERR_(CLOSED|DESTROYED)$/, 'The service is stopping.'],
];
const OTHERWISE = 'The connection ended before the answer was complete.';

/** @param where the origin that was asked: no path, no query */
export function explain(cause: unknown, where: string): EgressError {
  if (cause instanceof EgressError) {
    const { message, detail } = cause;
    return detail === message ? new EgressError(message, `${where}: ${message}`, cause) : cause;
  }
  const error = deepest(cause);
  const code = String((error as NodeJS.ErrnoException).code ?? '');
  const message = MEANINGS.find(([codes]) => codes.test(code))?.[1] ?? OTHERWISE;
  return new EgressError(message, `${where}: ${code === '' ? '' : `${code} `}${error.message}`, cause);
}

/** Of several attempts at one connection, the first tells enough. */
function deepest(cause: unknown): Error {
  if (cause instanceof AggregateError && cause.errors[0] instanceof Error) return cause.errors[0];
  return cause instanceof Error ? cause : new Error(String(cause));
}
