/** The second argument of every handler. Types only. */
import type { Configuration, Environment } from './environment.ts';

/** What a handler is given beside its request or event (REFERENCE D2). */
export interface Context<C extends Configuration = Configuration> {
  readonly environment: Environment<C>;
  /**
   * Keeps the call open for work that the answer does not wait for, within the call's time.
   *
   * A promise that rejects is logged; the answer has been given by then.
   */
  waitUntil(promise: Promise<unknown>): void;
}
