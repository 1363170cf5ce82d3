/**
 * Reads `wrangler.toml`, `wrangler.json` or `wrangler.jsonc` of a worker, and makes a manifest of
 * it (docs/contract/plain-workers.md#wrangler-files). Pure: what the folder has is handed in.
 *
 * The file comes with a folder from elsewhere: it is bounded, its names are checked as those of a
 * manifest are, and nothing in it is run.
 */
import { type Expression, parseExpressionAt } from 'acorn';
import { parse as parseToml } from 'smol-toml';
import { stringify } from 'yaml';
import { type AnyNode, isNode } from '../../imports/syntax-tree.ts';
import { PLAIN_INTEGRATION_NAME } from '../../model/identifiers.ts';
import { ABSENT_BINDINGS, ENV_NAME } from '../../model/manifest/worker.ts';
import { type Problem, problem, warning } from '../../model/problem.ts';

/** In the order in which Wrangler looks for them. */
export const WRANGLER_FILES = ['wrangler.json', 'wrangler.jsonc', 'wrangler.toml'] as const;
export const WRANGLER_BYTES_MAX = 256 * 1024;
const DEPTH_MAX = 32;

type Values = Readonly<Record<string, unknown>>;

export interface WranglerSource {
  /** Its name. */
  readonly file: string;
  readonly text: string;
  /** Name of the folder, for a worker without a name. */
  readonly folder: string;
  readonly organization: string;
  /** The code where the file names none. */
  readonly main?: string | undefined;
  /** Names that the code reads from `env`, and those of values for development. */
  readonly envNames: readonly string[];
}

/** A manifest, and what the file has that the manifest cannot say. */
export interface ImportedWorker {
  readonly yaml: string;
  readonly name: string;
  readonly problems: readonly Problem[];
}

/** @throws Error that says what is wrong with the text */
export function importWorker(source: WranglerSource): ImportedWorker {
  const config = source.file.endsWith('.toml')
    ? (parseToml(source.text) as Values)
    : jsonValue(parseExpressionAt(source.text.replace(/^\uFEFF/, ' '), 0, { ecmaVersion: 'latest' }));
  if (!isMap(config)) throw new Error('It is no map of keys to values.');
  const found = new Findings(source);
  const name = nameOf(config['name'], source.folder);
  const own = membersOf(config, found);
  const main = config['main'] ?? source.main;
  const declared = new Set([...Object.keys(own.vars), ...own.kv, ...found.absent, 'CONFIGURATION', 'ANNEX']);
  if (own.assets !== undefined) declared.add(String(own.assets['binding'] ?? 'ASSETS'));
  const secrets = source.envNames.filter((one) => ENV_NAME.test(one) && !declared.has(one));
  const manifest = {
    name,
    title: titleOf(name),
    description: `The worker ${name}.`,
    organization: source.organization,
    scopes: [],
    entry: 'request',
    ...(typeof main === 'string' && { script: main.replace(/^\.\//, '') }),
    ...(Object.keys(own.vars).length > 0 && { vars: own.vars }),
    ...(secrets.length > 0 && {
      secrets: Object.fromEntries(secrets.map((one) => [one, `\${{ env.${one} }}`])),
    }),
    ...(own.kv.length > 0 && { kv: own.kv }),
    ...(own.assets && { assets: own.assets }),
    ...(own.crons.length > 0 && { schedules: own.crons.map((cron) => ({ cron })) }),
    ...environmentsOf(config['env'], found),
  };
  if (manifest.script === undefined && own.assets === undefined)
    found.warn('main', 'There is no "main", which names the code.', 'Write "script" to the manifest.');
  const date = config['compatibility_date'];
  const noted = typeof date === 'string' ? `, whose compatibility date is ${JSON.stringify(date)}` : '';
  const yaml = `# Made of ${source.file}${noted}.\n${stringify(manifest)}`;
  return { yaml, name, problems: found.problems };
}

/** What has no counterpart, with its line. */
class Findings {
  readonly problems: Problem[] = [];
  /** Names of bindings that do not exist here. */
  readonly absent: string[] = [];
  readonly #source: WranglerSource;

  constructor(source: WranglerSource) {
    this.#source = source;
  }

  warn(key: string, message: string, hint?: string): void {
    this.problems.push(warning(message, this.#placeOf(key, hint)));
  }

  refuse(key: string, message: string, hint: string): void {
    this.problems.push(problem(message, this.#placeOf(key, hint)));
  }

  /** The first line that begins with the key, else the first that has it. */
  #placeOf(key: string, hint: string | undefined) {
    const { file, text } = this.#source;
    const lines = text.split('\n').map((one) => one.split(/[^\w-]+/).filter((word) => word !== ''));
    const first = lines.findIndex(([word]) => word === key);
    const line = (first === -1 ? lines.findIndex((words) => words.includes(key)) : first) + 1;
    return { file, ...(line > 0 && { line, column: 1 }), ...(hint !== undefined && { hint }) };
  }
}

/** Keys that say how Wrangler works, or that mean nothing here. */
const SILENT = new Set([
  ...['$schema', 'name', 'main', 'env', 'account_id', 'compatibility_date', 'compatibility_flags'],
  ...[
    'workers_dev',
    'preview_urls',
    'observability',
    'logpush',
    'send_metrics',
    'keep_vars',
    'dev',
    'define',
  ],
  ...[
    'minify',
    'no_bundle',
    'node_compat',
    'type',
    'find_additional_modules',
    'base_dir',
    'upload_source_maps',
    'tsconfig',
    'alias',
  ],
  ...[
    'jsx_factory',
    'jsx_fragment',
    'secrets',
    'pages_build_output_dir',
    'zone_id',
    'placement',
    'usage_model',
  ],
]);
const READ = new Set(['vars', 'kv_namespaces', 'assets', 'triggers']);
const ELSEWHERE: Readonly<Record<string, string>> = {
  routes: 'An endpoint has a URL of the service; a proxy in front maps others to it.',
  route: 'An endpoint has a URL of the service; a proxy in front maps others to it.',
  build: 'Run your build before "annex publish".',
  webpack_config: 'Run your build before "annex publish".',
  rules: 'Texts are imported by their extension, or with { type: "text" }.',
  limits: 'Limits are those of the service.',
  migrations: 'It belongs to Durable Objects.',
  site: 'Write "assets: ./folder" to the manifest.',
};

interface WorkerMembers {
  readonly vars: Record<string, unknown>;
  readonly kv: readonly string[];
  readonly assets: Values | undefined;
  readonly crons: readonly string[];
}

function membersOf(config: Values, found: Findings): WorkerMembers {
  for (const key of Object.keys(config)) {
    if (SILENT.has(key) || READ.has(key)) continue;
    if (!Object.hasOwn(ABSENT_BINDINGS, key)) {
      const hint = Object.hasOwn(ELSEWHERE, key) ? ELSEWHERE[key] : undefined;
      found.warn(key, `"${key}" has no counterpart in a manifest.`, hint);
      continue;
    }
    const names = bindingsIn(config[key]);
    found.absent.push(...names);
    const { name = '', instead = '' } = ABSENT_BINDINGS[key] ?? {};
    const list = names.length === 0 ? '' : ` (${names.map((one) => `env.${one}`).join(', ')})`;
    found.refuse(key, `"${key}"${list} is not available: Annex has no ${name}.`, instead);
  }
  return {
    vars: varsOf(config['vars'], found),
    kv: kvOf(config['kv_namespaces'], found),
    assets: assetsOf(config['assets'], found),
    crons: cronsOf(config['triggers'], found),
  };
}

const NAMES_SHOWN = 20;

/** Names of bindings: of a list of them, of a map, or in one of its lists. */
function bindingsIn(value: unknown): string[] {
  const lists = isMap(value) ? [value, ...Object.values(value)] : [value];
  const entries = lists.flatMap((one) => (Array.isArray(one) ? one : isMap(one) ? [one] : []));
  const names = entries.flatMap((one) => (isMap(one) ? [one['binding'] ?? one['name']] : []));
  const texts = names.filter((one): one is string => typeof one === 'string' && ENV_NAME.test(one));
  return [...new Set(texts)].slice(0, NAMES_SHOWN);
}

function varsOf(value: unknown, found: Findings): Record<string, unknown> {
  const vars: Record<string, unknown> = {};
  for (const [name, one] of isMap(value) ? Object.entries(value) : []) {
    if (ENV_NAME.test(name) && name !== '__proto__') vars[name] = one;
    else found.warn('vars', `The name of a variable, ${JSON.stringify(name)}, is none for "vars".`);
  }
  return vars;
}

function kvOf(value: unknown, found: Findings): readonly string[] {
  const kv = (Array.isArray(value) ? value : []).flatMap((one) => {
    const binding = isMap(one) ? one['binding'] : undefined;
    if (typeof binding === 'string' && ENV_NAME.test(binding)) return [binding];
    found.warn('kv_namespaces', 'A namespace of "kv_namespaces" has no name for "kv".');
    return [];
  });
  return [...new Set(kv)];
}

const NOT_FOUND = ['none', 'single-page-application', '404-page'];
const HTML: Readonly<Record<string, string>> = { 'auto-trailing-slash': 'auto', none: 'none' };

function assetsOf(value: unknown, found: Findings): Values | undefined {
  if (!isMap(value)) return undefined;
  const {
    directory,
    binding,
    not_found_handling: notFound,
    html_handling: html,
    run_worker_first: first,
  } = value;
  if (typeof directory !== 'string') {
    found.warn('assets', '"assets" has no "directory".', 'Write "assets: ./folder" to the manifest.');
    return undefined;
  }
  if (html !== undefined && !Object.hasOwn(HTML, String(html)))
    found.warn('html_handling', `"html_handling: ${html}" has no counterpart; "auto" is used.`);
  const rules = Array.isArray(first)
    ? first.filter((one) => typeof one === 'string')
    : first === true
      ? ['/*']
      : [];
  return {
    folder: directory.replace(/^\.\//, '').replace(/\/$/, ''),
    ...(typeof binding === 'string' && { binding }),
    ...(typeof notFound === 'string' && NOT_FOUND.includes(notFound) && { notFound }),
    ...(html === 'none' && { html: 'none' }),
    ...(rules.length > 0 && { workerFirst: rules }),
  };
}

const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

/** The crons of triggers. Cloudflare counts weekdays from 1, which is Sunday. */
function cronsOf(triggers: unknown, found: Findings): readonly string[] {
  const crons = isMap(triggers) ? triggers['crons'] : undefined;
  return (Array.isArray(crons) ? crons : []).flatMap((cron) => {
    const fields = String(cron).trim().split(/\s+/);
    if (fields.length !== 5 || /[LW#?]/.test(fields.join(' ').replace(/[A-Za-z]{3}/g, ''))) {
      found.warn(
        'crons',
        `The cron ${JSON.stringify(cron)} has no counterpart.`,
        'Write "schedules" by hand.',
      );
      return [];
    }
    const [day = '*'] = fields.slice(4);
    const named = day.replace(
      /(^|[-,])([1-7])(?=[-,/]|$)/g,
      (_all, before, n) => before + WEEKDAYS[Number(n) - 1],
    );
    return [[...fields.slice(0, 4), named].join(' ').toLowerCase()];
  });
}

/** Environments of the file, as far as `envs` has them: their variables and stores. */
function environmentsOf(value: unknown, found: Findings): { readonly envs?: Values } {
  const envs = Object.entries(isMap(value) ? value : {}).map(([name, config]) => {
    const { vars, kv } = membersOf(isMap(config) ? config : {}, found);
    return [name, { ...(Object.keys(vars).length > 0 && { vars }), ...(kv.length > 0 && { kv }) }] as const;
  });
  return envs.length === 0 ? {} : { envs: Object.fromEntries(envs) };
}

function nameOf(written: unknown, folder: string): string {
  const plain = String(typeof written === 'string' ? written : folder)
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((part) => part !== '')
    .join('-')
    .slice(0, 63)
    .replace(/-$/, '');
  return PLAIN_INTEGRATION_NAME.test(plain) ? plain : 'worker';
}

const titleOf = (name: string): string => {
  const words = name.replaceAll('-', ' ');
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
};

const isMap = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);

/**
 * The value of JSON with comments, read as the expression of JavaScript that it is. Nothing but
 * literals is a value.
 */
function jsonValue(node: Expression | AnyNode, depth = 0): unknown {
  const { type, value, elements, properties, argument, operator } = node as AnyNode;
  if (depth > DEPTH_MAX) throw new Error(`It is nested deeper than ${DEPTH_MAX} levels.`);
  if (type === 'Literal' && !(value instanceof RegExp) && typeof value !== 'bigint') return value;
  if (type === 'UnaryExpression' && operator === '-' && isNode(argument))
    return -Number(jsonValue(argument, depth + 1));
  if (type === 'ArrayExpression' && Array.isArray(elements))
    return elements.map((one) => jsonValue(one ?? { type: 'none' }, depth + 1));
  if (type !== 'ObjectExpression' || !Array.isArray(properties)) throw new Error('It is no JSON.');
  return Object.fromEntries(
    properties.map((one: AnyNode) => {
      const { key, value: of, computed, method, kind } = one;
      if (one.type !== 'Property' || computed || method || kind !== 'init' || !isNode(key) || !isNode(of))
        throw new Error('It is no JSON.');
      return [String(key['value'] ?? key['name']), jsonValue(of, depth + 1)];
    }),
  );
}
