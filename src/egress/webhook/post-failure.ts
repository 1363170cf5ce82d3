/**
 * From what went wrong with a post to one word for it, which decides whether it is tried again, and one text for the log.
 *
 * The text is of the kind that an installation's log is told (`EgressError.detail`): which rule said no and what the network
 * answered, but no path and no query of the receiver's URL, because those carry keys.
 */
import type { Limits } from '../../limits.ts';
import { EgressError, overLimit } from '../egress-error.ts';
import { deepest, explain } from '../explain.ts';

/** What the receiver or the way to it did not do. */
export type FailureReason = 'dns' | 'refused' | 'reset' | 'tls' | 'timeout' | 'protocol' | 'network';

export type PostFailure =
  | { readonly kind: 'failed'; readonly reason: FailureReason; readonly detail: string }
  /** A rule of this service or of its operator says no. */
  | { readonly kind: 'blocked'; readonly detail: string }
  /** It was this service that could not. */
  | { readonly kind: 'fault'; readonly detail: string };

export type PostLimits = Pick<Limits, 'fetchHeaderBytes' | 'webhookMs' | 'webhookConnectMs'>;

/** Calls with which names are looked up: `ECONNREFUSED` of one is a name server's. */
const LOOKUP_CALLS = /^(query|getaddrinfo)/;
/** Prefixes of error codes of undici, Node, c-ares and OpenSSL; the first that fits counts. */
const REASONS: readonly (readonly [codes: RegExp, reason: FailureReason | 'fault'])[] = [
  [/^(ENOTFOUND|ENODATA|ENONAME|EBADNAME|EAI_|EFORMERR|ESERVFAIL|EREFUSED|EBADRESP|ETIMEOUT)/, 'dns'],
  [/^(ETIMEDOUT$|UND_ERR_CONNECT_TIMEOUT)/, 'timeout'],
  [/^ECONNREFUSED$/, 'refused'],
  [/^(ECONNRESET|ECONNABORTED|EPIPE|ENOTCONN)$/, 'reset'],
  [/^(ERR_SSL|ERR_TLS|EPROTO)|CERT|SELF_SIGNED|UNABLE_TO|HOSTNAME_MISMATCH|INVALID_(PURPOSE|CA)/, 'tls'],
  // Descriptors, buffers, ports of this machine: all receivers would fail alike.
  [/^(EMFILE|ENFILE|ENOBUFS|ENOMEM|EADDRNOTAVAIL)$/, 'fault'],
  [/^UND_ERR_(CLOSED|DESTROYED|INVALID_ARG|REQ_CONTENT_LENGTH_MISMATCH|NOT_SUPPORTED)$/, 'fault'],
  // An assertion of the parser's is about what it was given.
  [/^(ERR_ASSERTION|UND_ERR_(HEADERS_OVERFLOW|RES_))/, 'protocol'],
];
/** Of what is no HTTP, undici's error has a name and mostly no code. */
const NO_HTTP = 'HTTPParserError';
/** undici has one code for a connection that ended and for an answer that nobody can use. */
const UNUSABLE = /^bad (response|upgrade)$/;

/** @param where the origin that was asked: no path, no query */
export function postFailure(cause: unknown, where: string, limits: PostLimits): PostFailure {
  const { webhookConnectMs, fetchHeaderBytes } = limits;
  const error = deepest(cause);
  const { code = '', syscall = '' } = error as NodeJS.ErrnoException;
  const reason = cause instanceof EgressError ? reasonOfOwn(cause) : reasonOf(error, code, syscall);
  const told =
    code === 'UND_ERR_CONNECT_TIMEOUT'
      ? overLimit({ name: 'webhookConnectMs', max: webhookConnectMs }, 'timeout')
      : cause;
  const { detail } = explain(told, where, { fetchConnectMs: webhookConnectMs, fetchHeaderBytes });
  return reason === 'fault' || reason === 'blocked'
    ? { kind: reason, detail }
    : { kind: 'failed', reason, detail };
}

function reasonOf(error: Error, code: string, syscall: string): FailureReason | 'fault' {
  if (LOOKUP_CALLS.test(syscall)) return 'dns';
  if (error.name === NO_HTTP) return 'protocol';
  if (code === 'UND_ERR_SOCKET') return UNUSABLE.test(error.message) ? 'protocol' : 'reset';
  return REASONS.find(([codes]) => codes.test(code))?.[1] ?? 'network';
}

function reasonOfOwn({ result }: EgressError): FailureReason | 'fault' | 'blocked' {
  if (result === 'refused') return 'blocked';
  if (result === 'shed' || result === 'canceled') return 'fault';
  if (result === 'timeout') return 'timeout';
  return result === 'tooLarge' ? 'protocol' : 'dns';
}
