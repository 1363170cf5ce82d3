/**
 * The types of the SDK's API client, generated from the service's OpenAPI description: the texts of
 * `sandbox/sdk/api-routes.ts` and `api-shapes.ts`, for the routes that runtime tokens may use.
 */
import { docComment } from './doc-comment.ts';

/** The part of a JSON Schema that is read. */
interface Rules {
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Rules[];
  readonly items?: Rules;
  readonly properties?: Readonly<Record<string, Rules>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean;
}

interface Content {
  /** Whether a request needs the body. */
  readonly required?: boolean;
  readonly content?: { readonly 'application/json'?: { readonly schema: Rules } };
}

interface Operation {
  readonly summary?: string;
  readonly 'x-runtime'?: boolean;
  readonly parameters?: readonly {
    readonly in: string;
    readonly name: string;
    readonly required?: boolean;
    readonly schema: Rules;
    readonly description?: string;
  }[];
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Content>>;
}

export interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

const HEAD = `/**
 * The routes of the API that code of an integration may use
 * (docs/contract/environment.md#runtime-tokens),
 * from the service's description at \`/v1/openapi.json\`. Types only.
 *
 * Generated: \`npx vitest run test/service/sdk/api-routes.test.ts -u\`.
 */
`;

const SHAPES_HEAD = `/**
 * Shapes that routes of \`api-routes.ts\` answer with. Types only.
 *
 * Generated: \`npx vitest run test/service/sdk/api-routes.test.ts -u\`.
 */
`;

const ROUTES = `/** Method and path → the parts of a request that the route takes, and its answer. */
export interface ApiRoutes {
`;

/**
 * Shapes with a name of their own: name → members by which a schema is recognised, and what
 * the shape is.
 */
const SHAPES: readonly (readonly [name: string, has: readonly string[], what: string])[] = [
  ['ApiIntegration', ['title', 'previewImages', 'permissions'], 'An integration, as the API shows it.'],
  [
    'ApiInstallation',
    ['id', 'space_selection', 'status'],
    'An installation in an organization, as the API shows it.',
  ],
  [
    'ApiSpaceInstallation',
    ['installation', 'space', 'status'],
    'The installation in a space, as the API shows it.',
  ],
  [
    'ApiSiteInstallation',
    ['installation', 'site', 'status'],
    'The installation in a site, as the API shows it.',
  ],
  [
    'ApiConfigurationForm',
    ['level', 'properties'],
    'What a form for a configuration needs: the declared properties and the values.',
  ],
  [
    'ApiCredentialsLease',
    ['lease', 'credentials'],
    'The right to renew credentials that several nodes share, for a while.',
  ],
  ['ApiWebhookSecret', ['secret', 'createdAt'], 'A new secret of a webhook, shown once.'],
  ['ApiWebhookTest', ['eventId', 'deliveries'], 'A test event, and the number of its deliveries.'],
  ['ApiSpentState', ['isFirst'], 'Whether an OAuth state is used for the first time.'],
  ['ApiListQuery', ['cursor', 'page', 'externalId'], 'Parameters of a list.'],
];

/** Name of the type of lists. */
const PAGE = 'ApiPage';

/** Width of a line of code. */
const COLUMNS = 110;
const PREFIX = '/v1';

/** Routes that runtime tokens may use. */
const routesOf = ({ paths }: Description) =>
  Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([, operation]) => operation['x-runtime'] === true)
      .map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );

/** The text of `api-shapes.ts`. */
export function apiShapeTypes(description: Description): string {
  const routes = routesOf(description);
  const shapes = SHAPES.map(([name, , what]) => {
    const places = routes.flatMap(({ operation }) => [answerOf(operation), parametersOf(operation, 'query')]);
    const found = places.flatMap((rules) => shapesIn(rules, name))[0];
    return `${docComment(what, '')}export interface ${name} ${membersText(found ?? {}, '')}\n`;
  });
  const list = routes.map(({ operation }) => answerOf(operation)).find((rules) => rules && isPage(rules));
  const page = membersText(list ?? {}, '').replace(/(?<=items: readonly )\w+/, 'Item');
  shapes.push(`/** A page of a list. */\nexport interface ${PAGE}<Item> ${page}\n`);
  return `${SHAPES_HEAD}\n${shapes.join('\n')}`;
}

/** The text of `api-routes.ts`. */
export function apiRouteTypes(description: Description): string {
  const texts = routesOf(description).map(({ method, path, operation }) => {
    const name = `${method} ${path.slice(PREFIX.length)}`;
    return `${doc(operation.summary, '  ')}  '${name}': {\n${operationText(operation)}  };\n`;
  });
  const names = [...SHAPES.map(([name]) => name), PAGE]
    .map((name) => `  ${name},\n`)
    .toSorted()
    .join('');
  const shapes = `import type {\n${names}} from './api-shapes.ts';\n\nexport type * from './api-shapes.ts';\n`;
  return `${HEAD}\n${shapes}\n${ROUTES}${texts.join('')}}\n`;
}

/** The schemas of this name in a schema: itself, or the items of the list of which it is a page. */
function shapesIn(rules: Rules | undefined, name: string): readonly Rules[] {
  if (rules === undefined) return [];
  return nameOf(rules) === name ? [rules] : shapesIn(rules.properties?.['items']?.items, name);
}

function nameOf({ properties }: Rules): string | undefined {
  const isOf = (member: string) => properties !== undefined && Object.hasOwn(properties, member);
  return SHAPES.find(([, has]) => has.every(isOf))?.[0];
}

const isPage = ({ properties = {} }: Rules): boolean =>
  properties['items'] !== undefined && properties['next'] !== undefined;

function operationText(operation: Operation): string {
  const { requestBody } = operation;
  // Parameters of the path are in the name of the route.
  const parts: readonly [string, Rules | undefined][] = [
    ['query', parametersOf(operation, 'query')],
    ['headers', parametersOf(operation, 'header')],
    [requestBody?.required === false ? 'body?' : 'body', schemaOf(requestBody)],
    ['answer', answerOf(operation)],
  ];
  return parts
    .filter(([name, rules]) => name === 'answer' || Object.keys(rules?.properties ?? {}).length > 0)
    .map(([name, rules]) => `    readonly ${name}: ${typeText(rules, '    ')};\n`)
    .join('');
}

/** The parameters of a request in its query, or in its headers. */
function parametersOf({ parameters = [] }: Operation, place: 'query' | 'header'): Rules {
  const own = parameters.filter((parameter) => parameter.in === place);
  return {
    type: 'object',
    properties: Object.fromEntries(
      own.map(({ name, schema, description }) => [name, { ...schema, ...(description && { description }) }]),
    ),
    required: own.filter(({ required }) => required).map(({ name }) => name),
  };
}

function answerOf({ responses }: Operation): Rules | undefined {
  return schemaOf(Object.entries(responses).find(([status]) => /^2/.test(status))?.[1]);
}

const schemaOf = (content: Content | undefined): Rules | undefined =>
  content?.content?.['application/json']?.schema;

function typeText(rules: Rules | undefined, indent: string): string {
  if (rules === undefined || rules.type === 'null') return 'undefined';
  // `next` of lists: its first form is that for runtime tokens. A drawing has no type.
  if (rules.anyOf)
    return rules.anyOf.some(({ type }) => type === 'string') ? typeText(rules.anyOf[0], indent) : 'unknown';
  if (rules.const !== undefined) return `'${rules.const}'`;
  if (rules.enum) return rules.enum.map((value) => `'${value}'`).join(' | ');
  if (rules.type === 'array') {
    const item = typeText(rules.items, indent);
    return `readonly ${item.includes(' | ') && !item.endsWith('}') ? `(${item})` : item}[]`;
  }
  if (rules.type === 'object') return objectText(rules, indent);
  if (rules.type === 'integer' || rules.type === 'number') return 'number';
  return rules.type === 'string' || rules.type === 'boolean' ? rules.type : 'unknown';
}

function objectText(rules: Rules, indent: string): string {
  const { properties = {}, additionalProperties } = rules;
  const members = Object.entries(properties);
  if (members.length === 0)
    return additionalProperties === true
      ? 'Readonly<Record<string, unknown>>'
      : 'Readonly<Record<never, never>>';
  const item = isPage(rules) && properties['items']?.items;
  if (item) return `${PAGE}<${typeText(item, indent)}>`;
  return nameOf(rules) ?? membersText(rules, indent);
}

function membersText({ properties = {}, required = [] }: Rules, indent: string): string {
  const inner = `${indent}  `;
  const lines = Object.entries(properties).map(([name, member]) => {
    const key = /^\w+$/.test(name) ? name : `'${name}'`;
    const start = `${inner}readonly ${key}${required.includes(name) ? '' : '?'}:`;
    const type = typeText(member, inner);
    const line = `${start} ${type};`;
    const isWide = !type.includes('\n') && type.includes(' | ') && line.length > COLUMNS;
    const broken = `${start}\n${type
      .split(' | ')
      .map((part) => `${inner}  | ${part}`)
      .join('\n')};`;
    return `${doc(member.description, inner)}${isWide ? broken : line}\n`;
  });
  return `{\n${lines.join('')}${indent}}`;
}

const doc = (text: string | undefined, indent: string): string =>
  text === undefined ? '' : docComment(text.replace(/\.?$/, '.'), indent);
