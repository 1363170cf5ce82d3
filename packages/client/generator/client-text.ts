/**
 * The text of `src/generated.ts`: a class for each noun with a method for each route, the types of
 * their requests and answers, and the codes of errors.
 */
import { ERRORS } from '../../../src/errors.ts';
import { doc } from './doc.ts';
import { type Argument, type Method, methodsOf, type NamedPart } from './methods.ts';
import type { Description } from './openapi.ts';
import { pascalCase, TypeText } from './type-text.ts';

const HEAD = `/**
 * Every route of the API as a method, with the types of its request and its answer, from the
 * service's description at \`/v1/openapi.json\`.
 *
 * Generated: \`node packages/client/generate.ts\`.
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
  ].join('\n');
}

function importsText(methods: readonly Method[]): string {
  const values = [
    ...(methods.some(({ item }) => item) ? ["import { type Page, pagedItems } from './paging.ts';\n"] : []),
    ...(methods.some(({ event }) => event)
      ? ["import { type Followed, type FollowOptions } from './follow.ts';\n"]
      : []),
  ];
  return `${values.join('')}import type { Options, Reply, Send } from './request.ts';\n`;
}

function routesText(nouns: readonly string[]): string {
  const members = nouns.map((noun) => `readonly ${noun}: ${pascalCase(noun)}Routes;\n`);
  const values = nouns.map((noun) => `this.${noun} = new ${pascalCase(noun)}Routes(send);\n`);
  return `/** The API, by noun. */
export class Routes {
${members.join('')}
constructor(send: Send) {
${values.join('')}}
}
`;
}

function classText(noun: string, methods: readonly Method[]): string {
  const bodies = methods.flatMap((method) => [
    methodText(method),
    ...(method.item ? [itemsText(method, method.item)] : []),
  ]);
  return `/** \`annex.${noun}\`. */
export class ${pascalCase(noun)}Routes {
readonly #send: Send;

constructor(send: Send) {
this.#send = send;
}

${bodies.join('\n')}}
`;
}

function methodText(method: Method): string {
  const { verb, httpMethod, path, answer, operation } = method;
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
    ...(operation['x-idempotent-by'] ? [`idempotentBy: '${operation['x-idempotent-by']}'`] : []),
    'options',
  ];
  const about = [operation.summary, operation.description]
    .filter(Boolean)
    .map((text) => text?.replace(/\.?$/, '.'));
  return `${doc(about.join(' '), [...tagsOf(method), `\`${httpMethod} ${path}\``])}${verb}(${parametersText(given)}): Reply<${answer}> {
return this.#send('${httpMethod}', '${path}', { ${parts.join(', ')} });
}
`;
}

/** The items of all pages, one after the other. */
function itemsText(method: Method, item: string): string {
  const { verb } = method;
  const name = itemsVerb(verb);
  const before = [...method.pathArguments.values()].map((argument) => argument.name);
  const query = `Omit<${method.query?.type}, 'cursor' | 'page'>`;
  return `${doc(`The items of all pages of \`${verb}\`, read page by page as they are needed.`)}${name}(${parametersText(
    argumentsOf(method).map((each) => (each.name === 'query' ? { ...each, type: query } : each)),
  )}): AsyncIterable<${item}> {
return pagedItems<${query}, ${item}>(query, (page) => this.${verb}(${[...before, 'page', 'options'].join(', ')}));
}
`;
}

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

const tagsOf = ({ pathArguments }: Method): readonly string[] =>
  [...pathArguments.values()].flatMap(({ name, description }) =>
    description ? [`@param ${name} ${description}`] : [],
  );

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
