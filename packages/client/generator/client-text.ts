/**
 * The text of `src/generated.ts`: a class for each noun with a method for each route, the types of
 * their requests and answers, and the codes of errors.
 */
import { ERRORS } from '../../../src/errors.ts';
import { VERSION } from '../../../src/version.ts';
import { doc } from './doc.ts';
import { type Argument, type Method, methodsOf, type NamedPart } from './methods.ts';
import type { Description } from './openapi.ts';
import { pascalCase, TypeText } from './type-text.ts';

const HEAD = `/**
 * Every route of the API as a method, with the types of its request and its answer, from the
 * service's description at \`/v1/openapi.json\`.
 *
 * Generated: \`npx vitest run test/service/client/generated-client.test.ts -u\`.
 */
`;

/** The text of the file, not yet formatted. */
export function clientText(description: Description): string {
  const types = new TypeText();
  const methods = methodsOf(description, types);
  const nouns = Map.groupBy(methods, ({ noun }) => noun);
  const classes = [...nouns].map(([noun, own]) => classText(noun, own));
  return [
    HEAD,
    importsText(methods),
    routesText([...nouns.keys()]),
    ...classes,
    ...types.declarations(),
    codesText(),
    versionText(),
  ].join('\n');
}

function importsText(methods: readonly Method[]): string {
  const isPaged = methods.some(({ item }) => item);
  return `${isPaged ? "import { type Page, pagedItems } from './paging.ts';\n" : ''}import type { Reply } from './reply.ts';
import type { FollowOptions, Options, Requests } from './request.ts';
`;
}

function routesText(nouns: readonly string[]): string {
  const members = nouns.map((noun) => `readonly ${noun}: ${pascalCase(noun)}Routes;\n`);
  const values = nouns.map((noun) => `this.${noun} = new ${pascalCase(noun)}Routes(requests);\n`);
  return `/** The API, by noun. */
export class Routes {
${members.join('')}
constructor(requests: Requests) {
${values.join('')}}
}
`;
}

function classText(noun: string, methods: readonly Method[]): string {
  const bodies = methods.flatMap((method) => [
    methodText(method),
    ...(method.item ? [itemsText(method, method.item)] : []),
    ...(method.event ? [followText(method, method.event)] : []),
  ]);
  return `/** \`annex.${noun}\`. */
export class ${pascalCase(noun)}Routes {
readonly #requests: Requests;

constructor(requests: Requests) {
this.#requests = requests;
}

${bodies.join('\n')}}
`;
}

function methodText(method: Method): string {
  const { verb, httpMethod, path, operation } = method;
  // What code of an integration answers has the type that its caller names.
  const isOfCode = method.answer === 'unknown';
  const answer = `${isOfCode ? 'Answer' : method.answer}${method.mayBeUnchanged ? ' | undefined' : ''}`;
  const given = argumentsOf(method);
  const parts = [
    ...partText(
      'path',
      [...method.pathArguments].map(([name, { name: own }]) => entry(name, own)),
    ),
    ...(method.query ? ['query'] : partText('query', optionEntries(method.queryOptions))),
    ...(method.body ? [method.isForm ? 'form' : 'body'] : []),
    ...partText('headers', optionEntries(method.headers)),
    ...(method.answerKind === 'json' ? [] : [`answer: '${method.answerKind}'`]),
    ...(operation['x-idempotent-by'] ? [`idempotentBy: ${listText(operation['x-idempotent-by'])}`] : []),
    'options',
  ];
  const types = isOfCode ? '<Answer = unknown>' : '';
  const implementation = `${verb}${types}(${parametersText(given)}): Reply<${answer}> {
return this.#requests.send('${httpMethod}', '${path}', { ${parts.join(', ')} });
}
`;
  return `${docOf(method)}${overloadsText(method)}${implementation}`;
}

function docOf({ operation, httpMethod, path, pathArguments }: Method): string {
  const texts = [operation.summary, operation.description].flatMap((text) =>
    text ? text.replace(/\.?$/, '.') : [],
  );
  const tags = [...pathArguments.values()].flatMap(({ name, description }) =>
    description ? [`@param ${name} ${description}`] : [],
  );
  return doc(texts.join(' '), [...tags, `\`${httpMethod} ${path}\``]);
}

/** An answer may have no body, but only to a request with `If-None-Match`. */
function overloadsText(method: Method): string {
  if (!method.mayBeUnchanged) return '';
  const [options, ...before] = argumentsOf(method).toReversed();
  const overload = (own: Partial<Argument>, answer: string): string => {
    const given = [...before.toReversed(), { ...(options ?? method.options), ...own }];
    return `${method.verb}(${signatureText(given)}): Reply<${answer}>;\n`;
  };
  const unconditional = `${options?.type} & { readonly ifNoneMatch?: undefined }`;
  return (
    overload({ type: unconditional }, method.answer) +
    overload({ optional: before.some(({ optional }) => optional) }, `${method.answer} | undefined`)
  );
}

/** The items of all pages, one after the other. */
function itemsText(method: Method, item: string): string {
  const { verb } = method;
  const name = itemsVerb(verb);
  const before = [...method.pathArguments.values()].map((argument) => argument.name);
  const query = without(method.query?.type ?? '', ['cursor', 'page']);
  return `${doc(`The items of all pages of \`${verb}\`, read page by page as they are needed.`)}${name}(${parametersText(
    argumentsOf(method).map((each) => (each.name === 'query' ? { ...each, type: query } : each)),
  )}): AsyncIterable<${item}> {
return pagedItems<${query}, ${item}>(query, (page) => this.${verb}(${[...before, 'page', 'options'].join(', ')}));
}
`;
}

/** The events of a list that can be followed. */
function followText(method: Method, event: string): string {
  const path = [...method.pathArguments].map(([name, { name: own }]) => entry(name, own));
  const parts = [...partText('path', path), ...(method.query ? ['query'] : [])];
  const given = [
    ...method.pathArguments.values(),
    ...(method.query ? [{ ...method.query, type: without(method.query.type, ['cursor', 'page']) }] : []),
    { ...method.options, type: 'FollowOptions' },
  ];
  return `${doc(
    'What is written from now on, as it is written. Connects again after a break, and continues after the last event.',
    [`\`GET ${method.path}\` with \`Accept: text/event-stream\``],
  )}${followVerb(method.verb)}(${parametersText(given)}): AsyncIterable<${event}> {
return this.#requests.follow('${method.path}', { ${parts.join(', ')} }, options);
}
`;
}

const without = (type: string, members: readonly string[]): string =>
  `Omit<${type}, ${members.map((member) => `'${member}'`).join(' | ')}>`;

const listText = (items: readonly string[]): string => `[${items.map((item) => `'${item}'`).join(', ')}]`;

/** `list` → `follow`. */
export const followVerb = (verb: string): string => verb.replace(/^list/, 'follow');

/** `list` → `all`, `listSpaces` → `allSpaces`. */
export const itemsVerb = (verb: string): string => verb.replace(/^list/, 'all');

/** The parameters of a method, in order. */
export const argumentsOf = ({ pathArguments, body, query, options }: Method): readonly Argument[] => [
  ...pathArguments.values(),
  ...(body ? [body] : []),
  ...(query ? [query] : []),
  options,
];

const parametersText = (given: readonly Argument[]): string =>
  given
    .map(({ name, type, optional }) => {
      if (!optional) return `${name}: ${type}`;
      return name === 'options' ? `${name}?: ${type}` : `${name}: ${type} = {}`;
    })
    .join(', ');

/** The same without values. */
const signatureText = (given: readonly Argument[]): string =>
  given.map(({ name, type, optional }) => `${name}${optional ? '?' : ''}: ${type}`).join(', ');

const entry = (name: string, value: string): string => (name === value ? name : `${name}: ${value}`);

const partText = (name: string, entries: readonly string[]): readonly string[] =>
  entries.length === 0 ? [] : [`${name}: { ${entries.join(', ')} }`];

const optionEntries = (parts: readonly NamedPart[]): readonly string[] =>
  parts.map(({ name, option }) => `'${name}': options?.${option}`);

function codesText(): string {
  const codes = Object.entries(ERRORS).map(
    ([code, { meaning }]) =>
      `${doc(meaning)}readonly ${code}: ${ERRORS[code as keyof typeof ERRORS].status};\n`,
  );
  return `/** Code of an error → its HTTP status. */
export interface ErrorStatuses {
${codes.join('')}}

/** Code of an error of Annex's own. */
export type ErrorCode = keyof ErrorStatuses;
`;
}

const versionText = (): string =>
  `/** Version of the client: that of the service whose routes it has. */\nexport const VERSION = '${VERSION}';\n`;
