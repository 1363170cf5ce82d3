/**
 * `performance` (https://w3c.github.io/hr-time/), in whole milliseconds: a finer clock would measure what other tenants
 * do. It has no entries and no marks.
 */
import { sinceOrigin, timeOrigin } from './clock.ts';
import { EventTarget } from './event-target.ts';
import { defineInterface } from './web-idl.ts';

const INSIDE = Symbol();

export class Performance extends EventTarget {
  readonly #timeOrigin = timeOrigin;

  constructor(token: unknown = undefined) {
    if (token !== INSIDE) throw new TypeError('Illegal constructor');
    super();
  }

  now(): number {
    void this.#timeOrigin;
    return sinceOrigin();
  }

  get timeOrigin(): number {
    return this.#timeOrigin;
  }

  toJSON(): { timeOrigin: number } {
    return { timeOrigin: this.#timeOrigin };
  }
}
defineInterface(Performance, 'Performance');

export const performance: Performance = new Performance(INSIDE);
