/**
 * Builds the JSON serializer of a route when the route first answers. fastify would build all of
 * them at startup, which takes longer than all else there.
 */
import { createRequire } from 'node:module';
import type { FastifyServerOptions } from 'fastify';

type BuildSerializer = NonNullable<
  NonNullable<NonNullable<FastifyServerOptions['schemaController']>['compilersFactory']>['buildSerializer']
>;

// fastify's own compiler, which fastify does not export but allows to be replaced.
const require = createRequire(createRequire(import.meta.url).resolve('fastify'));
const build = (require('@fastify/fast-json-stringify-compiler') as () => BuildSerializer)();

export const lazySerializers: BuildSerializer = (schemas, options) => {
  const compile = build(schemas, options);
  return (route) => {
    let serialize: ReturnType<typeof compile> | undefined;
    return (answer) => {
      serialize ??= compile(route);
      return serialize(answer);
    };
  };
};
