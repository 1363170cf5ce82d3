/**
 * Egress policy: tenants may connect to the public internet, on ports that may serve HTTP, with the
 * exceptions of the operator.
 *
 * The operator has three lists. An entry is a host (`api.example.com`, `*.example.com`), an address
 * or a range (`10.1.2.3`, `10.0.0.0/8`, `[fd00::1]`), with a port (`:8080`) or without.
 *
 * - `allow`: may be reached although not public. A host is trusted wherever its name points.
 * - `only`: if not empty, nothing else of the public internet may be reached.
 * - `deny`: may not be reached, whatever the other lists have.
 *
 * Without a list of ports, those of other protocols are refused. An entry of `allow` or `only` with
 * a port lifts the rule about ports. The policy is applied twice: to the target, before anything
 * else, and to each address that its name resolves to.
 */
import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import ipaddr from 'ipaddr.js';
import {
  type Address,
  type AddressRange,
  carriedIPv4,
  dialled,
  isWithin,
  parseAddress,
  reasonNotPublic,
} from './addresses.ts';

/** Destination of a connection: the host of a URL, without brackets, and its port. */
export interface Target {
  readonly host: string;
  readonly port: number;
}

interface Entry {
  readonly text: string;
  readonly port?: number;
  readonly range?: AddressRange;
  /** A name; with a dot in front, every name below it. */
  readonly host?: string;
}

const PORT_MAX = 65_535;
const NO_PORT = `no port from 1 to ${PORT_MAX}`;
const NOT_LISTED = "it is not on the operator's list of allowed destinations (--egress-only)";
const LABELS = /^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/;

interface Rules {
  readonly allow: readonly Entry[];
  readonly deny: readonly Entry[];
  /** Absent: no such rule. */
  readonly only?: readonly Entry[];
  readonly ports?: ReadonlySet<number>;
}

export class EgressPolicy {
  readonly #allow: readonly Entry[];
  readonly #deny: readonly Entry[];
  readonly #only: readonly Entry[] | undefined;
  readonly #ports: ReadonlySet<number> | undefined;

  constructor({ allow, deny, only, ports }: Rules) {
    this.#allow = allow;
    this.#deny = deny;
    this.#only = only;
    this.#ports = ports;
  }

  /** @returns the policy, and one sentence for each entry that cannot be read */
  static parse(lists: { allow?: string; deny?: string; only?: string; ports?: string }): {
    policy: EgressPolicy;
    problems: string[];
  } {
    const problems: string[] = [];
    const entries = (list: string, text: string): Entry[] =>
      partsOf(text).flatMap((part) => {
        const entry = parseEntry(part.toLowerCase());
        if (typeof entry !== 'string') return [entry];
        problems.push(`"${part}" in the ${list} list of the egress ${entry}.`);
        return [];
      });
    const allow = entries('allow', lists.allow ?? '');
    const deny = entries('deny', lists.deny ?? '');
    const only = entries('only', lists.only ?? '');
    const ports = partsOf(lists.ports ?? '').map((part) => {
      const port = parsePort(part);
      if (port === undefined) problems.push(`"${part}" in --egress-ports is ${NO_PORT}.`);
      return port ?? 0;
    });
    const policy = new EgressPolicy({
      allow,
      deny,
      ...(only.length > 0 && { only }),
      ...(ports.length > 0 && { ports: new Set(ports) }),
    });
    return { policy, problems };
  }

  /** @returns why the target may not be reached, whatever its addresses are; undefined if it may */
  refusal({ host, port }: Target): string | undefined {
    const denied = this.#deny.find((entry) => namesHost(entry, host) && coversPort(entry, port));
    if (denied) return `the operator's list denies ${denied.text} (--egress-deny)`;
    // An entry with a range is decided by the address, later.
    const listed = (entries: readonly Entry[]): readonly Entry[] =>
      entries.filter(
        (entry) => coversPort(entry, port) && (entry.range !== undefined || namesHost(entry, host)),
      );
    const candidates = [...listed(this.#allow), ...listed(this.#only ?? [])];
    if (this.#only !== undefined && candidates.length === 0) return NOT_LISTED;
    return candidates.some((entry) => entry.port !== undefined) ? undefined : this.#portRefusal(port);
  }

  /** @returns why this address of the target may not be reached; undefined if it may */
  addressRefusal(target: Target, text: string): string | undefined {
    const parsed = parseAddress(text);
    if (parsed === undefined) return 'it is not an address';
    const address = dialled(parsed);
    const carried = carriedIPv4(address)?.address;
    const denied = this.#deny.find(
      (entry) =>
        coversPort(entry, target.port) &&
        (namesAddress(entry, address) || (carried !== undefined && namesAddress(entry, carried))),
    );
    if (denied) return `the operator's list denies ${denied.text} (--egress-deny)`;
    const names = (entry: Entry): boolean =>
      coversPort(entry, target.port) && (namesHost(entry, target.host) || namesAddress(entry, address));
    const allowed = this.#allow.filter(names);
    const listed = this.#only?.filter(names) ?? [];
    if (![...allowed, ...listed].some(({ port }) => port !== undefined)) {
      const why = this.#portRefusal(target.port);
      if (why !== undefined) return why;
    }
    if (allowed.length > 0) return undefined;
    if (this.#only !== undefined && listed.length === 0) return NOT_LISTED;
    const why = reasonNotPublic(address);
    return why && `it is not public: ${why}; the operator can allow it (--egress-allow)`;
  }

  /** Whether the operator's `allow` list has this name. */
  allowsName(host: string): boolean {
    return this.#allow.some((entry) => namesHost(entry, host));
  }

  #portRefusal(port: number): string | undefined {
    if (this.#ports === undefined)
      return BAD_PORTS.has(port) ? `port ${port} is not for HTTP (--egress-ports)` : undefined;
    return this.#ports.has(port) ? undefined : `the operator does not allow port ${port} (--egress-ports)`;
  }
}

const partsOf = (text: string): string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');

function parsePort(text: string): number | undefined {
  const port = Number(text);
  return /^\d+$/.test(text) && port >= 1 && port <= PORT_MAX ? port : undefined;
}

const coversPort = (entry: Entry, port: number): boolean => entry.port === undefined || entry.port === port;

const namesAddress = ({ range }: Entry, address: Address): boolean =>
  range !== undefined && isWithin(address, range);

/** A dot at the end only marks a name as absolute. */
function namesHost({ host }: Entry, name: string): boolean {
  if (host === undefined) return false;
  const bare = name.endsWith('.') ? name.slice(0, -1) : name;
  return host.startsWith('.') ? bare.endsWith(host) : bare === host;
}

/** @returns the entry, or what is wrong with it */
function parseEntry(text: string): Entry | string {
  const bracketed = /^\[([^\]]*)\](?::(.*))?$/.exec(text);
  const isBareIPv6 = !bracketed && text.split(':').length > 2;
  const plain = isBareIPv6 || bracketed ? undefined : /^([^:]*)(?::(.*))?$/.exec(text);
  const place = bracketed?.[1] ?? plain?.[1] ?? text;
  const portText = bracketed?.[2] ?? plain?.[2];
  const port = portText === undefined ? undefined : parsePort(portText);
  if (portText !== undefined && port === undefined) return `has ${NO_PORT} after its colon`;
  const named = { text, ...(port !== undefined && { port }) };
  const range = parseRange(place);
  if (typeof range === 'string') return range;
  if (range !== undefined) return { ...named, range };
  const name = domainToASCII(place.replace(/^\*\./, ''));
  // `127.1` and `0x7f.1` are addresses in URLs: as names, they would never match.
  const isName = LABELS.test(name) && isIP(name) === 0;
  if (!isName) return 'is neither a host, an address nor a range of addresses';
  return { ...named, host: place.startsWith('*.') ? `.${name}` : name };
}

/** @returns the range, undefined if the text is no range, or what is wrong with it */
function parseRange(text: string): AddressRange | string | undefined {
  const [base = '', bitsText, ...rest] = text.split('/');
  const parsed = parseAddress(base);
  if (parsed === undefined) return undefined;
  const whole = parsed.kind() === 'ipv4' ? 32 : 128;
  const bits = Number(bitsText ?? whole);
  if (rest.length > 0 || !/^\d+$/.test(bitsText ?? '0') || bits > whole)
    return `has no number of bits from 0 to ${whole} after its slash`;
  const address = dialled(parsed);
  if (address !== parsed) return `is better written as the IPv4 address ${address}`;
  const start = networkStart(address, bits);
  return start.toString() === address.toString()
    ? [address, bits]
    : `has bits beyond its mask; perhaps ${start}/${bits} is meant`;
}

const networkStart = (address: Address, bits: number): Address =>
  address.kind() === 'ipv4'
    ? ipaddr.IPv4.networkAddressFromCIDR(`${address}/${bits}`)
    : ipaddr.IPv6.networkAddressFromCIDR(`${address}/${bits}`);

/**
 * Ports of other protocols (Fetch, "bad port"). Attack: an HTTP request whose body is read as mail,
 * IRC or print commands by the server at such a port.
 */
const BAD_PORTS: ReadonlySet<number> = new Set([
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104,
  109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515,
  526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049,
  3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
]);
