/**
 * What writes answers as their schemas say, made for each route when it answers for the first time. fastify would make them
 * all at the start, and take longer over it than over everything else there.
 */
import { createRequire } from 'node:module';
import type { FastifyServerOptions } from 'fastify';

type BuildSerializer = NonNullable<
  NonNullable<NonNullable<FastifyServerOptions['schemaController']>['compilersFactory']>['buildSerializer']
>;

// fastify's own: it hands them to nobody, but lets others be put in their place.
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
