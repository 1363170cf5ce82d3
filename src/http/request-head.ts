/**
 * What no request may be like, on either listener, whatever it asks for.
 *
 * Node's parser refuses most of what two readers could read in two ways: several lengths, a length beside chunks, folded
 * lines, bare line breaks, control characters. What it lets through and a proxy in front may see differently is refused
 * here, before a route is looked for, and the connection ends with it.
 */
import type { IncomingMessage } from 'node:http';
import { AnnexError } from '../errors.ts';
import type { Limits } from '../limits.ts';
import { limitError } from '../model/limit-met.ts';
import type { AnswersTo } from './host-header.ts';

export interface HeadRules {
  readonly limits: Pick<Limits, 'requestHeaders'>;
  readonly answersTo: AnswersTo;
}

/** @returns what is wrong with it */
export function headRefusal(request: IncomingMessage, rules: HeadRules): AnnexError | undefined {
  const { method, url = '', headers, rawHeaders } = request;
  const max = rules.limits.requestHeaders;
  // What is beyond Node's own bound it drops without a word: a token, or a header that forbids something.
  if (rawHeaders.length > 2 * max) {
    return limitError('REQUEST_HEAD_TOO_LARGE', { name: 'requestHeaders', max });
  }
  // Cross-site tracing: an answer to TRACE shows a script the cookies it may not read. CONNECT asks for a tunnel.
  if (method === 'TRACE' || method === 'CONNECT') {
    return new AnnexError('METHOD_REFUSED', `${method} is answered by nobody here.`);
  }
  // `http://other.example/x` and `*`: a proxy in front has gone by the host in the target, and the doors go by the path.
  if (!url.startsWith('/') || url.includes('#')) return invalid('The target of a request has to be a path.');
  return framingRefusal(request) ?? hostRefusal(request, headers.host, rules.answersTo);
}

/**
 * Request smuggling: where a reader in front and this one disagree about the end of a request, the rest of its body is taken
 * for somebody else's request. Node hands over a coding that is not `chunked`, and chunks in HTTP/1.0, which knows none.
 */
function framingRefusal({ headers, httpVersion }: IncomingMessage): AnnexError | undefined {
  const coding = headers['transfer-encoding'];
  if (coding === undefined) return undefined;
  if (httpVersion === '1.0') return invalid('HTTP/1.0 knows no Transfer-Encoding.');
  if (coding.toLowerCase() === 'chunked') return undefined;
  return invalid('The only Transfer-Encoding that is understood is `chunked`.');
}

/** Of several `Host` headers Node keeps the first, and a proxy may have gone by the last. */
function hostRefusal(
  { rawHeaders, httpVersion }: IncomingMessage,
  host: string | undefined,
  answersTo: AnswersTo,
): AnnexError | undefined {
  if (host === undefined && httpVersion !== '1.0') return invalid('The request has no Host header.');
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  if (hosts > 1) return invalid('The request has more than one Host header.');
  if (answersTo(host)) return undefined;
  const given = host === undefined ? 'no name' : `"${host.slice(0, 256)}"`;
  return new AnnexError('HOST_UNKNOWN', `This listener does not answer to ${given}.`);
}

const invalid = (message: string): AnnexError => new AnnexError('REQUEST_INVALID', message);
