/**
 * Dials, and only where the policy lets it.
 *
 * The addresses of a name are checked where they are handed to the socket, so that it dials what was checked: a name server
 * that answers the check with a public address and the connection with a private one (DNS rebinding) is never asked twice.
 * Node does not look up hosts that are addresses already, so those are checked before; and what the socket is connected to
 * is checked once more afterwards, should anything between here and the kernel have turned it elsewhere.
 */
import type { LookupFunction, Socket } from 'node:net';
import { isIP } from 'node:net';
import { buildConnector } from 'undici';
import type { LimitMet } from '../limits.ts';
import { EgressError } from './egress-error.ts';
import { addressesOf, type Lookup, NO_ADDRESS } from './names.ts';
import type { EgressPolicy, Target } from './policy.ts';
import { isOfThisMachine } from './this-machine.ts';

/** Tells nothing about what is where: the same for a private address, a denied host and a port. */
const REFUSED = 'The address may not be reached from here.';

export interface ConnectorParts {
  readonly policy: EgressPolicy;
  readonly lookup: Lookup;
  /** The limit that is the time for look-up, TCP and TLS. */
  readonly connectLimit: LimitMet;
  /** The port of this service's control listener, once it is known: nobody comes in that way. */
  controlPort(): number | undefined;
}

/** Makes the function with which the connections to one target are made. */
export function connectorTo(target: Target, parts: ConnectorParts): buildConnector.connector {
  const dial = buildConnector({
    // HTTP/2 brings attacks of its own, and nothing that a tenant's fetch needs.
    allowH2: false,
    autoSelectFamily: true,
    lookup: checkedLookup(target, parts),
    maxCachedSessions: 1,
    rejectUnauthorized: true,
    timeout: parts.connectLimit.max,
  });
  const isLiteral = isIP(target.host) !== 0;
  return (options, callback) => {
    try {
      if (isLiteral) checkAddress(target, parts, target.host);
    } catch (cause) {
      callback(cause as EgressError, null);
      return;
    }
    dial(options, (...[error, socket]) => {
      if (error !== null) return callback(error, null);
      try {
        checkAddress(target, parts, peerOf(socket));
        callback(null, socket);
      } catch (cause) {
        socket.destroy();
        callback(cause as EgressError, null);
      }
    });
  };
}

/**
 * A socket whose other side is gone again has no address: it was reset, not refused.
 * @throws Error as one that the network gave
 */
function peerOf({ remoteAddress }: Socket): string {
  if (remoteAddress !== undefined) return remoteAddress;
  throw Object.assign(new Error('connect ECONNRESET'), { code: 'ECONNRESET', syscall: 'connect' });
}

/** @throws EgressError where the target may not be reached, whatever its addresses are */
export function checkTarget(target: Target, policy: EgressPolicy): void {
  const why = policy.refusal(target);
  if (why !== undefined) throw refusedTarget(target, why);
}

/** @param why a rule that says no, for the log */
export const refusedTarget = (target: Target, why: string): EgressError =>
  new EgressError(REFUSED, { detail: `${nameOf(target)} was refused: ${why}.`, result: 'refused' });

function checkAddress(target: Target, { policy, controlPort }: ConnectorParts, address: string): void {
  const isControl = target.port === controlPort() && isOfThisMachine(address);
  const why = isControl ? 'it is the control listener' : policy.addressRefusal(target, address);
  if (why === undefined) return;
  if (address === target.host) throw refusedTarget(target, why);
  const detail = `${nameOf(target)} at ${address} was refused: ${why}.`;
  throw new EgressError(NO_ADDRESS, { detail, result: 'refused' });
}

/** As Node's sockets call it; of several addresses, those that may be reached are handed on. */
function checkedLookup(target: Target, parts: ConnectorParts): LookupFunction {
  const { lookup, connectLimit } = parts;
  const permitted = async (): Promise<{ address: string; family: number }[]> => {
    const addresses = await addressesOf(target.host, lookup, connectLimit);
    const refusals: unknown[] = [];
    const passed = addresses.filter((address) => {
      try {
        checkAddress(target, parts, address);
        return true;
      } catch (cause) {
        refusals.push(cause);
        return false;
      }
    });
    if (passed.length === 0)
      throw refusals[0] ?? new EgressError(NO_ADDRESS, { detail: `${nameOf(target)} has no address.` });
    return passed.map((address) => ({ address, family: isIP(address) }));
  };
  return (_host, { all }, callback) => {
    permitted().then(
      (addresses) => {
        const [first] = addresses;
        if (all) callback(null, addresses);
        else callback(null, first?.address ?? '', first?.family);
      },
      (cause) => callback(cause as Error, all ? [] : ''),
    );
  };
}

const nameOf = ({ host, port }: Target): string => `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
