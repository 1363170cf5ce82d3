/**
 * Turns what a command threw into a `Failure`: a sentence that says what happened, and what to do.
 * A request that had no answer is explained by its reason: nothing listens, an unknown name, a
 * certificate that is not trusted, a proxy that refuses. It sends no request.
 *
 * Nothing here is a rule of the API. Where the service has answered with a sentence of its own,
 * that sentence is the message.
 */
import { AnnexError } from '../../../packages/client/src/index.ts';
import { type Explanation, Failure, type FailureDetails, UsageError } from './failure.ts';

/** The service that a failure is about. */
export interface Asked extends Destination {
  /** Where the token is from; undefined if there was none. */
  readonly tokenFrom: string | undefined;
  /** Versions of this program and of the service, if that has sent its own. */
  readonly versions: readonly [string, string | undefined];
}

export function explain(cause: unknown, asked?: Asked): Failure {
  if (cause instanceof Failure) return cause;
  if (cause instanceof AnnexError && asked !== undefined) return ofService(cause, asked);
  if (!(cause instanceof Error)) return new Failure(String(cause));
  // Of src/host/config.ts, which is loaded only by the commands that read settings.
  if (cause.name === 'ConfigError') return new UsageError(cause.message, { cause });
  return new Failure(cause.message, { cause });
}

function ofService(error: AnnexError, asked: Asked): Failure {
  const { code, status, problems, message } = error;
  const details = (hint?: string): FailureDetails => ({
    code,
    cause: error,
    ...(status !== 0 && { status }),
    ...(problems.length > 0 && { problems }),
    ...(hint !== undefined && { hint }),
  });
  if (code === 'NETWORK_FAILED') {
    const [sentence, hint] = unreachable(error, asked);
    return new Failure(sentence, details(hint));
  }
  if (code === 'REQUEST_TIMED_OUT')
    return new Failure(
      `${asked.url} did not answer in time.`,
      details('`annex doctor` looks for the reason.'),
    );
  if (code === 'ANSWER_INVALID') {
    const hint = 'Is it the control listener of a service? `annex profile show` says where the URL is from.';
    return new Failure(
      `${asked.url} answers${status ? ` ${status}` : ''}, but not as Annex does.`,
      details(hint),
    );
  }
  if (status === 401) return new Failure(...unauthorized(asked, details));
  if (status === 403)
    return new Failure(
      message,
      details(
        asked.tokenFrom === undefined ? 'The request had no token.' : `The token is from ${asked.tokenFrom}.`,
      ),
    );
  if (code === 'ROUTE_UNKNOWN') return new Failure(...unknownRoute(error, asked, details));
  if (code === 'ENDPOINT_UNKNOWN')
    return new Failure(
      `${asked.url} is a public listener, which serves endpoints of installations.`,
      details('The API is on the control listener, on port 7700 unless the service has other settings.'),
    );
  if (code === 'HOST_UNKNOWN')
    return new Failure(message, details('The operator names it: annex serve --control-names <host>.'));
  return new Failure(message, details());
}

type Parts = [message: string, details: FailureDetails];
type Details = (hint?: string) => FailureDetails;

function unauthorized({ url, tokenFrom }: Asked, details: Details): Parts {
  const hint = `Log in with another token: annex login ${url}`;
  if (tokenFrom === undefined) return [`There is no token for ${url}.`, details(hint)];
  return [
    `${url} does not accept the token from ${tokenFrom}: it is unknown, or was revoked.`,
    details(hint),
  ];
}

function unknownRoute({ message }: AnnexError, { url, versions }: Asked, details: Details): Parts {
  const [own, its] = versions;
  if (its === undefined)
    return [`${url} is not the base of an Annex API: ${message}`, details('It ends before /v1.')];
  if (own === its) return [message, details('`annex api GET /v1/openapi.json` lists the routes.')];
  return [
    `The service is Annex ${its} and does not have this route; this command line is ${own}.`,
    details(`Use a command line of its version: npm install ${url}/v1/packages/annex-${its}.tgz`),
  ];
}

/** Of the names of a certificate, which its owner chooses. */
const NAMES_CHARS_MAX = 200;

/** A proxy that a variable of the environment names. */
interface ProxyInUse {
  readonly variable: string;
  /** Its host and port, without its password. */
  readonly address: string;
  /** Whether Node sends requests through it. */
  readonly isUsed: boolean;
}

/** Where the request was to go. */
interface Destination {
  readonly url: string;
  readonly isLoopback: boolean;
  readonly proxy: ProxyInUse | undefined;
}

function unreachable(error: unknown, to: Destination): Explanation {
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

type Env = Readonly<Record<string, string | undefined>>;

/** @returns undefined where no variable names one, or `NO_PROXY` excludes the host */
export function proxyFor(url: string, env: Env): ProxyInUse | undefined {
  const { protocol, hostname, host } = new URL(url);
  const name = `${protocol.slice(0, -1)}_proxy`;
  const variable = [name, name.toUpperCase()].find((one) => env[one]);
  const proxy = variable === undefined ? null : URL.parse(env[variable] ?? '');
  if (variable === undefined || proxy === null) return undefined;
  if (isExcluded([hostname, host], env['no_proxy'] || env['NO_PROXY'] || '')) return undefined;
  return { variable, address: proxy.host, isUsed: env['NODE_USE_ENV_PROXY'] === '1' };
}

/** @param names of a host, without and with its port */
const isExcluded = (names: readonly string[], list: string): boolean =>
  list.split(/[\s,]+/).some((entry) => {
    const suffix = entry.toLowerCase().replace(/^\*?\.?/, '');
    if (suffix === '') return entry === '*';
    return names.some((name) => name === suffix || name.endsWith(`.${suffix}`));
  });
