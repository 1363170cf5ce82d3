/**
 * The table of settings: flags, defaults and the texts of `--help`. It reads no value:
 * `read-settings.ts` does, and `config.ts` checks them.
 */
export interface Setting {
  /** Name of the flag, without its dashes. */
  readonly flag: string;
  /** Only the variable sets it: `ps` shows flags to all users. No message contains its value. */
  readonly isSecret?: true;
  /** Only a flag without a value sets it: a variable would also apply to later starts. */
  readonly isSwitch?: true;
  readonly value: string;
  readonly help: string;
}

/** In the order of `--help`. */
export const SETTINGS: readonly Setting[] = [
  { flag: 'data', value: './data', help: 'folder for the database, keys and the first admin token' },
  {
    flag: 'vault-key-file',
    value: '',
    help: 'file of the keys that secrets are sealed with, made at the first start (default: vault.key in --data)',
  },
  {
    flag: 'vault-keys',
    value: '',
    isSecret: true,
    help: 'the keys of the vault themselves, in base64url, separated by commas; the first one seals',
  },
  {
    flag: 'database-url',
    value: '',
    isSecret: true,
    help: 'the PostgreSQL database, as postgres://user:password@host/name (default: a SQLite file in --data)',
  },
  {
    flag: 'database-connections',
    value: '10',
    help: 'connections of one node to PostgreSQL, at most',
  },
  {
    flag: 'workers',
    value: '1',
    help: 'nodes on this machine behind one pair of ports; more than one needs ANNEX_DATABASE_URL',
  },
  { flag: 'control-host', value: '127.0.0.1', help: 'address of the control listener (API, metrics)' },
  { flag: 'control-port', value: '7700', help: 'its port; 0 picks a free one' },
  {
    flag: 'public-host',
    value: '0.0.0.0',
    help: 'address of the public listener (endpoints of installations)',
  },
  { flag: 'public-port', value: '7701', help: 'its port; 0 picks a free one' },
  {
    flag: 'public-url',
    value: '',
    help: 'base URL of endpoints, as clients reach them (default: the public listener)',
  },
  {
    flag: 'content-url',
    value: '',
    help: 'the same on another host, whose endpoints get and set no cookies (default: --public-url)',
  },
  {
    flag: 'api-url',
    value: '',
    help: 'base URL of the API, as integrations reach it, with or without /v1 (default: the control listener)',
  },
  {
    flag: 'app-url',
    value: '',
    help: "base URL of the host product's pages for people, for urls.app of environments",
  },
  {
    flag: 'oauth-callback',
    value: 'off',
    help: 'one redirect URL for OAuth, /oauth/{integration}/callback: on (below --public-url), or the origin that it is on',
  },
  {
    flag: 'product-api',
    value: '',
    help: "base of the product's own API: calls of integrations that Annex does not serve are forwarded to it",
  },
  {
    flag: 'product-scopes',
    value: '',
    help: 'file, JSON or YAML, of the scopes that calls of the product API need',
  },
  {
    flag: 'event-types',
    value: '',
    help: 'file, YAML or JSON, of all event types of the product; the API does not change them then',
  },
  {
    flag: 'level-names',
    value: '',
    help: "the product's words for spaces and sites in what people see, as space=Project,site=Shop",
  },
  {
    flag: 'control-names',
    value: '',
    help: 'host names by which the control listener may be addressed, beside IP addresses, localhost and that of --api-url',
  },
  {
    flag: 'trusted-proxies',
    value: '',
    help: 'addresses and ranges of proxies whose X-Forwarded-For is trusted, as 10.0.0.0/8,127.0.0.1',
  },
  {
    flag: 'egress-allow',
    value: '',
    help: 'hosts and address ranges that fetch may reach although they are not public, as 10.1.0.0/16,db.internal:8080',
  },
  { flag: 'egress-deny', value: '', help: 'hosts and address ranges that fetch may not reach' },
  { flag: 'egress-only', value: '', help: 'the only public hosts and address ranges that fetch may reach' },
  { flag: 'egress-ports', value: '', help: 'ports that fetch may reach, as 80,443 (default: all for HTTP)' },
  {
    flag: 'egress-proxy',
    value: '',
    help: 'HTTP proxy of fetches and webhooks, as http://proxy.internal:3128; with a password, set ANNEX_EGRESS_PROXY',
  },
  {
    flag: 'egress-manifest',
    value: 'optional',
    help: 'required: an integration reaches only hosts that its manifest lists',
  },
  {
    flag: 'webhook-http',
    value: 'refuse',
    help: 'allow: webhooks may have receivers with http, not only with https',
  },
  {
    flag: 'webhook-disable-after',
    value: '',
    help: 'time after which a webhook that is failing is disabled, as 12h or 5d; never by default',
  },
  {
    flag: 'webhook-disable-on-gone',
    value: 'off',
    help: 'on: a webhook whose receiver answers 410 is disabled',
  },
  {
    flag: 'webhook-retries',
    value: 'contract',
    help: 'when webhooks are retried where nothing else is chosen: contract (4 requests), hours, days, or delays, as 10s,5m,2h',
  },
  {
    flag: 'webhook-signature',
    value: 'platform',
    help: 'how webhooks are signed where nothing else is chosen: platform (X-Platform-Signature), standard (Standard Webhooks) or both',
  },
  {
    flag: 'webhook-certificate',
    value: '',
    help: 'file, PEM, of the certificate that receivers of webhooks are shown where they ask for one',
  },
  { flag: 'webhook-certificate-key', value: '', help: 'file, PEM, of its private key' },
  {
    flag: 'webhook-header-prefix',
    value: 'X-Platform',
    help: 'beginning of the names of the headers of webhooks and notices, as X-Acme',
  },
  {
    flag: 'notify-url',
    value: '',
    help: 'URL of the product that gets notices: webhooks that fail, connections that are lost and others (docs/contract/notices.md)',
  },
  {
    flag: 'notify-secret',
    value: '',
    isSecret: true,
    help: 'the secret that signs notices, of 24 to 256 characters; two, separated by a comma, sign both',
  },
  {
    flag: 'internal-organizations',
    value: '',
    help: 'organizations, or integrations of them, that may have the scopes site:script:inject and site:script:cookies, as acme,other/analytics',
  },
  {
    flag: 'built-ins',
    value: 'publish',
    help: 'none: the integrations that come with Annex are not published when it starts',
  },
  {
    flag: 'marketplace',
    value: 'open',
    help: 'reviewed: versions of public integrations wait until the operator approves them',
  },
  { flag: 'console', value: 'on', help: 'off: the control listener does not serve the console' },
  { flag: 'portal', value: 'on', help: 'off: the control listener does not serve the portal' },
  {
    flag: 'portal-frames',
    value: '',
    help: 'origins whose pages may frame the portal, as https://app.example.com,https://admin.example.com',
  },
  {
    flag: 'cells',
    value: '',
    help: 'child processes for tenant code, of each worker (default: as many as cores, from 2 to 8, shared out to the workers)',
  },
  {
    flag: 'cell-sandbox',
    value: 'auto',
    help: 'bubblewrap around each cell: auto (where it works), required or off',
  },
  {
    flag: 'cell-user',
    value: '',
    help: 'first of the 576 user ids of cells and bundlers, for each worker, where the host is root (default: 60600, or 65600 with several workers)',
  },
  { flag: 'cell-jitless', value: 'off', help: 'on: V8 in cells interprets code and never compiles it' },
  {
    flag: 'accept-loss',
    value: '',
    isSwitch: true,
    help: 'start with a damaged write-ahead log: commits in it are lost, and the log is kept',
  },
];
