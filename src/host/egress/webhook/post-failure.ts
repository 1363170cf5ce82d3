/**
 * Maps the failure of a post to a reason, which decides whether it is retried, and a text for the
 * log.
 *
 * The text is for the log of an installation (`EgressError.detail`): the rule that refused it or
 * the answer of the network, but no path and no query of the receiver's URL, because these may hold
 * keys.
 */
import type { Limits } from '../../../limits.ts';
import { EgressError, overLimit } from '../egress-error.ts';
import { deepest, explain } from '../network-errors.ts';

/** What failed at the receiver, or on the network to it. */
export type FailureReason = 'dns' | 'refused' | 'reset' | 'tls' | 'timeout' | 'protocol' | 'network';

export type PostFailure =
  | { readonly kind: 'failed'; readonly reason: FailureReason; readonly detail: string }
  /** Refused by a rule of this service or of its operator. */
  | { readonly kind: 'blocked'; readonly detail: string }
  /** This service failed. */
  | { readonly kind: 'fault'; readonly detail: string };

export type PostLimits = Pick<Limits, 'fetchHeaderBytes' | 'webhookMs' | 'webhookConnectMs'>;

/** System calls of look-ups: `ECONNREFUSED` of one is from a name server. */
const LOOKUP_CALLS = /^(query|getaddrinfo)/;
/** Error codes of undici, Node, c-ares and OpenSSL; the first row that fits counts. */
const REASONS: readonly (readonly [codes: RegExp, reason: FailureReason | 'fault'])[] = [
  [/^(ENOTFOUND|ENODATA|ENONAME|EBADNAME|EAI_|EFORMERR|ESERVFAIL|EREFUSED|EBADRESP|ETIMEOUT)/, 'dns'],
  [/^(ETIMEDOUT$|UND_ERR_CONNECT_TIMEOUT)/, 'timeout'],
  [/^ECONNREFUSED$/, 'refused'],
  [/^(ECONNRESET|ECONNABORTED|EPIPE|ENOTCONN)$/, 'reset'],
  [/^(ERR_SSL|ERR_TLS|EPROTO)|CERT|SELF_SIGNED|UNABLE_TO|HOSTNAME_MISMATCH|INVALID_(PURPOSE|CA)/, 'tls'],
  // This machine lacks descriptors, buffers or ports: all receivers would fail.
  [/^(EMFILE|ENFILE|ENOBUFS|ENOMEM|EADDRNOTAVAIL)$/, 'fault'],
  [/^UND_ERR_(CLOSED|DESTROYED|INVALID_ARG|REQ_CONTENT_LENGTH_MISMATCH|NOT_SUPPORTED)$/, 'fault'],
  // An assertion of the parser is caused by its input.
  [/^(ERR_ASSERTION|UND_ERR_(HEADERS_OVERFLOW|RES_))/, 'protocol'],
];
/** undici's error for an answer that is not HTTP has a name, and mostly no code. */
const NO_HTTP = 'HTTPParserError';
/** undici has one code for a connection that ended and for an answer that cannot be used. */
const UNUSABLE = /^bad (response|upgrade)$/;

/** @param where the origin of the receiver, without path and query */
export function postFailure(cause: unknown, where: string, limits: PostLimits): PostFailure {
  const { webhookConnectMs, fetchHeaderBytes } = limits;
  const error = deepest(cause);
  const { code = '', syscall = '' } = error as NodeJS.ErrnoException;
  const reason = cause instanceof EgressError ? reasonOfEgress(cause) : reasonOf(error, code, syscall);
  const mapped =
    code === 'UND_ERR_CONNECT_TIMEOUT'
      ? overLimit({ name: 'webhookConnectMs', max: webhookConnectMs }, 'timeout')
      : cause;
  const { detail } = explain(mapped, where, { fetchConnectMs: webhookConnectMs, fetchHeaderBytes });
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

function reasonOfEgress({ result }: EgressError): FailureReason | 'fault' | 'blocked' {
  if (result === 'refused') return 'blocked';
  if (result === 'shed' || result === 'canceled') return 'fault';
  if (result === 'timeout') return 'timeout';
  return result === 'tooLarge' ? 'protocol' : 'dns';
}
