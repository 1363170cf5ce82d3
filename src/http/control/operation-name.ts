/**
 * Names of operations: the noun, which is the tag of a route in the OpenAPI description, and the
 * verb. Generated clients group methods by them: `installations` and `pause` for
 * `POST /v1/integrations/{name}/installations/{id}/pause`.
 *
 * A rule of method and path, with a table for what the rule would name badly. A route that neither
 * names stops the start of the service, so that no route is without a name.
 */

export interface OperationName {
  /** Plural, kebab-case: `install-links`. */
  readonly noun: string;
  /** `list`, `get`, `rotateWebhookSecret`. */
  readonly verb: string;
}

/** Last fixed segment of a path that is a resource → its noun. */
const NOUNS: ReadonlyMap<string, string> = new Map([
  ...['integrations', 'versions', 'limits', 'secrets', 'images', 'tasks', 'installations'].map(same),
  ...['spaces', 'sites', 'blocks', 'logs', 'audit', 'events', 'deliveries', 'statement-keys'].map(same),
  ['tokens', 'tokens'],
  ['install-link', 'install-links'],
  ['install-links', 'install-links'],
]);

/** Nouns below others only: elsewhere the segment belongs to the verb. */
const PARENTS: Readonly<Record<string, string>> = { spaces: 'installations', sites: 'installations' };

/** Nouns of which there is one, so that `GET` is no list. */
const SINGLE = new Set(['limits']);

/** Verbs of a resource itself: of its list, and of one of it. */
const VERBS_OF_LIST: Readonly<Record<string, string>> = {
  GET: 'list',
  POST: 'create',
  PUT: 'set',
  DELETE: 'delete',
};
const VERBS_OF_ONE: Readonly<Record<string, string>> = {
  GET: 'get',
  PATCH: 'update',
  PUT: 'set',
  DELETE: 'delete',
};

/** Method, noun, and what follows it in the path → verb, where no rule has a good one. */
const VERBS: Readonly<Record<string, string>> = {
  'POST integrations': 'publish',
  'GET integrations/spaces': 'listSpaces',
  'GET integrations/sites': 'listSites',
  'POST tasks': 'queue',
  'POST events': 'post',
  'POST blocks/markdown': 'toMarkdown',
  'POST blocks/parse': 'parseMarkdown',
};

/** Method and what follows the noun, for installations, spaces and sites alike. */
const VERBS_OF_TARGETS: Readonly<Record<string, string>> = {
  'GET render': 'getRendering',
  'POST tokens': 'createToken',
  'POST completions': 'getCompletions',
  'POST webhook-test': 'testWebhook',
  'POST webhook-secret/rotate': 'rotateWebhookSecret',
  'POST credentials/lease': 'leaseCredentials',
  'DELETE credentials/lease': 'releaseCredentials',
  'POST credentials/states': 'spendState',
  'POST visitor-authentication': 'authenticateVisitor',
  'POST content-sources/compute': 'computeContent',
};

/**
 * The name of a route's operation.
 *
 * @param method in capitals
 * @param path with parameters as `:name`
 */
export function operationName(method: string, path: string): OperationName {
  const segments = path.split('/').filter((segment) => segment !== '' && segment !== 'v1');
  const at = segments.findLastIndex((segment, index) => isNoun(segments, segment, index));
  const noun = NOUNS.get(segments[at] ?? '');
  const ofOne = isParameter(segments[at + 1]);
  const rest = segments.slice(at + 1).filter((segment) => !isParameter(segment));
  const verb = noun && verbOf(method, { noun, ofOne, rest });
  if (noun === undefined || verb === undefined)
    throw new Error(`${method} ${path} has no name: add its noun or its verb to operation-name.ts.`);
  return { noun, verb };
}

function verbOf(
  method: string,
  { noun, ofOne, rest }: { noun: string; ofOne: boolean; rest: readonly string[] },
): string | undefined {
  const named = VERBS[[`${method} ${noun}`, ...rest].join('/')];
  if (named !== undefined && !(rest.length === 0 && ofOne)) return named;
  if (rest.length === 0) {
    if (method === 'GET' && SINGLE.has(noun)) return 'get';
    return (ofOne ? VERBS_OF_ONE : VERBS_OF_LIST)[method];
  }
  const ofTarget = VERBS_OF_TARGETS[`${method} ${rest.join('/')}`];
  if (ofTarget !== undefined) return ofTarget;
  const words = camelCase(rest.join('-'));
  if (method === 'GET') return `get${capitalized(words)}`;
  // `POST …/pause`: the segment is a verb.
  return method === 'POST' && rest.length === 1 ? words : undefined;
}

function isNoun(segments: readonly string[], segment: string, index: number): boolean {
  if (!NOUNS.has(segment)) return false;
  // `{installation}/tokens` is a verb of the installation.
  if (segment === 'tokens') return index === 0;
  const parent = PARENTS[segment];
  return parent === undefined || segments.slice(0, index).includes(parent);
}

const isParameter = (segment = ''): boolean => /^[:*]/.test(segment);

/** `install-links` → `installLinks`. */
export const camelCase = (text: string): string =>
  text.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());

export const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

function same(word: string): [string, string] {
  return [word, word];
}
