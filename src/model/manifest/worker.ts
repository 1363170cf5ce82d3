/**
 * The members of a manifest for workers that know nothing of envelopes
 * (docs/contract/plain-workers.md): which requests the code gets, and what its `env` holds.
 */
import {
  byDefault,
  checked,
  choice,
  type Field,
  type JsonSchema,
  type Members,
  map,
  optional,
  type ReadOf,
  text,
  texts,
} from './field.ts';
import type { YamlFields } from './yaml-fields.ts';

/** A name in `env`: a member of a JavaScript object, so it is an identifier. */
export const ENV_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;
const ENV_NAME_WANTED = 'letters, digits and "_", at most 64, not a digit first';
/** What `env` holds whatever the manifest says. */
const OWN_NAMES: readonly string[] = ['CONFIGURATION', 'ANNEX'];

const VARS_MAX = 100;
const KV_MAX = 20;
const PATTERNS_MAX = 100;
const PATH_CHARS_MAX = 200;

export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue };

const ENTRY = choice(
  {
    envelope: 'Every event arrives as an envelope, `POST /v1`, or through `createIntegration` of the SDK.',
    request: 'Requests arrive as they were sent, with the path below the endpoint.',
  },
  'What the default export of the code receives.',
);

const VARS: Field<Readonly<Record<string, JsonValue>>> = {
  schema: {
    type: 'object',
    description: 'Name → value in `env`: text, a number, or any JSON. Secrets belong in `secrets`.',
    propertyNames: { type: 'string', pattern: ENV_NAME.source },
    maxProperties: VARS_MAX,
  },
  read(manifest, key) {
    const fields = manifest.map(key);
    const names = fields?.keys() ?? [];
    if (names.length > VARS_MAX)
      manifest.error(key, `"vars" has ${names.length} entries; at most ${VARS_MAX} are allowed.`);
    const vars: [string, JsonValue][] = [];
    for (const name of names) {
      if (ENV_NAME.test(name)) vars.push([name, fields?.raw(name) as JsonValue]);
      else fields?.error([name], `The name of a variable must be ${ENV_NAME_WANTED}.`);
    }
    return Object.fromEntries(vars);
  },
  empty: {},
};

/** Names of folders, without any that is hidden or leads elsewhere. */
const FOLDER = /^(?:\.\/)?(?!\.)[^\p{Cc}\u2028\u2029/\\:]+(?:\/(?!\.)[^\p{Cc}\u2028\u2029/\\:]+)*\/?$/u;
const FOLDER_FIELD = checked(
  text('Folder beside the manifest whose files are served.', {
    pattern: FOLDER,
    wanted: 'a folder beside the manifest, such as "./public"',
    charsMax: PATH_CHARS_MAX,
  }),
  (folder) => folder.replace(/^\.\//, '').replace(/\/$/, ''),
);

const ASSETS_MEMBERS = {
  folder: FOLDER_FIELD,
  binding: byDefault(
    text('Name in `env` of what fetches a file.', { pattern: ENV_NAME, wanted: ENV_NAME_WANTED }),
    'ASSETS',
  ),
  notFound: byDefault(
    choice(
      {
        none: 'The worker answers.',
        'single-page-application': 'A page that a browser opens is /index.html.',
        '404-page': 'The nearest 404.html.',
      },
      'What answers a path without a file.',
    ),
    'none' as const,
  ),
  html: byDefault(
    choice(
      {
        auto: '/about serves about.html, /docs/ serves docs/index.html; other spellings lead there.',
        none: 'Each file is served at its own path alone.',
      },
      'Which paths serve pages.',
    ),
    'auto' as const,
  ),
  workerFirst: byDefault(
    texts('A path such as /api/*; ! before it takes paths out.', {
      description: 'The paths that the worker answers before a file does; ["/*"] for all.',
      pattern: /^!?\/\S*$/,
      wanted: 'a path that begins with "/"',
      fault: (path) => (path.split('*').length > 2 ? 'must have one "*" at most' : undefined),
      charsMax: PATH_CHARS_MAX,
      max: PATTERNS_MAX,
    }),
  ),
};

/** Static files of a version. */
export type Assets = ReadOf<typeof ASSETS_MEMBERS>;

const ASSETS_MAP = map(ASSETS_MEMBERS, 'Files that are served before the worker is asked.');
const ASSETS: Field<Assets> = {
  schema: { anyOf: [FOLDER_FIELD.schema, ASSETS_MAP.schema], description: 'Static files.' } as JsonSchema,
  read(fields, key) {
    if (typeof fields.raw(key) !== 'string') return ASSETS_MAP.read(fields, key);
    const folder = FOLDER_FIELD.read(fields, key);
    if (folder === undefined) return undefined;
    return { folder, binding: 'ASSETS', notFound: 'none', html: 'auto', workerFirst: [] };
  },
};

export const WORKER = {
  entry: optional(ENTRY),
  vars: optional(VARS),
  kv: optional(
    texts('Name in `env` of a store of keys and values.', {
      description: 'Stores of keys and values, in the storage of the installation.',
      pattern: ENV_NAME,
      wanted: ENV_NAME_WANTED,
      max: KV_MAX,
      unique: true,
    }),
  ),
  assets: optional(ASSETS),
};

/** What Workers bind and Annex does not have. */
export interface AbsentBinding {
  /** Its name, at the beginning of a sentence. */
  readonly name: string;
  readonly instead: string;
}

const SERVICE = 'Call it with fetch, at its own URL.';
const ROWS = 'Keep rows in a database that is reached with fetch, or values in "kv".';

/** Members of a configuration of Workers that declare what does not exist here. */
export const ABSENT_BINDINGS: Readonly<Record<string, AbsentBinding>> = {
  ai: { name: 'Workers AI', instead: 'Call a provider of models with fetch.' },
  ai_search: { name: 'AI Search', instead: 'Call a search service with fetch.' },
  analytics_engine_datasets: { name: 'Analytics Engine', instead: 'Send what is counted with fetch.' },
  browser: { name: 'Browser Rendering', instead: 'Call a service that renders pages with fetch.' },
  cloudchamber: { name: 'Containers', instead: SERVICE },
  containers: { name: 'Containers', instead: SERVICE },
  d1_databases: { name: 'D1', instead: ROWS },
  dispatch_namespaces: { name: 'Workers for Platforms', instead: SERVICE },
  durable_objects: {
    name: 'Durable Objects',
    instead: 'Keep state in "kv", or with conditions in env.ANNEX.storage.update.',
  },
  hyperdrive: { name: 'Hyperdrive', instead: ROWS },
  images: { name: 'Images', instead: 'Call a service that transforms images with fetch.' },
  media: { name: 'Media Transformations', instead: SERVICE },
  mtls_certificates: { name: 'mTLS certificates', instead: 'Call through a proxy that has the certificate.' },
  pipelines: { name: 'Pipelines', instead: 'Send records with fetch.' },
  queues: { name: 'Queues', instead: 'Queue a task: env.ANNEX.integration.queueTask({ task }).' },
  r2_buckets: { name: 'R2', instead: 'Keep files in a store that is reached with fetch, as S3 is.' },
  ratelimits: { name: 'Rate Limiting', instead: 'Count in env.ANNEX.storage.increment.' },
  secrets_store_secrets: { name: 'Secrets Store', instead: 'Declare the values in "secrets".' },
  send_email: { name: 'Email sending', instead: 'Call a provider of mail with fetch.' },
  services: { name: 'Service bindings', instead: SERVICE },
  stream: { name: 'Stream', instead: SERVICE },
  tail_consumers: { name: 'Tail Workers', instead: 'Follow the log: annex tail.' },
  unsafe: { name: 'Unsafe bindings', instead: 'Remove it.' },
  vectorize: { name: 'Vectorize', instead: 'Call a vector database with fetch.' },
  version_metadata: {
    name: 'Version metadata',
    instead: 'Read env.ANNEX.environment.integration.version.',
  },
  worker_loaders: { name: 'Dynamic workers', instead: 'Publish them as integrations of their own.' },
  workflows: { name: 'Workflows', instead: 'Queue tasks: env.ANNEX.integration.queueTask({ task }).' },
};

type WorkerManifest = ReadOf<typeof WORKER> & {
  readonly secrets?: Readonly<Record<string, string>>;
};

/** Whether a manifest says that its code gets requests; undefined where it says nothing. */
export function takesRequests({ entry, vars, kv, assets }: WorkerManifest): boolean | undefined {
  if (entry !== undefined) return entry === 'request';
  return (vars ?? kv ?? assets) === undefined ? undefined : true;
}

/** Checks what the members of a worker mean together. */
export function checkWorker(manifest: WorkerManifest, fields: YamlFields): void {
  const { entry, vars = {}, kv = [], assets, secrets = {} } = manifest;
  if (entry === 'envelope') {
    for (const key of ['vars', 'kv', 'assets'] as const)
      if (fields.has(key))
        fields.error(key, `"${key}" has no meaning with "entry: envelope".`, 'Write "entry: request".');
  }
  if (!takesRequests(manifest)) return;
  const names = [
    ...Object.keys(secrets).map((name) => [name, ['secrets', name]] as const),
    ...Object.keys(vars).map((name) => [name, ['vars', name]] as const),
    ...kv.map((name, index) => [name, ['kv', index]] as const),
    ...(assets ? [[assets.binding, ['assets']] as const] : []),
  ];
  const seen = new Set(OWN_NAMES);
  for (const [name, at] of names) {
    if (seen.has(name)) fields.error(at, `"${name}" is already the name of something else in env.`);
    seen.add(name);
  }
}

/** Rows that refuse bindings which do not exist, in the manifest of a worker. */
export const absentMembers = (fields: YamlFields): Members =>
  fields.raw('entry') === 'request' || ['vars', 'kv', 'assets'].some((key) => fields.has(key))
    ? ABSENT_MEMBERS
    : {};

const ABSENT_MEMBERS: Members = Object.fromEntries(
  Object.entries(ABSENT_BINDINGS).map(([key, { name, instead }]) => {
    const read = (fields: YamlFields) =>
      fields.error(key, `"${key}" is not available: Annex has no ${name}.`, instead);
    return [key, optional<never>({ schema: false, read })];
  }),
);

/** What the bundle of a worker is made from, beside its code. */
export interface WorkerSettings {
  /** Undefined where the manifest leaves it to the code. */
  readonly takesRequests: boolean | undefined;
  readonly vars: Readonly<Record<string, JsonValue>>;
  /** Names of secrets. */
  readonly secrets: readonly string[];
  readonly kv: readonly string[];
  /** Name in `env` of the static files. */
  readonly assets?: string;
  /** Id of a schedule → its cron. */
  readonly crons: Readonly<Record<string, string>>;
}
