/**
 * The operations of the OpenAPI description as methods of the client: names, parameters in order,
 * and the types of what goes in and comes out. The one model of which code and reference are made.
 *
 * `{noun}{Verb}` of an operation is the method `annex.{noun}.{verb}`. Its parameters are those of
 * the path, then the body or else the query, then options; headers, and a query beside a body, are
 * options.
 */
import type { Body, Description, Operation, Parameter, Rules } from './openapi.ts';
import { pageItem, pascalCase, type TypeText } from './type-text.ts';

/** A parameter of a method. */
export interface Argument {
  readonly name: string;
  readonly type: string;
  readonly optional: boolean;
  readonly description?: string | undefined;
}

/** An option of a method that the request has elsewhere, by another name. */
export interface NamedPart {
  /** In the request: `if-match`. */
  readonly name: string;
  /** In the options: `ifMatch`. */
  readonly option: string;
}

export interface Method {
  readonly noun: string;
  readonly verb: string;
  readonly operation: Operation;
  /** In capitals. */
  readonly httpMethod: string;
  readonly path: string;
  /** Names of the path → parameters. */
  readonly pathArguments: ReadonlyMap<string, Argument>;
  readonly body: Argument | undefined;
  readonly isForm: boolean;
  readonly query: Argument | undefined;
  /** The query beside a body: in the options. */
  readonly queryOptions: readonly NamedPart[];
  readonly headers: readonly NamedPart[];
  readonly options: Argument;
  /** Type of the body of a success. */
  readonly answer: string;
  /** How the body of a success is read. */
  readonly answerKind: 'json' | 'text' | 'blob' | 'none';
  /** Type of an item, of a list with pages. */
  readonly item: string | undefined;
  /** Whether `If-None-Match` can leave the answer without a body. */
  readonly mayBeUnchanged: boolean;
  /** Type of an event, where the answer can be a stream of them. */
  readonly event: string | undefined;
}

/** Every operation, in the order of the description. */
export function methodsOf({ paths }: Description, types: TypeText): readonly Method[] {
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) =>
      methodOf(operation, { httpMethod: method.toUpperCase(), path }, types),
    ),
  );
}

function methodOf(
  operation: Operation,
  { httpMethod, path }: Pick<Method, 'httpMethod' | 'path'>,
  types: TypeText,
): Method {
  const noun = camelCase(operation.tags[0] ?? '');
  const verb = decapitalized(operation.operationId.slice(noun.length));
  if (!operation.operationId.startsWith(noun) || verb === '')
    throw new Error(`${httpMethod} ${path}: the operation ${operation.operationId} is not of ${noun}.`);
  const typeName = pascalCase(operation.operationId);
  const body = bodyOf(operation, typeName, types);
  const inQuery = parametersIn(operation, 'query');
  // Lists and streams are methods of their own.
  const isStreamed = Object.values(operation.responses).some(({ content }) => content?.['text/event-stream']);
  const query: Argument | undefined =
    body === undefined && inQuery.length > 0
      ? {
          name: 'query',
          type: types.named(
            `${typeName}Query`,
            objectOf(inQuery.filter(({ name }) => !(isStreamed && name === 'follow'))),
          ),
          optional: inQuery.every(({ required }) => required !== true),
        }
      : undefined;
  return {
    ...{ noun, verb, operation, httpMethod, path, body, query },
    pathArguments: pathArguments(operation, path, types),
    mayBeUnchanged: parametersIn(operation, 'header').some(({ name }) => name === 'if-none-match'),
    isForm: operation.requestBody?.content?.['multipart/form-data'] !== undefined,
    ...optionsOf(operation, { typeName, queryOptions: query ? [] : inQuery }, types),
    ...answerOf(operation, `${typeName}Answer`, types),
  };
}

function pathArguments(operation: Operation, path: string, types: TypeText): ReadonlyMap<string, Argument> {
  const parameters = new Map(parametersIn(operation, 'path').map((each) => [each.name, each]));
  return new Map(
    [...path.matchAll(/([\w-]+)\/\{(\w+)\}/g)].map(([, before = '', name = '']) => {
      const parameter = parameters.get(name);
      const type = types.of(parameter?.schema ?? { type: 'string' });
      const description = parameter?.description ?? parameter?.schema.description;
      return [name, { name: argumentName(before, name), type, optional: false, description }];
    }),
  );
}

/** `integrations/{name}` → `integration`, `deliveries/{id}` → `deliveryId`. */
function argumentName(before: string, name: string): string {
  const one = camelCase(before.replace(/ies$/, 'y').replace(/s$/, ''));
  if (name === 'name') return one;
  return name === 'id' ? `${one}Id` : name;
}

function bodyOf({ requestBody }: Operation, typeName: string, types: TypeText): Argument | undefined {
  const form = requestBody?.content?.['multipart/form-data']?.schema;
  const schema = form ?? requestBody?.content?.['application/json']?.schema;
  if (schema === undefined) return undefined;
  const type = types.named(`${typeName}${form ? 'Form' : 'Body'}`, schema);
  return {
    name: form ? 'form' : 'body',
    type: form ? `FormData | ${type}` : type,
    optional: requestBody?.required === false,
  };
}

function optionsOf(
  operation: Operation,
  { typeName, queryOptions }: { typeName: string; queryOptions: readonly Parameter[] },
  types: TypeText,
): Pick<Method, 'options' | 'headers' | 'queryOptions'> {
  const headers = parametersIn(operation, 'header');
  const optional = (own: readonly Parameter[]) =>
    objectOf(own.map((each) => ({ ...each, name: camelCase(each.name) })));
  const named = [
    ...(queryOptions.length > 0 ? [types.named(`${typeName}Query`, optional(queryOptions))] : []),
    // Headers are the same wherever they are taken: `IfMatch`.
    ...headers.map((header) => types.named(pascalCase(header.name), optional([header]))),
  ];
  const part = ({ name }: Parameter): NamedPart => ({ name, option: camelCase(name) });
  return {
    options: { name: 'options', type: ['Options', ...named].join(' & '), optional: true },
    headers: headers.map(part),
    queryOptions: queryOptions.map(part),
  };
}

function answerOf(
  { responses }: Operation,
  typeName: string,
  types: TypeText,
): Pick<Method, 'answer' | 'answerKind' | 'item' | 'event'> {
  const successes = Object.entries(responses).filter(([status]) => status.startsWith('2'));
  const content: NonNullable<Body['content']> = Object.assign(
    {},
    ...successes.map(([, response]) => response.content),
  );
  const { 'application/json': json, 'text/event-stream': stream, ...others } = content;
  const event = stream && types.of(stream.schema);
  if (json) {
    const pages = (json.schema.anyOf ?? [json.schema]).flatMap((each) => pageItem(each) ?? []);
    const item = pages.length > 0 ? pages.map((each) => types.of(each)).join(' | ') : undefined;
    return { answer: types.named(typeName, json.schema), answerKind: 'json', item, event };
  }
  const [type] = Object.keys(others);
  if (type === undefined) return { answer: 'void', answerKind: 'none', item: undefined, event };
  return type.startsWith('text/')
    ? { answer: 'string', answerKind: 'text', item: undefined, event }
    : { answer: 'Blob', answerKind: 'blob', item: undefined, event };
}

const parametersIn = ({ parameters = [] }: Operation, place: string): readonly Parameter[] =>
  parameters.filter((parameter) => parameter.in === place);

/** Parameters as the schema of an object. */
const objectOf = (parameters: readonly Parameter[]): Rules => ({
  type: 'object',
  properties: Object.fromEntries(
    parameters.map(({ name, schema, description }) => [
      name,
      { ...schema, ...(description && { description }) },
    ]),
  ),
  required: parameters.filter(({ required }) => required).map(({ name }) => name),
});

/** `install-links` → `installLinks`. */
export const camelCase = (text: string): string =>
  text.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());

const decapitalized = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);
