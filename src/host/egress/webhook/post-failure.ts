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
  | {
      readonly kind: 'failed';
      readonly reason: FailureReason;
      readonly detail: string;
      /** Why TLS failed, for the owner of the webhook, where that is known. */
      readonly tlsReason?: string;
    }
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
  // The operator's proxy failed: all receivers would.
  [/^ERR_EGRESS_PROXY$/, 'fault'],
  // This machine lacks descriptors, buffers or ports: all receivers would fail.
  [/^(EMFILE|ENFILE|ENOBUFS|ENOMEM|EADDRNOTAVAIL)$/, 'fault'],
  [/^UND_ERR_(CLOSED|DESTROYED|INVALID_ARG|REQ_CONTENT_LENGTH_MISMATCH|NOT_SUPPORTED)$/, 'fault'],
  // An assertion of the parser is caused by its input.
  [/^(ERR_ASSERTION|UND_ERR_(HEADERS_OVERFLOW|RES_))/, 'protocol'],
];
/**
 * Why TLS failed, by the code that Node or OpenSSL of this machine gives.
 *
 * Attack: a certificate or an alert with text that is made to be shown. Nothing of the
 * receiver is repeated, not even the name in its certificate.
 */
const TLS_REASONS: readonly (readonly [codes: string, reason: string])[] = [
  ['CERT_HAS_EXPIRED', 'the certificate has expired'],
  ['CERT_NOT_YET_VALID', 'the certificate is not valid yet'],
  ['CERT_REVOKED', 'the certificate is revoked'],
  ['ERR_TLS_CERT_ALTNAME_INVALID HOSTNAME_MISMATCH', 'the certificate is of another name'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'the certificate is self-signed'],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'the certificate is of an authority that is not trusted'],
  [
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE UNABLE_TO_GET_ISSUER_CERT UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    'the issuer of the certificate is not known: an intermediate certificate may be missing',
  ],
  [
    'INVALID_CA INVALID_PURPOSE PATH_LENGTH_EXCEEDED CERT_UNTRUSTED CERT_REJECTED CERT_CHAIN_TOO_LONG',
    'the certificate is not for this use',
  ],
  ['CERT_SIGNATURE_FAILURE', 'the signature of the certificate is wrong'],
  [
    'ERR_SSL_EE_KEY_TOO_SMALL ERR_SSL_CA_KEY_TOO_SMALL ERR_SSL_CA_MD_TOO_WEAK ERR_SSL_DH_KEY_TOO_SMALL',
    'the certificate or the handshake has a weak key',
  ],
  [
    'ERR_SSL_UNSUPPORTED_PROTOCOL ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION',
    'the receiver has no version of TLS that is accepted',
  ],
  [
    'ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE',
    'the receiver refused the handshake',
  ],
  ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'the receiver asks for a certificate of the sender'],
  [
    'ERR_SSL_TLSV1_UNRECOGNIZED_NAME ERR_SSL_TLSV1_ALERT_UNRECOGNIZED_NAME',
    'the receiver does not serve this name',
  ],
  [
    'ERR_SSL_WRONG_VERSION_NUMBER ERR_SSL_PACKET_LENGTH_TOO_LONG ERR_SSL_HTTP_REQUEST',
    'the receiver does not speak TLS',
  ],
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
  if (reason === 'fault' || reason === 'blocked') return { kind: reason, detail };
  const tlsReason = reason === 'tls' ? reasonOfTls(code) : undefined;
  return { kind: 'failed', reason, detail, ...(tlsReason !== undefined && { tlsReason }) };
}

function reasonOf(error: Error, code: string, syscall: string): FailureReason | 'fault' {
  if (LOOKUP_CALLS.test(syscall)) return 'dns';
  if (error.name === NO_HTTP) return 'protocol';
  if (code === 'UND_ERR_SOCKET') return UNUSABLE.test(error.message) ? 'protocol' : 'reset';
  return REASONS.find(([codes]) => codes.test(code))?.[1] ?? 'network';
}

const reasonOfTls = (code: string): string | undefined =>
  TLS_REASONS.find(([codes]) => codes.split(' ').includes(code))?.[1];

function reasonOfEgress({ result }: EgressError): FailureReason | 'fault' | 'blocked' {
  if (result === 'refused') return 'blocked';
  if (result === 'shed' || result === 'canceled') return 'fault';
  if (result === 'timeout') return 'timeout';
  return result === 'tooLarge' ? 'protocol' : 'dns';
}
