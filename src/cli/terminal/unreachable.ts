/**
 * Explains a request that had no answer: nothing listens, an unknown name, a certificate that is
 * not trusted, a proxy that refuses. Says what failed, where, and what to do. It sends no request.
 */
import type { Explanation } from './failure.ts';

/** Of the names of a certificate, which its owner chooses. */
const NAMES_CHARS_MAX = 200;

/** A proxy that a variable of the environment names. */
export interface ProxyInUse {
  readonly variable: string;
  /** Its host and port, without its password. */
  readonly address: string;
  /** Whether Node sends requests through it. */
  readonly isUsed: boolean;
}

/** Where the request was to go. */
export interface Destination {
  readonly url: string;
  readonly isLoopback: boolean;
  readonly proxy: ProxyInUse | undefined;
}

export function unreachable(error: unknown, to: Destination): Explanation {
  const reason = reasonOf(error);
  const { url, isLoopback, proxy } = to;
  const ofTls = tlsProblem(reason, to);
  if (ofTls !== undefined) return ofTls;
  if (proxy?.isUsed) return ofProxy(reason, url, proxy);
  const past =
    proxy === undefined
      ? ''
      : ` ${proxy.variable} is set; NODE_USE_ENV_PROXY=1 has annex send requests through it.`;
  if (reason.code === 'ECONNREFUSED') {
    const start = isLoopback ? ' `annex serve` starts it.' : '';
    return [`Nothing listens at ${url}.`, `Is the service running?${start}${isLoopback ? '' : past}`];
  }
  if (reason.code === 'ENOTFOUND' || reason.code === 'EAI_AGAIN')
    return [`The host of ${url} is not known.`, `Is the name right, and this machine online?${past}`];
  return [`${url} cannot be reached (${shown(reason)}).`, `\`annex doctor\` looks for the reason.${past}`];
}

function tlsProblem({ code, message }: Reason, { url }: Destination): Explanation | undefined {
  if (/SSL_(WRONG_VERSION|PACKET|UNKNOWN_PROTOCOL)/.test(code))
    return [`${url} does not speak TLS.`, 'Try it with http:// in place of https://.'];
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID')
    return [
      `The certificate of ${url} ${code === 'CERT_HAS_EXPIRED' ? 'has expired' : 'is not valid yet'}.`,
      'Have the operator renew the certificate, and check the clock of this machine.',
    ];
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    const names = message.split('altnames: ').at(-1)?.slice(0, NAMES_CHARS_MAX);
    return [
      `The certificate of ${url} is for another name (${names}).`,
      'Use a name of the certificate, or have the operator add this host name to the certificate.',
    ];
  }
  if (!/CERT|SELF_SIGNED|UNABLE_TO_/.test(code)) return undefined;
  return [
    `The certificate of ${url} is not trusted (${code}).`,
    'Where this machine trusts its certificate authority, set NODE_USE_SYSTEM_CA=1. Else let NODE_EXTRA_CA_CERTS name the file of that authority, or of a self-signed certificate.',
  ];
}

function ofProxy(reason: Reason, url: string, { variable, address }: ProxyInUse): Explanation {
  const around = `NO_PROXY=${new URL(url).hostname} reaches the service without the proxy.`;
  const [, status] = /^Proxy response \((\d{3})\)/.exec(reason.message) ?? [];
  if (status === '407')
    return [
      `The proxy ${address} of ${variable} asks for a name and a password (407).`,
      `Write them into the variable: ${variable}=http://name:password@${address}. ${around}`,
    ];
  if (status !== undefined)
    return [
      `The proxy ${address} of ${variable} does not connect to ${url}: it answers ${status}.`,
      `Is the name right, and may the proxy reach it? ${around}`,
    ];
  return [
    `${url} cannot be reached through the proxy ${address} of ${variable} (${shown(reason)}).`,
    `Is the proxy running? ${around}`,
  ];
}

interface Reason {
  /** Of the innermost error that has one, else empty. */
  readonly code: string;
  /** Of the innermost error. */
  readonly message: string;
}

const shown = ({ code, message }: Reason): string => code || message;

function reasonOf(error: unknown): Reason {
  let code = '';
  let message = 'no connection';
  for (let at = error; at instanceof Error; at = at.cause) {
    const inner = (at instanceof AggregateError ? at.errors[0] : at) as NodeJS.ErrnoException;
    message = inner.message;
    if (typeof inner.code === 'string' && inner.code !== 'NETWORK_FAILED') code = inner.code;
  }
  return { code, message };
}
