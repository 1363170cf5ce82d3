/**
 * Receiver of a webhook: parses its URL, and refuses what may not be posted to. Looks up no name:
 * the connector does, and checks the addresses.
 */
import { isIP } from 'node:net';
import { targetOf } from '../connection-pools.ts';
import { checkTarget, refusedTarget } from '../connector.ts';
import { EgressError } from '../egress-error.ts';
import type { FindLoopback, Loopback } from '../loopback.ts';
import { fixedAddressesOf } from '../name-resolution.ts';
import type { EgressPolicy } from '../policy.ts';

export interface Receiver {
  readonly url: URL;
  /** Path and query, as sent. */
  readonly path: string;
  /** If it is an endpoint of this service, which is reached in process. */
  readonly loopback?: Loopback;
}

export interface ReceiverRules {
  readonly policy: EgressPolicy;
  /** Whether receivers may have no TLS; the network can then read bodies and signatures. */
  readonly allowHttp: boolean;
  readonly findLoopback: FindLoopback;
}

/** Accepted by every server, and short enough for a line of a log. */
const URL_CHARS_MAX = 2_048;
/**
 * Strict: the URL standard accepts blanks and wrong slashes, which other parsers read differently.
 */
const WRITTEN = /^https?:\/\/[^\s\\/][^\s\\]*$/i;
/**
 * Attack: `https://bank.example@evil.example/` looks like the one and goes to the other. Passwords
 * would end up in logs.
 */
const WITH_USER = /^[^/]*\/\/[^/?#]*@/;

/**
 * Parses the URL of a receiver.
 *
 * @param text untrusted; no message repeats it
 * @throws EgressError if it may not be posted to, whatever its name resolves to
 */
export function receiverOf(text: string, { policy, allowHttp, findLoopback }: ReceiverRules): Receiver {
  const url = receiverUrl(text, allowHttp);
  const found = findLoopback(url);
  // The host product may be a receiver of webhooks; it is reached as any other.
  const loopback = found?.kind === 'product' ? undefined : found;
  // An endpoint of this service is reached without a network.
  if (url.protocol === 'http:' && !allowHttp && loopback === undefined)
    throw refusal(
      'The URL is of http, and this service posts to receivers with https only; the operator can allow http (--webhook-http allow).',
    );
  if (loopback?.kind === 'api')
    throw refusal('The URL is one of the API of this service, which cannot be a receiver.');
  if (loopback !== undefined) return { url, loopback, path: loopback.path };
  const target = targetOf(url);
  checkTarget(target, policy);
  const known = isIP(target.host) === 0 ? fixedAddressesOf(target.host) : [target.host];
  const refusals = known?.map((address) => policy.addressRefusal(target, address)) ?? [];
  const [why] = refusals;
  if (why !== undefined && !refusals.includes(undefined)) throw refusedTarget(target, why);
  return { url, path: url.pathname + url.search };
}

function receiverUrl(text: string, allowHttp: boolean): URL {
  // Before it is parsed. Attack: a long text that takes long to parse.
  if (text.length > URL_CHARS_MAX)
    throw refusal(`The URL has more than ${URL_CHARS_MAX.toLocaleString('en-US')} characters.`);
  const url = WRITTEN.test(text) ? URL.parse(text) : null;
  if (url === null)
    throw refusal(
      `The URL has to begin with https://${allowHttp ? ' or http://' : ''}, and to have no blanks.`,
    );
  if (WITH_USER.test(text) || url.username !== '' || url.password !== '')
    throw refusal('The URL has a user name or a password in it.');
  // A fragment is never sent: its author expects something that does not happen.
  if (text.includes('#')) throw refusal('The URL has a fragment, which is never sent.');
  return url;
}

const refusal = (message: string): EgressError => new EgressError(message, { result: 'refused' });
