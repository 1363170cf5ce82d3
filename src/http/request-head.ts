/**
 * Checks that every request of either listener must pass.
 *
 * Node's parser refuses most of what two parsers could read in two ways: several lengths, a length
 * with chunks, folded lines, bare line breaks, control characters. What it accepts and a proxy in
 * front may read differently is refused here, before routing, and the connection ends with it.
 */
import type { IncomingMessage } from 'node:http';
import { AnnexError } from '../errors.ts';
import type { Limits } from '../limits.ts';
import { limitError } from '../model/limit-met.ts';
import type { AnswersTo } from './host-header.ts';

export interface HeadRules {
  readonly limits: Pick<Limits, 'requestHeaders'>;
  readonly answersTo: AnswersTo;
  /** Which setting decides that, as the end of a sentence. */
  readonly hostSetting: string;
}

/** @returns the error to answer with; undefined if the head is acceptable */
export function headRefusal(request: IncomingMessage, rules: HeadRules): AnnexError | undefined {
  const { method, url = '', headers, rawHeaders } = request;
  const max = rules.limits.requestHeaders;
  // Attack: headers beyond Node's own bound, which it drops silently: a token, or a header that
  // forbids something.
  if (rawHeaders.length > 2 * max) {
    return limitError('REQUEST_HEAD_TOO_LARGE', { name: 'requestHeaders', max });
  }
  // Attack: cross-site tracing, where the answer to TRACE shows a script cookies that it may not
  // read. CONNECT asks for a tunnel.
  if (method === 'TRACE' || method === 'CONNECT') {
    return new AnnexError('METHOD_REFUSED', `The method ${method} is not supported.`);
  }
  // Attack: `http://other.example/x` as target (see `toPath`).
  if (!url.startsWith('/') || url.includes('#'))
    return invalid(
      'The target of the request must be a path, or a URL with the host of `Host`, and have no "#".',
    );
  return framingRefusal(request) ?? hostRefusal(request, headers.host, rules);
}

/**
 * Attack: request smuggling. If a proxy in front and this parser disagree about the end of a
 * request, the rest of its body is taken for another client's request. Node accepts codings other
 * than `chunked`, and chunks in HTTP/1.0, which does not define them.
 */
function framingRefusal({ headers, httpVersion }: IncomingMessage): AnnexError | undefined {
  const coding = headers['transfer-encoding'];
  if (coding === undefined) return undefined;
  if (httpVersion === '1.0') return invalid('HTTP/1.0 requests must not have a Transfer-Encoding.');
  if (coding.toLowerCase() === 'chunked') return undefined;
  return invalid('The Transfer-Encoding must be `chunked`, the only coding that is supported.');
}

/** Attack: several `Host` headers. Node keeps the first, and a proxy may have gone by the last. */
function hostRefusal(
  { rawHeaders, httpVersion }: IncomingMessage,
  host: string | undefined,
  { answersTo, hostSetting }: Pick<HeadRules, 'answersTo' | 'hostSetting'>,
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
  return new AnnexError('HOST_UNKNOWN', `This listener does not answer to ${given}: ${hostSetting}`);
}

const invalid = (message: string): AnnexError => new AnnexError('REQUEST_INVALID', message);
