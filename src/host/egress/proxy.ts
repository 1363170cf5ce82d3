/**
 * The operator's HTTP proxy: a tunnel through it by `CONNECT` (RFC 9110, section 9.3.6).
 *
 * The tunnel goes to an address that this service has resolved and checked, never to a name.
 * Attack: a name that the proxy resolves to another address than the one that was checked. The
 * proxy's own address is the operator's, so no rule of egress applies to it. Its failures are of
 * the platform, and no error has its URL, which may hold a password.
 */
import { connect, isIP, type Socket } from 'node:net';
import type { LimitMet } from '../../limits.ts';
import { overLimit } from './egress-error.ts';

export interface EgressProxy {
  readonly host: string;
  readonly port: number;
  /** Value of the header `Proxy-Authorization`. */
  readonly authorization?: string;
}

/** Where a tunnel ends. */
export interface TunnelEnd {
  readonly address: string;
  readonly port: number;
}

/** Code of the errors of the proxy itself. */
export const PROXY_FAULT = 'ERR_EGRESS_PROXY';
const KEEP_ALIVE_MS = 60_000;
const HEAD_END = '\r\n\r\n';
const HEAD_BYTES_MAX = 16_384;
const STATUS_LINE = /^HTTP\/1\.[01] (\d{3})[ \r]/;
/** By which a proxy says that it did not reach the other side. */
const UNREACHED: ReadonlySet<number> = new Set([502, 503, 504]);

/**
 * @param url as `http://user:password@proxy.internal:3128`
 * @returns undefined if it is no URL of a proxy
 */
export function egressProxyOf(url: string): EgressProxy | undefined {
  const parsed = URL.parse(url);
  if (parsed?.protocol !== 'http:' || /[?#]/.test(url) || parsed.pathname !== '/') return undefined;
  const { hostname, port, username, password } = parsed;
  try {
    const login = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    return {
      host: hostname.replace(/^\[(.*)\]$/, '$1'),
      port: Number(port || 80),
      ...(login !== ':' && { authorization: `Basic ${Buffer.from(login).toString('base64')}` }),
    };
  } catch {
    return undefined;
  }
}

/**
 * Opens a tunnel. Its first byte is the client's.
 *
 * @param limit time for the whole; half of it for the connection to the proxy
 * @throws Error with the code `PROXY_FAULT` if the proxy failed, with `EHOSTUNREACH` if it did not
 *   reach the end
 */
export async function tunnelThrough(proxy: EgressProxy, end: TunnelEnd, limit: LimitMet): Promise<Socket> {
  const socket = connect({ host: proxy.host, port: proxy.port, autoSelectFamily: true });
  // A proxy that is not there is no receiver that is silent.
  const unconnected = setTimeout(
    () => socket.destroy(fault('did not accept a connection in time')),
    limit.max / 2,
  );
  const unanswered = setTimeout(() => socket.destroy(overLimit(limit, 'timeout')), limit.max);
  try {
    const status = await connected(socket, requestHead(proxy, end), () => clearTimeout(unconnected));
    // As undici sets up the sockets that it opens.
    if (status >= 200 && status < 300) return socket.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_MS);
    throw UNREACHED.has(status)
      ? Object.assign(new Error(`The proxy of this service answered ${status}.`), { code: 'EHOSTUNREACH' })
      : fault(`answered ${status}`);
  } catch (cause) {
    socket.on('error', () => undefined).destroy();
    throw cause;
  } finally {
    clearTimeout(unconnected);
    clearTimeout(unanswered);
  }
}

function requestHead({ authorization }: EgressProxy, { address, port }: TunnelEnd): string {
  const end = `${isIP(address) === 6 ? `[${address}]` : address}:${port}`;
  const login = authorization === undefined ? '' : `Proxy-Authorization: ${authorization}\r\n`;
  return `CONNECT ${end} HTTP/1.1\r\nHost: ${end}\r\n${login}\r\n`;
}

/** Sends the request. @returns the status of the answer, behind whose head nothing is read */
function connected(socket: Socket, head: string, onConnect: () => void): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  let isConnected = false;
  let text = '';
  const onReadable = () => {
    for (let chunk = socket.read(); chunk !== null; chunk = socket.read()) text += chunk.toString('latin1');
    const at = text.indexOf(HEAD_END);
    if (at === -1 && text.length <= HEAD_BYTES_MAX) return;
    const status = Number(STATUS_LINE.exec(text)?.[1] ?? 0);
    // Attack: an answer behind that of the proxy, which the next request would be given. The other
    // side says nothing before it is asked.
    const isWhole = at !== -1 && (text.length === at + HEAD_END.length || status >= 300);
    if (isWhole && status >= 200) resolve(status);
    else reject(fault('answered with what is not HTTP'));
  };
  const onEnd = () => reject(fault('closed the connection'));
  const onError = (cause: NodeJS.ErrnoException) => {
    // Its own message has the address of the proxy.
    const isOwn = cause.code === PROXY_FAULT || cause.code === undefined;
    reject(
      isOwn
        ? cause
        : fault(isConnected ? 'broke off the connection' : `could not be reached (${cause.code})`),
    );
  };
  socket.once('connect', () => {
    isConnected = true;
    onConnect();
    socket.write(head);
  });
  socket.on('readable', onReadable).on('end', onEnd).on('error', onError);
  return promise.finally(() => socket.off('readable', onReadable).off('end', onEnd).off('error', onError));
}

/** A failure of the proxy, without its address. */
const fault = (what: string): Error =>
  Object.assign(new Error(`The proxy of this service ${what}.`), { code: PROXY_FAULT });
