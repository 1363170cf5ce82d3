/** The second argument of every handler. Types only. */
import type { Api, QueuedTask } from './api.ts';
import type { Environment } from './environment.ts';
import type { AccountConfiguration, Configuration } from './manifest-types.ts';
import type { Storage } from './storage.ts';

/**
 * What a handler receives beside its request or event (docs/contract/calls.md#routing).
 *
 * @typeParam C configuration at the level of the account, for code without generated types
 */
export interface Context<C extends Configuration = AccountConfiguration> {
  /** What this call may see of its target and its integration. */
  readonly environment: Environment<C>;
  /** Client of the platform's API, with the runtime tokens of this call. */
  readonly api: Api;
  /**
   * Values of the installation: what code stores here, every later call of the installation, its
   * spaces and its sites finds (docs/contract/storage.md).
   *
   * @example
   * const seen = await context.storage.get<string>('cursor');
   * await context.storage.put('cursor', next);
   * const visits = await context.storage.increment('visits');
   */
  readonly storage: Storage;
  /** What the integration may do with itself. */
  readonly integration: {
    /**
     * Values of the integration, which all its installations share, also those of other
     * organizations.
     */
    readonly storage: Storage;
    /**
     * Queues a task: later, the platform calls `task` of the integration with it, for the target of
     * this call, at least once (docs/contract/tasks.md).
     *
     * @returns once the task is stored
     * @throws ApiError if it is not: the task is too large, or too many are pending
     *
     * @example await context.integration.queueTask({ task: { sync: 'pages' }, schedule: 60 });
     */
    queueTask(queued: QueuedTask): Promise<void>;
  };
  /**
   * Keeps the call open for work that the answer does not wait for, until the promise settles or
   * the call's wall time ends (docs/contract/calls.md#waituntil).
   *
   * A rejection is logged as an exception of the call. The answer is not changed by it.
   */
  waitUntil(promise: Promise<unknown>): void;
}
