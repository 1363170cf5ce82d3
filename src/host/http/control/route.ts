/**
 * A route of the API is one row: operation, path, schemas, rights and rate, beside its handler.
 *
 * `registerRoutes` makes of it what validates requests, bounds them, counts them, and describes
 * them; names of clients' methods, the OpenAPI description and the client follow from the same row.
 * A row that forgets `forRuntime` is closed to tenants' code, and one that forgets its rate is
 * counted as an order.
 *
 * A body is used as it is: no member is dropped, no string is converted. Query strings and paths
 * contain only text, so numbers are converted there. A body whose schema is optional may be left
 * out, and is an empty object then.
 */
import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  FastifySchema,
  FastifySchemaCompiler,
  HTTPMethods,
  onRequestAsyncHookHandler,
} from 'fastify';
import Type, { type Static, type TObject, type TProperties, type TSchema } from 'typebox';
import Value from 'typebox/value';
import { AnnexError } from '../../../errors.ts';
import type { LimitName, Limits } from '../../../limits.ts';
import { isTooDeep, JSON_DEPTH_MAX } from '../../../model/json-depth.ts';
import { jsonFault } from '../../../model/json-fault.ts';
import { limitError } from '../../../model/limit-met.ts';
import type { PortalView } from '../../../model/portal.ts';
import type { TokenRight } from '../../../model/principal.ts';
import type { Problem } from '../../../model/problem.ts';
import { schemaCheck } from '../../../model/schema-check.ts';
import { faultText, type SchemaFault } from '../../../model/schema-fault.ts';
import { answerError } from '../error-answer.ts';
import { FOR_RUNTIME, requireRight } from './authenticate.ts';
import type { Control } from './control.ts';
import { ERRORS_VIEW } from './schemas.ts';

declare module 'fastify' {
  interface FastifySchema {
    /** Where in the body the id is by which a repetition is recognized; the first that fits. */
    'x-idempotent-by'?: readonly string[];
    /** Limits of an upload, for clients, which can say what is too large before they send it. */
    'x-limits'?: Partial<Limits>;
  }
  interface FastifyContextConfig {
    /** The limit that a body which is too large has met. */
    bodyLimit?: LimitName | undefined;
    /** Members of the schema for the description alone. */
    description?: FastifySchema;
  }
}

/** What a handler answers with: lists may be read-only, and undefined members are left out. */
export type Sent<Value> = Value extends Uint8Array | string | number | boolean | null
  ? Value
  : Value extends readonly (infer Item)[]
    ? readonly Sent<Item>[]
    : Value extends object
      ? { readonly [Key in keyof Value]: Sent<Value[Key]> | OptionalOf<Value, Key> }
      : Value;
type OptionalOf<Value, Key extends keyof Value> = {} extends Pick<Value, Key> ? undefined : never;

// biome-ignore lint/suspicious/noConfusingVoidType: a handler without an answer returns nothing
type Answered<Answer> = Answer extends TSchema ? Sent<Static<Answer>> : void;

/** Counts a request before its body is read. @throws AnnexError REQUEST_RATE_EXCEEDED */
export type Counter = (request: FastifyRequest, control: Control) => Promise<void>;

export interface Row<
  Params extends TProperties,
  Query extends TSchema,
  Body extends TSchema,
  Answer extends TSchema | undefined,
> {
  /**
   * Noun and verb of the operation, by which clients group methods. The noun is plural, and the tag
   * of the route in the description.
   */
  readonly name: `${string}.${string}`;
  /** Method and path below `/v1`. */
  readonly at: `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /${string}`;
  readonly summary: string;
  readonly description?: string;
  /** Whether the route accepts runtime tokens, and so code of integrations; it decides which. */
  readonly forRuntime?: boolean;
  /** Whether the route accepts UI tokens, and so pages: all, or those for the target's webhook. */
  readonly forUi?: true | 'webhook';
  /**
   * Views of the portal that use the route. By default those that show what a page with a UI token
   * does.
   */
  readonly forPortal?: readonly PortalView[];
  /** What the head must show. @throws AnnexError TOKEN_FORBIDDEN */
  readonly rights?: (request: FastifyRequest) => void;
  /**
   * What a token that is narrowed to some rights needs. By default `read` for GET; another route
   * without it is closed to such tokens.
   */
  readonly right?: TokenRight;
  /**
   * What bounds the requests. By default all but GET count as orders. `calls`: the route makes a
   * call, or leases what a call renews, and writes no audit. `edits`: its handler counts an edit of
   * the installation that it has found.
   */
  readonly rate?: Counter | 'calls' | 'edits';
  readonly params?: Params;
  readonly query?: Query;
  readonly headers?: TSchema;
  readonly body?: Body;
  /** Type of a body that the handler reads as a stream, and bounds. */
  readonly consumes?: string;
  /** Needed where the schema of the body has no largest value. */
  readonly bodyBytesMax?: number | ((limits: Limits) => number);
  /** The limit that a larger body has met. */
  readonly bodyLimit?: LimitName;
  /** Whether the handler checks the body, and the schema is for the description alone. */
  readonly checksBody?: boolean;
  /**
   * Whether the body may also be bytes, `application/octet-stream`, which are a Buffer then. The
   * handler checks it: JSON may be `null`, and a body that is missing is undefined.
   */
  readonly takesBytes?: boolean;
  /** Schema of the success; absent: 204 and no body. */
  readonly answer?: Answer;
  /** Its status, if not 200. */
  readonly status?: 201 | 202;
  /** Further statuses without an error. */
  readonly answers?: Readonly<Record<number, TSchema>>;
  /** Schema of an event, where the route also answers with server-sent events. */
  readonly streamed?: TSchema;
  /** Members of the schema that depend on limits. */
  readonly schema?: (limits: Limits) => FastifySchema;
  /** Members of the schema for the description alone. */
  readonly described?: FastifySchema;
  /** @returns the answer, or the reply where it was sent */
  handle(
    request: FastifyRequest<{
      Params: Static<TObject<Params>>;
      Querystring: Static<Query>;
      Body: Static<Body>;
    }>,
    control: Control,
    reply: FastifyReply,
  ): Promise<NoInfer<Answered<Answer>> | FastifyReply>;
}

export type Route = Row<TProperties, TSchema, TSchema, TSchema>;

/** A row, with the types of its handler from its schemas. */
export const route = <
  Params extends TProperties = {},
  Query extends TSchema = TSchema,
  Body extends TSchema = TSchema,
  Answer extends TSchema | undefined = undefined,
>(
  row: Row<Params, Query, Body, Answer>,
): Route => row as unknown as Route;

const portalViews = ({ forPortal, forUi }: Route): readonly PortalView[] => {
  if (forPortal !== undefined || forUi === undefined) return forPortal ?? [];
  return forUi === 'webhook' ? ['webhooks'] : ['integrations', 'webhooks'];
};

/** The routes of the API that the portal has, for its sessions alone. */
export const portalRoutes = (rows: readonly Route[]): readonly Route[] =>
  rows
    .filter((row) => portalViews(row).length > 0)
    .map(({ forUi, forRuntime, ...row }) => ({ ...row, forPortal: portalViews({ ...row, forUi } as Route) }));

/** Registers the routes of the API. */
export function registerRoutes(api: FastifyInstance, control: Control, rows: readonly Route[]): void {
  validateWithTypeBox(api);
  readBodies(api);
  answerLimits(api, control);
  answerPreflights(api, rows);
  for (const row of rows) {
    const { consumes, takesBytes } = row;
    if (takesBytes) {
      api.register(async (scope) => {
        scope.addContentTypeParser(BYTES, { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
        add(scope, control, row);
      });
      continue;
    }
    if (consumes === undefined) {
      add(api, control, row);
      continue;
    }
    // A plugin of its own: no other route takes a body of this type.
    api.register(async (scope) => {
      // Leaves the body in its stream, unread.
      scope.addContentTypeParser(consumes, (_request, _body, done) => done(null));
      add(scope, control, row);
    });
  }
}

/**
 * Answers browsers that ask whether a page of another origin may send a request with a UI token. It
 * may: the token decides, and the answer says nothing of it.
 */
function answerPreflights(api: FastifyInstance, rows: readonly Route[]): void {
  const paths = rows.filter(({ forUi }) => forUi).map(({ at }) => at.split(' ')[1] ?? '');
  for (const url of new Set(paths)) {
    const config = { preflight: true } as const;
    api.options(url, { config, schema: { hide: true } }, (_request, reply) =>
      reply
        .code(204)
        .headers({
          'access-control-allow-origin': '*',
          'access-control-allow-methods': 'GET, PATCH, POST',
          'access-control-allow-headers': 'authorization, content-type, if-match',
          'access-control-max-age': '600',
        })
        .send(),
    );
  }
}

function add(api: FastifyInstance, control: Control, row: Route): void {
  const [method = '', url = ''] = row.at.split(' ');
  const bytesMax = bodyLimitOf(row, control.limits);
  api.route({
    method: method as HTTPMethods,
    url,
    config: {
      ...(row.forRuntime && FOR_RUNTIME),
      ...(row.forUi && { ui: row.forUi }),
      ...(row.forPortal && { portal: row.forPortal }),
      bodyLimit: row.bodyLimit,
      description: descriptionOf(row),
    },
    ...(bytesMax !== undefined && { bodyLimit: bytesMax }),
    ...(row.checksBody && { validatorCompiler: () => (value: unknown) => ({ value }) }),
    ...(row.takesBytes && { validatorCompiler: validatorOfHead }),
    schema: schemaOf(row, control.limits),
    onRequest: headChecks(method, row, control),
    handler: async (request, reply) => {
      const answer = await row.handle(request as Parameters<Route['handle']>[0], control, reply);
      // A reply is a promise of its end: a handler that returns it has answered.
      if (reply.sent) return reply;
      if (row.answer === undefined) return reply.code(204).send(null);
      return reply.code(row.status ?? 200).send(answer);
    },
  });
}

function headChecks(method: string, row: Route, control: Control): onRequestAsyncHookHandler {
  const order: Counter | undefined = method === 'GET' ? undefined : async (one) => control.rates.order(one);
  const { rights, rate = order } = row;
  return async (request) => {
    rights?.(request);
    requireRight(request, rightOf(row));
    if (typeof rate === 'function') await rate(request, control);
  };
}

const rightOf = ({ at, right }: Pick<Route, 'at' | 'right'>): TokenRight | undefined =>
  right ?? (at.startsWith('GET ') ? 'read' : undefined);

function schemaOf(row: Route, limits: Limits): FastifySchema {
  const { params, query, headers, body, consumes, answer = Type.Null() } = row;
  const success = row.answer === undefined ? 204 : (row.status ?? 200);
  return {
    ...(params && { params: Type.Object(params) }),
    ...(query && { querystring: query }),
    ...(headers && { headers }),
    ...(body && { body }),
    ...(consumes !== undefined && { consumes: [consumes] }),
    response: { [success]: answer, ...row.answers, ...ERRORS_VIEW },
    ...row.schema?.(limits),
  };
}

/** @returns undefined for a body that the handler reads as a stream */
function bodyLimitOf({ at, consumes, body, bodyBytesMax: own }: Route, limits: Limits): number | undefined {
  if (consumes !== undefined) return undefined;
  const bytes = typeof own === 'function' ? own(limits) : (own ?? bodyBytesMax(body));
  if (bytes === undefined)
    throw new Error(`${at} has a body schema without a largest size: set its \`bodyBytesMax\`.`);
  return bytes;
}

/**
 * Counts the limits of errors where they leave. The call log has those that a call met, with its
 * outcome, and the followers count their own.
 */
function answerLimits(api: FastifyInstance, { limits, limitMet }: Control): void {
  api.setErrorHandler((thrown, request, reply) => {
    const error = asLimitError(thrown, request.routeOptions.config.bodyLimit, limits);
    if (error instanceof AnnexError && !('outcome' in error.extra) && error.code !== 'LOG_BUSY')
      for (const name of limitsOf(error)) limitMet(name);
    return answerError(error, request, reply);
  });
}

const BYTES = 'application/octet-stream';

/** Replaces the framework's error for a body that is too large by one that names the limit. */
function asLimitError(thrown: unknown, name: LimitName | undefined, limits: Limits): unknown {
  const isTooLarge = thrown instanceof Error && 'statusCode' in thrown && thrown.statusCode === 413;
  if (!isTooLarge || name === undefined || thrown instanceof AnnexError) return thrown;
  return limitError('REQUEST_TOO_LARGE', { name, max: limits[name] });
}

/** Each once. An upload meets several, which are in its problems. */
function limitsOf({ limit, extra }: AnnexError): ReadonlySet<LimitName> {
  const problems = (extra['problems'] ?? []) as readonly Pick<Problem, 'limit'>[];
  return new Set([limit, ...problems.map((one) => one.limit)].flatMap((met) => (met ? [met.name] : [])));
}

function validateWithTypeBox(api: FastifyInstance): void {
  api.setValidatorCompiler<TSchema>(validator);
}

const validator: FastifySchemaCompiler<TSchema> = ({ schema, httpPart }) => {
  const check = schemaCheck(schema);
  const isText = httpPart !== 'body';
  const mayBeAbsent = Type.IsOptional(schema);
  const part = PART_NAMES.get(httpPart ?? '') ?? 'request';
  return (data: unknown) => {
    if (!isText && (data === null || data === undefined))
      return mayBeAbsent ? { value: {} } : { error: NO_BODY };
    const value = isText ? Value.Convert(schema, data) : data;
    const faults = check(value);
    return faults.length === 0 ? { value } : { error: invalid(part, faults) };
  };
};

/** The same for all but the body, which the handler checks. */
const validatorOfHead: FastifySchemaCompiler<TSchema> = (part) =>
  part.httpPart === 'body' ? () => true : validator(part);

/**
 * Reads JSON only. Many clients send a content type with every request: without a body it is
 * ignored.
 */
function readBodies(api: FastifyInstance): void {
  const parse = api.getDefaultJsonParser('error', 'error');
  api.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') return done(null, undefined);
    if (isTooDeep(Buffer.from(body))) return done(TOO_DEEP);
    return parse(request, String(body), (error, value) => done(error && notJson(String(body)), value));
  });
  api.removeContentTypeParser('text/plain');
  api.addContentTypeParser('*', ({ headers, routeOptions }, _stream, done) => {
    const isEmpty = (headers['content-length'] ?? '0') === '0' && headers['transfer-encoding'] === undefined;
    return isEmpty ? done(null, undefined) : done(wrongType(routeOptions.schema?.consumes));
  });
  api.addHook('preValidation', async ({ body, routeOptions: { schema } }) => {
    // Refused, not ignored: the sender may believe that the body changed something.
    const isRead = schema?.body !== undefined || schema?.consumes !== undefined;
    if (!isRead && body !== undefined && body !== null && JSON.stringify(body) !== '{}') throw NOT_EXPECTED;
  });
}

function wrongType(consumed: readonly string[] = ['application/json']): AnnexError {
  const how = consumed.includes('multipart/form-data') ? ', as curl -F archive=@upload.tar.gz does' : '';
  const message = `body has an unsupported content type: send it with "Content-Type: ${consumed.join(', or ')}"${how}.`;
  return new AnnexError('REQUEST_INVALID', message);
}

/** Names the position, not the text there, which may be a secret. */
function notJson(body: string): AnnexError {
  const fault = jsonFault(body);
  const message =
    fault === undefined
      ? 'body has a member "__proto__", or "constructor" with a "prototype", which is not allowed.'
      : `body is not JSON: at line ${fault.line}, column ${fault.column}, ${fault.expected} is expected.`;
  return new AnnexError('REQUEST_INVALID', message);
}

const NOT_EXPECTED = new AnnexError('REQUEST_INVALID', 'body is not expected: this route takes none.');

const TOO_DEEP = new AnnexError('REQUEST_INVALID', `body is nested deeper than ${JSON_DEPTH_MAX}.`);

const NO_BODY = new AnnexError(
  'REQUEST_INVALID',
  'body is missing: send JSON, with "Content-Type: application/json".',
);

const PART_NAMES = new Map([
  ['body', 'body'],
  ['querystring', 'query'],
  ['params', 'path'],
  ['headers', 'headers'],
]);

/** Names the invalid field. TypeBox lists at most eight faults. */
const invalid = (part: string, faults: readonly SchemaFault[]): AnnexError =>
  new AnnexError('REQUEST_INVALID', faultText(part, faults));

/** Marks an operation until all are described: the plugin makes every body required. */
const BODY_OPTIONAL = 'x-body-optional';

function descriptionOf({ name, summary, description, ...row }: Route): FastifySchema {
  const [tag = ''] = name.split('.', 1);
  const isOptional = row.body !== undefined && Type.IsOptional(row.body);
  const right = rightOf(row);
  return {
    summary,
    ...(description !== undefined && { description }),
    // `install-links.create` is `installLinksCreate`.
    operationId: name.replace(/[.-](\w)/g, (_, letter: string) => letter.toUpperCase()),
    tags: [tag],
    ...(row.streamed && { response: { 200: eitherForm(row.answer, row.streamed), ...ERRORS_VIEW } }),
    // The types of the SDK's client are generated from these operations.
    ...(row.forRuntime && { 'x-runtime': true }),
    ...(right !== undefined && { 'x-right': right }),
    ...(isOptional && { [BODY_OPTIONAL]: true }),
    ...row.described,
  };
}

/** The success of a route that also answers with server-sent events. */
const eitherForm = (page: TSchema | undefined, event: TSchema): object => ({
  description: 'A page of the list, or the events of a stream.',
  content: { 'application/json': { schema: page }, 'text/event-stream': { schema: event } },
});

/** A route as the plugin for the description passes it; those without a tag are hidden. */
interface Described {
  readonly schema: FastifySchema;
  readonly url: string;
  readonly route: { readonly config?: { readonly description?: FastifySchema } };
}

/** Completes the schema of a route by what is for the description alone. */
export const described = ({ schema, url, route: { config } }: Described) => ({
  schema: { ...schema, ...config?.description },
  url: url.replace('*', ':path'),
});

/** Marks optional bodies as such. @param paths of the whole description, which are changed */
export function withOptionalBodies(paths: object): void {
  for (const operations of Object.values(paths)) {
    for (const operation of Object.values<Operation>(operations)) {
      if (operation[BODY_OPTIONAL] !== true) continue;
      delete operation[BODY_OPTIONAL];
      if (operation.requestBody) operation.requestBody.required = false;
    }
  }
}

/** The members of an operation that are read and changed. */
interface Operation {
  [BODY_OPTIONAL]?: true;
  requestBody?: { required?: boolean };
}

/** Limit of a route without a body: many clients send `{}`. */
const NO_BODY_BYTES_MAX = 1024;
/** Allowance for white space of clients that indent. */
const SPACE_BYTES_MAX = 4 * 1024;
/** Of a character of a string: outside the first plane it is two escapes, `\ud83d\ude00`. */
const LETTER_BYTES_MAX = 12;
/** Of a number, in any notation. */
const NUMBER_BYTES_MAX = 32;

/**
 * The size limit for the body of a route: the size of the largest JSON that its schema allows.
 *
 * Attack: a megabyte for a route that takes five short strings, which is read, parsed and validated
 * before it is refused. So the limit of each route comes from its schema. A schema with members of
 * any name has no largest value: its row sets `bodyBytesMax` itself, and the service does not start
 * without it.
 *
 * @param body schema of the body; undefined if the route takes none
 * @returns bytes; undefined if the schema has no largest value
 */
export function bodyBytesMax(body: TSchema | undefined): number | undefined {
  if (body === undefined) return NO_BODY_BYTES_MAX;
  const bytes = jsonBytesMax(body);
  return Number.isFinite(bytes) ? bytes + SPACE_BYTES_MAX : undefined;
}

/** The keywords of JSON Schema that are read here. */
interface Keywords {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly items?: TSchema;
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly additionalProperties?: unknown;
}

function jsonBytesMax(schema: TSchema): number {
  const { type, maxLength, maxItems, items, properties, additionalProperties, ...keywords } =
    schema as Keywords;
  if (keywords.const !== undefined) return stringBytesMax(JSON.stringify(keywords.const).length);
  if (keywords.enum)
    return Math.max(...keywords.enum.map((one) => stringBytesMax(JSON.stringify(one).length)));
  if (type === 'boolean' || type === 'null') return 'false'.length;
  if (type === 'integer' || type === 'number') return NUMBER_BYTES_MAX;
  if (type === 'string') return stringBytesMax(maxLength ?? Number.POSITIVE_INFINITY);
  if (type === 'array' && items)
    return 2 + (maxItems ?? Number.POSITIVE_INFINITY) * (jsonBytesMax(items) + 1);
  if (type !== 'object' || additionalProperties !== false) return Number.POSITIVE_INFINITY;
  return Object.entries(properties ?? {}).reduce(
    (sum, [name, member]) => sum + stringBytesMax(name.length) + jsonBytesMax(member) + 2,
    2,
  );
}

const stringBytesMax = (characters: number): number => characters * LETTER_BYTES_MAX + 2;
