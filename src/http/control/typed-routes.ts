/**
 * Routes whose TypeBox schemas are validation, TypeScript types and OpenAPI at once.
 *
 * A body is taken as it is: no member is dropped, no text becomes a number. A query string and a path hold nothing but
 * text, so there a number may be written as one.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyBaseLogger, FastifyInstance, FastifyTypeProvider, RawServerDefault } from 'fastify';
import type { Static, TSchema } from 'typebox';
import Schema from 'typebox/schema';
import Value from 'typebox/value';
import { AnnexError } from '../../errors.ts';

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
  return typed.setValidatorCompiler<TSchema>(({ schema, httpPart }) => {
    const validator = Schema.Compile(schema);
    const isText = httpPart !== 'body';
    const part = PART_NAMES.get(httpPart ?? '') ?? 'request';
    return (data: unknown) => {
      const value = isText ? Value.Convert(schema, data) : data;
      return validator.Check(value) ? { value } : { error: invalid(part, validator.Errors(value)[1]) };
    };
  });
}

const PART_NAMES = new Map([
  ['body', 'body'],
  ['querystring', 'query'],
  ['params', 'path'],
  ['headers', 'headers'],
]);

interface Fault {
  readonly keyword: string;
  readonly instancePath: string;
  readonly params: object;
  readonly message: string;
}

/** Names the field in the way: `body.externalIds[0] must be string`. TypeBox lists eight faults at the most. */
function invalid(part: string, faults: readonly Fault[]): AnnexError {
  // A member too many is told twice: as a value that nothing allows, and by name. The name is what helps.
  const told = faults.filter(({ keyword }) => keyword !== 'boolean');
  const texts = (told.length > 0 ? told : faults).map((fault) => {
    const path = fault.instancePath.replace(/\/(\d+)(?=\/|$)/g, '[$1]').replaceAll('/', '.');
    return `${part}${path} ${messageOf(fault)}`;
  });
  return new AnnexError('REQUEST_INVALID', `${texts.join('; ')}.`);
}

function messageOf({ params, message }: Fault): string {
  if ('additionalProperties' in params && Array.isArray(params.additionalProperties)) {
    return `has unknown members: ${params.additionalProperties.slice(0, 8).join(', ').slice(0, 200)}`;
  }
  if ('allowedValues' in params && Array.isArray(params.allowedValues)) {
    return `must be one of ${params.allowedValues.join(', ')}`;
  }
  return message;
}
