/**
 * Response headers that speak for more than their answer: for a whole origin or domain, or to a
 * server between the client and this service. Code of tenants may not speak for these, and neither
 * may the product's API for the control listener.
 *
 * A new header of browsers or proxies belongs in this table, or in that of
 * `test/unit/http/withheld-headers.test.ts`, which reads the registries of names.
 */

/** Names, and the reason as a clause. A `*` stands for the rest of a name. */
type Row = readonly [names: readonly string[], why: string];

/** Withheld on every origin. */
const EVERYWHERE: readonly Row[] = [
  [['clear-site-data'], 'clears cookies of the whole domain, those of the host product too'],
  [['set-cookie2'], 'sets a cookie that is not confined'],
  [
    ['secure-session-*', 'sec-session-*'],
    'binds sessions of the whole domain, those of the host product too',
  ],
  [['observe-browsing-topics'], 'has browsers note interests for the whole domain'],
  [['strict-transport-security', 'expect-ct'], 'decides on TLS for the whole origin'],
  [['public-key-pins', 'public-key-pins-report-only'], 'locks browsers out of the origin'],
  [['alt-svc'], 'sends browsers to another server for the whole origin'],
  [['x-accel-redirect'], 'has nginx serve what lies behind it'],
  // `x-accel-buffering` passes: answers that are streams need it, and it concerns no other answer.
  [['x-accel-charset', 'x-accel-expires', 'x-accel-limit-rate'], 'changes what the operator set in nginx'],
  [['x-archive-*'], 'has nginx pack files that lie behind it'],
  [['x-sendfile*', 'x-lighttpd-*'], 'has a web server serve a file, or remove it'],
  [['x-litespeed-*'], 'has LiteSpeed serve another location, or clear its cache'],
  [['x-reproxy-*'], 'has a proxy fetch another URL or file'],
  [['x-appengine-*'], 'has App Engine serve a stored file'],
  [['surrogate-control', 'edge-control'], 'has a cache put other URLs into a page (ESI)'],
  [['fly-replay*'], 'has a proxy send the request to another application'],
  [['x-envoy-*', 'endpoint-load-metrics*'], 'tells a balancer that the service fails, or is loaded'],
];

/** Withheld where endpoints share an origin, besides. */
const ON_SHARED_ORIGINS: readonly Row[] = [
  [['service-worker-allowed'], 'lets a worker of one endpoint serve all the others'],
  [['accept-ch', 'accept-ch-lifetime'], 'asks browsers for hints with every request to the origin'],
  [['critical-ch', 'critical-origin-trial'], 'has browsers repeat requests to the origin'],
  [['origin-trial'], 'switches on features of browsers for the whole origin'],
  [['nel'], 'has browsers report failures of the whole origin'],
  [['report-to'], 'sends reports of the whole origin elsewhere'],
  [['origin-agent-cluster', 'origin-isolation'], 'decides on the process of the whole origin'],
  [['set-login'], 'says for the whole origin whether a visitor is signed in'],
  [['use-as-dictionary'], 'marks requests to other endpoints, and decodes their answers'],
  [['cache-group-invalidation'], 'clears cached answers of other endpoints'],
  [['shared-storage-write'], 'writes into storage of the whole origin'],
  [['attribution-reporting-register-*'], 'registers advertisements in the name of the whole origin'],
];

export type WithheldOn = 'every origin' | 'a shared origin';

/** A table of names, each with its reason. */
export class HeaderTable {
  readonly #named = new Map<string, string>();
  /** Beginnings of names, by their first letter. */
  readonly #beginnings = new Map<string, (readonly [string, string])[]>();

  constructor(rows: readonly Row[]) {
    for (const [names, why] of rows)
      for (const name of names) {
        if (!name.endsWith('*')) {
          this.#named.set(name, why);
          continue;
        }
        const alike = this.#beginnings.get(name.charAt(0)) ?? [];
        this.#beginnings.set(name.charAt(0), [...alike, [name.slice(0, -1), why]]);
      }
  }

  /** @param name in lower case @returns the clause of its row; undefined if it has none */
  why(name: string): string | undefined {
    return (
      this.#named.get(name) ??
      this.#beginnings.get(name.charAt(0))?.find(([text]) => name.startsWith(text))?.[1]
    );
  }

  /** Names as in the table. */
  get names(): readonly string[] {
    return [...this.#named.keys(), ...[...this.#beginnings.values()].flat().map(([text]) => `${text}*`)];
  }
}

export const WITHHELD: Readonly<Record<WithheldOn, HeaderTable>> = {
  'every origin': new HeaderTable(EVERYWHERE),
  'a shared origin': new HeaderTable([...EVERYWHERE, ...ON_SHARED_ORIGINS]),
};
