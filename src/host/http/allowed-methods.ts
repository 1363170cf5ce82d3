/**
 * The methods that each path accepts, for the error message about an unknown route.
 *
 * It collects the routes as they are registered on a listener. The framework finds the route of a
 * request; this is only read when there is none.
 */
import type { FastifyInstance } from 'fastify';

interface Route {
  readonly methods: readonly string[];
  /** Segments of the path; one that begins with a colon matches any. */
  readonly segments: readonly string[];
}

const segmentsOf = (path: string): string[] => path.split('/');

export class AllowedMethods {
  readonly #routes: Route[] = [];

  /** Collects the routes that are registered after this. */
  constructor(app: FastifyInstance) {
    app.addHook('onRoute', ({ method, url }) => {
      this.#routes.push({ methods: [method].flat(), segments: segmentsOf(url) });
    });
  }

  /** @returns the methods of the path, sorted; without `HEAD` and `OPTIONS`, which browsers add */
  of(path: string): string[] {
    const segments = segmentsOf(decoded(path));
    const methods = this.#routes.filter((route) => fits(route, segments)).flatMap((route) => route.methods);
    return [...new Set(methods)].filter((method) => method !== 'HEAD' && method !== 'OPTIONS').sort();
  }
}

/** As the router reads it: everything but separators is decoded before it looks for a route. */
function decoded(path: string): string {
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}

const fits = ({ segments }: Route, path: readonly string[]): boolean =>
  segments.length === path.length &&
  segments.every((segment, at) => (segment.startsWith(':') ? path[at] !== '' : segment === path[at]));
