/**
 * Routes whose TypeBox schemas are validation, TypeScript types and OpenAPI at once.
 *
 * A body is used as it is: no member is dropped, no string is converted. Query strings and paths
 * contain only text, so numbers are converted there. A body whose schema is optional may be left
 * out, and is an empty object then.
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

/** Makes this instance, and those below it, validate with TypeBox. */
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

/** Sets the body limit of each route from its schema, unless the route sets one. */
function boundBodies(typed: TypedApp): void {
  typed.addHook('onRoute', (route) => {
    const { body, consumes } = route.schema ?? {};
    // A route that consumes another type reads and bounds its body as a stream.
    if (route.bodyLimit !== undefined || consumes !== undefined) return;
    const bytesMax = bodyBytesMax(body as TSchema | undefined);
    if (bytesMax === undefined)
      throw new Error(
        `${route.method} ${route.url} has a body schema without a largest size: set its \`bodyLimit\`.`,
      );
    route.bodyLimit = bytesMax;
  });
}

/**
 * Reads JSON only. Many clients send a content type with every request: without a body it is
 * ignored.
 */
function readBodies(typed: TypedApp): void {
  const parse = typed.getDefaultJsonParser('error', 'error');
  typed.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') return done(null, undefined);
    if (isTooDeep(Buffer.from(body))) return done(TOO_DEEP);
    return parse(request, String(body), (error, value) => done(error && notJson(String(body)), value));
  });
  typed.removeContentTypeParser('text/plain');
  typed.addContentTypeParser('*', ({ headers, routeOptions }, _stream, done) => {
    const isEmpty = (headers['content-length'] ?? '0') === '0' && headers['transfer-encoding'] === undefined;
    return isEmpty ? done(null, undefined) : done(wrongType(routeOptions.schema?.consumes));
  });
  typed.addHook('preValidation', async ({ body, routeOptions: { schema } }) => {
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
