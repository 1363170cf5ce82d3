/**
 * The hosts that an integration's `fetch` may reach, as listed under `egress` in its manifest.
 *
 * Entries are a host (`api.example.com`), or `*.example.com` for every name below it, each with a
 * port or for all ports. The list can only narrow what the operator allows. There are no address
 * ranges, so that the list shows readers which services the integration uses.
 */

/** Maximum entries; each fetch is compared with all of them. */
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

  /** @param texts entries; an invalid one covers nothing */
  constructor(texts: readonly string[]) {
    this.#entries = texts.flatMap((text) => readEntry(text) ?? []);
  }

  /**
   * Whether a fetch is allowed.
   * @param target host of a URL as serialised by the URL standard,
   * without brackets, and its port
   */
  covers({ host, port }: { readonly host: string; readonly port: number }): boolean {
    // A trailing dot marks a fully qualified name, and is removed.
    const bare = host.endsWith('.') ? host.slice(0, -1) : host;
    return this.#entries.some(
      (entry) =>
        (entry.port === undefined || entry.port === port) &&
        (entry.below ? bare.endsWith(`.${entry.host}`) : bare === entry.host),
    );
  }
}

/**
 * @returns the fault of an entry, a clause that follows its name, or `undefined` where it is valid
 */
export function egressHostFault(text: string): string | undefined {
  if (readEntry(text) !== undefined) return undefined;
  if (text.includes('/')) return 'must be a host without scheme and path, and no range of addresses';
  return 'must be a host such as api.example.com or *.example.com, with a port from 1 to 65535 or without';
}

function readEntry(text: string): Entry | undefined {
  const [, wildcard, place = '', portText] = ENTRY.exec(text.trim()) ?? [];
  const port = portText === undefined ? undefined : Number(portText);
  if (port !== undefined && (port < 1 || port > PORT_MAX)) return undefined;
  // Parsed as the host of a URL, so that other notations of an address and non-ASCII names are
  // normalised as in a fetch.
  const hostname =
    place === '' || /[/?#@\\%\s]/.test(place) ? undefined : URL.parse(`http://${place}/`)?.hostname;
  if (hostname === undefined || hostname.length > HOST_CHARS_MAX) return undefined;
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  const isName = LABELS.test(host) && !/(^|\.)\d+$/.test(host);
  // `*.com` would cover a whole top-level domain.
  if (wildcard !== undefined && !(isName && host.includes('.'))) return undefined;
  if (!isName && host === hostname && !/^[\d.]+$/.test(host)) return undefined;
  return { host, below: wildcard !== undefined, ...(port !== undefined && { port }) };
}
