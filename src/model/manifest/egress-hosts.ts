/**
 * The hosts that an integration's `fetch` may reach, as its manifest lists them under `egress` (an extension of ours).
 *
 * Entries are a host (`api.example.com`), or `*.example.com` for every name below it, each with a port or for all. They say
 * what the author means to reach and can only narrow what the operator lets through. There are no ranges of addresses: who
 * reads the list wants to know whom the integration talks to.
 */

/** More than an integration talks to; each fetch is held against all of them. */
export const EGRESS_HOSTS_MAX = 100;
const HOST_CHARS_MAX = 253;
const ENTRY = /^(\*\.)?(\[[^\]]*\]|[^:[\]]+)(?::(\d{1,5}))?$/;
const LABELS = /^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/;
const PORT_MAX = 65_535;

interface Entry {
  readonly host: string;
  readonly below: boolean;
  readonly port?: number;
}

export class EgressHosts {
  readonly #entries: readonly Entry[];

  /** @param texts entries without a fault; what has one covers nothing */
  constructor(texts: readonly string[]) {
    this.#entries = texts.flatMap((text) => readEntry(text) ?? []);
  }

  /** @param target host of a URL as the URL standard writes it, without brackets, and its port */
  covers({ host, port }: { readonly host: string; readonly port: number }): boolean {
    // A dot at the end of a name only says that the name is whole.
    const bare = host.endsWith('.') ? host.slice(0, -1) : host;
    return this.#entries.some(
      (entry) =>
        (entry.port === undefined || entry.port === port) &&
        (entry.below ? bare.endsWith(`.${entry.host}`) : bare === entry.host),
    );
  }
}

/** @returns what is wrong with an entry of the list, to follow its name, or `undefined` */
export function egressHostFault(text: string): string | undefined {
  if (readEntry(text) !== undefined) return undefined;
  if (text.includes('/')) return 'must be a host without scheme and path, and no range of addresses';
  return 'must be a host such as api.example.com or *.example.com, with a port from 1 to 65535 or without';
}

function readEntry(text: string): Entry | undefined {
  const [, wildcard, place = '', portText] = ENTRY.exec(text.trim()) ?? [];
  const port = portText === undefined ? undefined : Number(portText);
  if (port !== undefined && (port < 1 || port > PORT_MAX)) return undefined;
  // Read as a URL's host is: other notations of an address, and names beyond ASCII, end up as the fetch will have them.
  const hostname =
    place === '' || /[/?#@\\%\s]/.test(place) ? undefined : URL.parse(`http://${place}/`)?.hostname;
  if (hostname === undefined || hostname.length > HOST_CHARS_MAX) return undefined;
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  const isName = LABELS.test(host) && !/(^|\.)\d+$/.test(host);
  // `*.com` would be half the internet.
  if (wildcard !== undefined && !(isName && host.includes('.'))) return undefined;
  if (!isName && host === hostname && !/^[\d.]+$/.test(host)) return undefined;
  return { host, below: wildcard !== undefined, ...(port !== undefined && { port }) };
}
