/**
 * Connector: opens connections to addresses that the policy allows.
 *
 * Attack: DNS rebinding, a name server that answers the check with a public address and the
 * connection with a private one. The addresses of a name are checked where they are handed to the
 * socket, so it dials what was checked. Node does not look up a literal address, so that is checked
 * before. The address that the socket is connected to is checked again, in case anything up to the
 * kernel redirected it.
 */
import { isIP, type LookupFunction, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { Duplex } from 'node:stream';
import { buildConnector } from 'undici';
import type { LimitMet } from '../../limits.ts';
import { dialled, parseAddress } from './addresses.ts';
import { EgressError } from './egress-error.ts';
import { addressesOf, type Lookup, NO_ADDRESS } from './name-resolution.ts';
import type { EgressPolicy, Target } from './policy.ts';
import { type EgressProxy, tunnelThrough } from './proxy.ts';

/**
 * The same for a private address, a denied host and a port, so it reveals nothing of the network.
 */
const REFUSED = 'The address may not be reached from here.';

/**
 * Opens a connection without the network: what a test kit has in its place. It gets HTTP/1.1 as it
 * is, for `https` too.
 *
 * @param origin scheme, host and port of the URL
 * @param owner who connects: an installation, or the endpoint of a delivery
 */
export type Connect = (origin: string, owner: string) => Duplex;

/**
 * The listener of this service that has a port, once it listens: never dialled at an address of
 * this machine, whatever the lists have.
 *
 * Attack on the public listener: an endpoint that fetches itself by another name or address than
 * that of its URL. Each call would begin a chain of calls anew, which then has no end.
 */
export type OwnListener = (port: number) => 'control' | 'public' | undefined;

/** A certificate with its private key, both PEM. */
export interface ClientCertificate {
  readonly cert: string;
  readonly key: string;
}

export interface ConnectorDeps {
  readonly policy: EgressPolicy;
  readonly lookup: Lookup;
  /** Time for look-up, TCP and TLS together. */
  readonly connectLimit: LimitMet;
  readonly ownListener: OwnListener;
  /** What this service shows to servers that ask who it is. */
  readonly certificate?: ClientCertificate | undefined;
  /** Through which all connections go. */
  readonly proxy?: EgressProxy | undefined;
  /** Connects in place of the network. The policy is asked first, as for the network. */
  readonly connect?: ((origin: string) => Duplex) | undefined;
}

/** Makes undici's connector for one target. */
export function connectorTo(target: Target, deps: ConnectorDeps): buildConnector.connector {
  const dial = buildConnector({
    // HTTP/2 has attacks of its own, and nothing that a fetch needs.
    allowH2: false,
    autoSelectFamily: true,
    lookup: checkedLookup(target, deps),
    maxCachedSessions: 1,
    rejectUnauthorized: true,
    timeout: deps.connectLimit.max,
    ...serverNameOf(target.host),
    ...deps.certificate,
  });
  const isLiteral = isIP(target.host) !== 0;
  const throughTunnel: buildConnector.connector = (options, callback) => {
    tunnelled(target, deps).then(
      (httpSocket) => {
        if (options.protocol !== 'https:') return callback(null, httpSocket);
        dial({ ...options, httpSocket }, (...[error, socket]) =>
          error === null ? callback(null, socket) : callback(error, null),
        );
      },
      (cause) => callback(cause as Error, null),
    );
  };
  return (options, callback) => {
    try {
      if (isLiteral) checkAddress(target, deps, target.host);
    } catch (cause) {
      callback(cause as EgressError, null);
      return;
    }
    const { connect, proxy } = deps;
    // On the next tick: undici is not ready for a connection at once.
    if (connect !== undefined)
      return process.nextTick(() => callback(null, connect(originOf(options)) as Socket));
    if (proxy !== undefined) return void throughTunnel(options, callback);
    dial(options, (...[error, socket]) => {
      if (error !== null) return callback(error, null);
      try {
        checkAddress(target, deps, peerOf(socket));
        callback(null, socket);
      } catch (cause) {
        socket.destroy();
        callback(cause as EgressError, null);
      }
    });
  };
}

/** Addresses of one name that are tried, because a proxy may have one family only. */
const TUNNELS_MAX = 2;

/** A tunnel to an address of the target that the policy allows. */
async function tunnelled(target: Target, deps: ConnectorDeps): Promise<Socket> {
  const { proxy, connectLimit } = deps;
  if (proxy === undefined) throw new Error('A tunnel without a proxy.');
  const addresses = isIP(target.host) === 0 ? await permittedAddresses(target, deps) : [target.host];
  // IPv4 first: a proxy with one family has that one.
  const [first, ...others] = [...addresses]
    .sort((one, other) => isIP(one) - isIP(other))
    .slice(0, TUNNELS_MAX);
  const to = (address: string) => tunnelThrough(proxy, { address, port: target.port }, connectLimit);
  let tunnel = to(first ?? '');
  for (const address of others)
    tunnel = tunnel.catch((cause: NodeJS.ErrnoException) => {
      if (cause.code !== 'EHOSTUNREACH') throw cause;
      return to(address);
    });
  return tunnel;
}

/**
 * The name for TLS of a host that is written with a dot at the end, which is no part of the name
 * there (RFC 6066, section 3). Other hosts are their own names.
 */
export const serverNameOf = (host: string): { servername?: string } =>
  host.endsWith('.') ? { servername: host.slice(0, -1) } : {};

/**
 * The address of the other side. A socket that is closed already has none: it was reset, not
 * refused.
 *
 * @throws Error like that of the network, with the code `ECONNRESET`
 */
function peerOf({ remoteAddress }: Socket): string {
  if (remoteAddress !== undefined) return remoteAddress;
  throw Object.assign(new Error('connect ECONNRESET'), { code: 'ECONNRESET', syscall: 'connect' });
}

/** @throws EgressError if the policy refuses the target, whatever its addresses are */
export function checkTarget(target: Target, policy: EgressPolicy): void {
  const why = policy.refusal(target);
  if (why !== undefined) throw refusedTarget(target, why);
}

/** @param why the rule that refuses it, for the log */
export const refusedTarget = (target: Target, why: string): EgressError =>
  new EgressError(REFUSED, { detail: `${nameOf(target)} was refused: ${why}.`, result: 'refused' });

function checkAddress(target: Target, { policy, ownListener }: ConnectorDeps, address: string): void {
  const listener = ownListener(target.port);
  const why =
    listener !== undefined && isOfThisMachine(address)
      ? `it is the ${listener} listener`
      : policy.addressRefusal(target, address);
  if (why === undefined) return;
  if (address === target.host) throw refusedTarget(target, why);
  const detail = `${nameOf(target)} at ${address} was refused: ${why}.`;
  throw new EgressError(NO_ADDRESS, { detail, result: 'refused' });
}

/** A look-up for Node's sockets that returns only the addresses that the policy allows. */
function checkedLookup(target: Target, deps: ConnectorDeps): LookupFunction {
  return (_host, { all }, callback) => {
    permittedAddresses(target, deps).then(
      (passed) => {
        const addresses = passed.map((address) => ({ address, family: isIP(address) }));
        const [first] = addresses;
        if (all) callback(null, addresses);
        else callback(null, first?.address ?? '', first?.family);
      },
      (cause) => callback(cause as Error, all ? [] : ''),
    );
  };
}

/** @throws EgressError if the name has none */
async function permittedAddresses(target: Target, deps: ConnectorDeps): Promise<string[]> {
  const addresses = await addressesOf(target.host, deps.lookup, deps.connectLimit);
  const refusals: unknown[] = [];
  const passed = addresses.filter((address) => {
    try {
      checkAddress(target, deps, address);
      return true;
    } catch (cause) {
      refusals.push(cause);
      return false;
    }
  });
  if (passed.length === 0)
    throw refusals[0] ?? new EgressError(NO_ADDRESS, { detail: `${nameOf(target)} has no address.` });
  return passed;
}

const originOf = ({ protocol, host = '' }: buildConnector.Options): string => `${protocol}//${host}`;

const nameOf = ({ host, port }: Target): string => `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;

/**
 * Whether an address is one of this machine.
 *
 * The operator may open the network of Annex to integrations, and the listeners of the service are
 * reachable there: the control listener with metrics and the API, the public one with endpoints.
 * Their ports at these addresses are refused, whatever the lists have.
 *
 * @param text an address in canonical notation, as sockets and resolvers return it
 */
function isOfThisMachine(text: string): boolean {
  const parsed = parseAddress(text);
  if (parsed === undefined) return false;
  const address = dialled(parsed);
  // The kernel takes the unspecified address for loopback.
  if (['loopback', 'unspecified'].includes(address.range())) return true;
  const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return own.some((entry) => parseAddress(entry.address)?.toString() === address.toString());
}
