/** The second argument of every handler. Types only. */
import type { Api } from './api.ts';
import type { Environment } from './environment.ts';
import type { AccountConfiguration, Configuration } from './manifest-types.ts';

/** What a handler is given beside its request or event (REFERENCE D2). */
export interface Context<C extends Configuration = AccountConfiguration> {
  readonly environment: Environment<C>;
  /** The platform's API, with the tokens of this call. */
  readonly api: Api;
  /**
   * Keeps the call open for work that the answer does not wait for, within the call's time.
   *
   * A promise that rejects is logged; the answer has been given by then.
   */
  waitUntil(promise: Promise<unknown>): void;
}
