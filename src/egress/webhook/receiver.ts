/**
 * Where a webhook's receiver is: what its URL says, and whether it may be one at all. No name is looked up: whoever dials does
 * that, and checks again what it leads to.
 */
import { isIP } from 'node:net';
import { targetOf } from '../connection-pools.ts';
import { checkTarget, refusedTarget } from '../connector.ts';
import { EgressError } from '../egress-error.ts';
import type { FindLoopback, Loopback } from '../loopback.ts';
import { fixedAddressesOf } from '../names.ts';
import type { EgressPolicy } from '../policy.ts';

export interface Receiver {
  readonly url: URL;
  /** Path and query, as they are sent. */
  readonly path: string;
  /** Where it is an endpoint of this service, which is reached in process. */
  readonly door?: Loopback;
}

export interface ReceiverRules {
  readonly policy: EgressPolicy;
  /** Whether receivers without TLS are posted to; body and signature are then anybody's to read on the way. */
  readonly allowHttp: boolean;
  readonly ownDoor: FindLoopback;
}

/** What every server takes, and what fits into one line of a log. */
const URL_CHARS_MAX = 2_048;
/** What the URL standard forgives, blanks and a slash too few or too many, one reader forgives and the next does not. */
const WRITTEN = /^https?:\/\/[^\s\\/][^\s\\]*$/i;
/** Attack: `https://bank.example@evil.example/` reads as the one and goes to the other. And passwords end up in logs. */
const WITH_USER = /^[^/]*\/\/[^/?#]*@/;

/**
 * @param text of a stranger's; no message repeats it
 * @throws EgressError where nothing is to be posted there, whatever its name leads to
 */
export function receiverOf(text: string, { policy, allowHttp, ownDoor }: ReceiverRules): Receiver {
  const url = receiverUrl(text, allowHttp);
  const door = ownDoor(url);
  // To an endpoint of this service nothing goes over a network.
  if (url.protocol === 'http:' && !allowHttp && door === undefined)
    throw refusal('The URL is of http, and this service posts to receivers with https only.');
  if (door?.kind === 'api') throw refusal('The URL is one of the API of this service, which is no receiver.');
  if (door !== undefined) return { url, door, path: door.path };
  const target = targetOf(url);
  checkTarget(target, policy);
  const known = isIP(target.host) === 0 ? fixedAddressesOf(target.host) : [target.host];
  const refusals = known?.map((address) => policy.addressRefusal(target, address)) ?? [];
  const [why] = refusals;
  if (why !== undefined && !refusals.includes(undefined)) throw refusedTarget(target, why);
  return { url, path: url.pathname + url.search };
}

function receiverUrl(text: string, allowHttp: boolean): URL {
  // Before it is parsed: whoever made the text chose how much work that is.
  if (text.length > URL_CHARS_MAX)
    throw refusal(`The URL has more than ${URL_CHARS_MAX.toLocaleString('en-US')} characters.`);
  const url = WRITTEN.test(text) ? URL.parse(text) : null;
  if (url === null)
    throw refusal(
      `The URL has to begin with https://${allowHttp ? ' or http://' : ''}, and to have no blanks.`,
    );
  if (WITH_USER.test(text) || url.username !== '' || url.password !== '')
    throw refusal('The URL has a user name or a password in it.');
  // It is never sent: whoever writes one means something that does not happen.
  if (text.includes('#')) throw refusal('The URL has a fragment, which is never sent.');
  return url;
}

const refusal = (message: string): EgressError => new EgressError(message, { result: 'refused' });
