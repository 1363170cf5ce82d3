/**
 * Which methods a path takes, for whoever has tried another one: the routes of a listener, as they are registered on it.
 *
 * It decides nothing. Which route answers is the framework's to find; this is asked when there was none.
 */
import type { FastifyInstance } from 'fastify';

interface Route {
  readonly methods: readonly string[];
  /** Of its path; one that begins with a colon stands for any. */
  readonly segments: readonly string[];
}

const segmentsOf = (path: string): string[] => path.split('/');

export class TakenMethods {
  readonly #routes: Route[] = [];

  /** Hears of the routes that are registered from now on. */
  constructor(app: FastifyInstance) {
    app.addHook('onRoute', ({ method, url }) => {
      this.#routes.push({ methods: [method].flat(), segments: segmentsOf(url) });
    });
  }

  /** `HEAD`, which comes with every `GET`, is left out. */
  of(path: string): string[] {
    const segments = segmentsOf(path);
    const methods = this.#routes.filter((route) => fits(route, segments)).flatMap((route) => route.methods);
    return [...new Set(methods)].filter((method) => method !== 'HEAD').sort();
  }
}

const fits = ({ segments }: Route, asked: readonly string[]): boolean =>
  segments.length === asked.length &&
  segments.every((segment, at) => (segment.startsWith(':') ? asked[at] !== '' : segment === asked[at]));
