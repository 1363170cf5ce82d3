/**
 * Routes whose TypeBox schemas are validation, TypeScript types and OpenAPI at once.
 *
 * A body is taken as it is: no member is dropped, no text becomes a number. A query string and a path hold nothing but
 * text, so there a number may be written as one. A body whose schema is optional may be left out, and is an empty object then.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyBaseLogger, FastifyInstance, FastifyTypeProvider, RawServerDefault } from 'fastify';
import Type, { type Static, type TSchema } from 'typebox';
import Value from 'typebox/value';
import { AnnexError } from '../../errors.ts';
import { isTooDeep, JSON_DEPTH_MAX } from '../../model/json-depth.ts';
import { jsonFault } from '../../model/json-fault.ts';
import { schemaCheck } from '../../model/schema-check.ts';
import { faultText, type SchemaFault } from '../../model/schema-fault.ts';
import { bodyBytesMax } from './body-limit.ts';

export interface TypeBoxProvider extends FastifyTypeProvider {
  readonly validator: this['schema'] extends TSchema ? Static<this['schema']> : unknown;
  readonly serializer: this['schema'] extends TSchema ? Static<this['schema']> : unknown;
}

/** An application on which routes can be declared with TypeBox schemas. */
export type TypedApp = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  TypeBoxProvider
>;

/** Has this instance, and what is registered below it, validate with TypeBox. */
export function withTypedRoutes(app: FastifyInstance): TypedApp {
  const typed = app.withTypeProvider<TypeBoxProvider>();
  boundBodies(typed);
  readBodies(typed);
  return typed.setValidatorCompiler<TSchema>(({ schema, httpPart }) => {
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
  });
}

/** Gives each route the limit that its schema has, unless it says one itself. */
function boundBodies(typed: TypedApp): void {
  typed.addHook('onRoute', (route) => {
    const { body, consumes } = route.schema ?? {};
    // A route that consumes another type reads its body as a stream, and bounds it there.
    if (route.bodyLimit !== undefined || consumes !== undefined) return;
    const bytesMax = bodyBytesMax(body as TSchema | undefined);
    if (bytesMax === undefined)
      throw new Error(`${route.method} ${route.url} takes a body of any size: give it a \`bodyLimit\`.`);
    route.bodyLimit = bytesMax;
  });
}

/** Reads JSON and nothing else. Many clients send a content type with every request: without a body it counts for nothing. */
function readBodies(typed: TypedApp): void {
  const parse = typed.getDefaultJsonParser('error', 'error');
  typed.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') return done(null, undefined);
    if (isTooDeep(Buffer.from(body))) return done(TOO_DEEP);
    return parse(request, String(body), (error, value) => done(error && noJson(String(body)), value));
  });
  typed.removeContentTypeParser('text/plain');
  typed.addContentTypeParser('*', ({ headers, routeOptions }, _stream, done) => {
    const isEmpty = (headers['content-length'] ?? '0') === '0' && headers['transfer-encoding'] === undefined;
    return isEmpty ? done(null, undefined) : done(wrongType(routeOptions.schema?.consumes));
  });
  typed.addHook('preValidation', async ({ body, routeOptions: { schema } }) => {
    // A body that nobody reads may hold what its sender thinks has been changed.
    const isRead = schema?.body !== undefined || schema?.consumes !== undefined;
    if (!isRead && body !== undefined && body !== null && JSON.stringify(body) !== '{}') throw NOT_EXPECTED;
  });
}

function wrongType(consumed: readonly string[] = ['application/json']): AnnexError {
  const how = consumed.includes('multipart/form-data') ? ', as curl -F archive=@upload.tar.gz does' : '';
  const message = `body is of no type that is read here: send it with "Content-Type: ${consumed.join(', or ')}"${how}.`;
  return new AnnexError('REQUEST_INVALID', message);
}

/** Says where, and not what is there: it may be a secret. */
function noJson(body: string): AnnexError {
  const fault = jsonFault(body);
  const message =
    fault === undefined
      ? 'body has a member that is named as prototypes are: "__proto__", or "constructor" with a "prototype".'
      : `body is no JSON: at line ${fault.line}, column ${fault.column}, ${fault.expected} is expected.`;
  return new AnnexError('REQUEST_INVALID', message);
}

const NOT_EXPECTED = new AnnexError('REQUEST_INVALID', 'body is not expected: this takes none.');

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

/** Names the field in the way. TypeBox lists eight faults at the most. */
const invalid = (part: string, faults: readonly SchemaFault[]): AnnexError =>
  new AnnexError('REQUEST_INVALID', faultText(part, faults));
