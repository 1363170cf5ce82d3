/**
 * `navigator` (https://html.spec.whatwg.org/#navigator), with the one attribute by which libraries
 * identify a runtime.
 */
import { defineInterface } from './web-idl.ts';

const INSIDE = Symbol();

export class Navigator {
  readonly #userAgent = 'Annex';

  constructor(token: unknown = undefined) {
    if (token !== INSIDE) throw new TypeError('Illegal constructor');
  }

  get userAgent(): string {
    return this.#userAgent;
  }
}
defineInterface(Navigator, 'Navigator');

export const createNavigator = (): Navigator => new Navigator(INSIDE);
