/**
 * Where tenants may connect to: the public internet, on ports where HTTP may be expected, except as the operator says.
 *
 * The operator's two lists have entries of one form each: a host (`api.example.com`, `*.example.com`), an address or a range
 * (`10.1.2.3`, `10.0.0.0/8`, `[fd00::1]`), each with a port (`:8080`) or without. What `allow` lists may be reached although it
 * is not public; what `deny` lists may not, whatever else is said. A host that `allow` lists is trusted wherever its name
 * points. An entry that names a port lifts the rule about ports, too.
 *
 * The question is asked twice: of a target, before anything is done, and of each address its name resolves to.
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
import { BAD_PORTS } from './ports.ts';

/** Where a connection would go: the host of a URL, without brackets, and its port. */
export interface Target {
  readonly host: string;
  readonly port: number;
}

interface Entry {
  readonly text: string;
  readonly port?: number;
  readonly range?: AddressRange;
  /** A name, or with a dot in front every name below it. */
  readonly host?: string;
}

const PORT_MAX = 65_535;
const LABELS = /^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/;

export class EgressPolicy {
  readonly #allow: readonly Entry[];
  readonly #deny: readonly Entry[];

  constructor(lists: { allow: readonly Entry[]; deny: readonly Entry[] }) {
    this.#allow = lists.allow;
    this.#deny = lists.deny;
  }

  /** @returns the policy, and one sentence for each entry that cannot be read */
  static parse(lists: { allow?: string; deny?: string }): { policy: EgressPolicy; problems: string[] } {
    const problems: string[] = [];
    const entries = (list: string, text: string): Entry[] =>
      text.split(',').flatMap((part) => {
        const entry = parseEntry(part.trim().toLowerCase());
        if (typeof entry !== 'string') return entry === undefined ? [] : [entry];
        problems.push(`"${part.trim()}" in the ${list} list of the egress ${entry}.`);
        return [];
      });
    const allow = entries('allow', lists.allow ?? '');
    const deny = entries('deny', lists.deny ?? '');
    return { policy: new EgressPolicy({ allow, deny }), problems };
  }

  /** @returns why this target may not be reached, whatever its addresses are, or `undefined` */
  refusal({ host, port }: Target): string | undefined {
    const denied = this.#deny.find((entry) => namesHost(entry, host) && coversPort(entry, port));
    if (denied) return `the operator's list denies ${denied.text}`;
    // Which entry lifts the rule about ports may hang on the address.
    const lifted = this.#allow.some((entry) => entry.port === port);
    return BAD_PORTS.has(port) && !lifted ? `port ${port} is not for HTTP` : undefined;
  }

  /** @returns why this address of the target may not be reached, or `undefined` */
  addressRefusal(target: Target, text: string): string | undefined {
    const parsed = parseAddress(text);
    if (parsed === undefined) return 'it is no address';
    const address = dialled(parsed);
    const carried = carriedIPv4(address)?.address;
    const denied = this.#deny.find(
      (entry) =>
        coversPort(entry, target.port) &&
        (namesAddress(entry, address) || (carried !== undefined && namesAddress(entry, carried))),
    );
    if (denied) return `the operator's list denies ${denied.text}`;
    const allowed = this.#allow.filter(
      (entry) =>
        coversPort(entry, target.port) && (namesHost(entry, target.host) || namesAddress(entry, address)),
    );
    if (BAD_PORTS.has(target.port) && !allowed.some(({ port }) => port !== undefined))
      return `port ${target.port} is not for HTTP`;
    if (allowed.length > 0) return undefined;
    const why = reasonNotPublic(address);
    return why && `it is not public: ${why}`;
  }

  /** Whether the operator vouches for this name. */
  vouchesFor(host: string): boolean {
    return this.#allow.some((entry) => namesHost(entry, host));
  }
}

const coversPort = (entry: Entry, port: number): boolean => entry.port === undefined || entry.port === port;

const namesAddress = ({ range }: Entry, address: Address): boolean =>
  range !== undefined && isWithin(address, range);

/** A dot at the end of a name only says that the name is whole. */
function namesHost({ host }: Entry, name: string): boolean {
  if (host === undefined) return false;
  const bare = name.endsWith('.') ? name.slice(0, -1) : name;
  return host.startsWith('.') ? bare.endsWith(host) : bare === host;
}

/** @returns the entry, `undefined` for an empty one, or what is wrong with it */
function parseEntry(text: string): Entry | string | undefined {
  if (text === '') return undefined;
  const bracketed = /^\[([^\]]*)\](?::(.*))?$/.exec(text);
  const isBareIPv6 = !bracketed && text.split(':').length > 2;
  const plain = isBareIPv6 || bracketed ? undefined : /^([^:]*)(?::(.*))?$/.exec(text);
  const place = bracketed?.[1] ?? plain?.[1] ?? text;
  const portText = bracketed?.[2] ?? plain?.[2];
  const port = Number(portText ?? 1);
  if (!/^\d+$/.test(portText ?? '1') || port < 1 || port > PORT_MAX)
    return `has no port from 1 to ${PORT_MAX} after its colon`;
  const named = { text, ...(portText !== undefined && { port }) };
  const range = parseRange(place);
  if (typeof range === 'string') return range;
  if (range !== undefined) return { ...named, range };
  const name = domainToASCII(place.replace(/^\*\./, ''));
  // URLs read `127.1` and `0x7f.1` as addresses: as names, they would never be met.
  const isName = LABELS.test(name) && isIP(name) === 0;
  if (!isName) return 'is neither a host, an address nor a range of addresses';
  return { ...named, host: place.startsWith('*.') ? `.${name}` : name };
}

/** @returns the range, `undefined` where the text is no range, or what is wrong with it */
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
