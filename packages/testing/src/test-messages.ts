/**
 * Messages between a test kit and its service, one JSON object a line: on the standard input and
 * output of the service's process. Only types.
 */
import type { Limits } from '../../../src/limits.ts';

/** A request that code of an integration sends, or a webhook. */
export interface OutboundRequest {
  /** Who sends it: the id of an installation, or the key of an endpoint for a webhook. */
  readonly owner: string;
  readonly method: string;
  readonly url: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** In Base64; empty if there is none. */
  readonly body: string;
}

/** What the test answers in place of the network. */
export type OutboundAnswer =
  | {
      readonly status: number;
      readonly statusText: string;
      readonly headers: readonly (readonly [name: string, value: string])[];
      /** In Base64. */
      readonly body: string;
    }
  /** The connection breaks off. */
  | { readonly broken: true };

/** An integration that was published. */
export interface PublishedFolder {
  readonly name: string;
  readonly version: number;
  /** The organization that owns it. */
  readonly organization: string;
  /** Whether only this organization may install it. */
  readonly isPrivate: boolean;
}

/** What a test kit asks; each is answered by a `result` or a `failure` of the same id. */
export type TestRequest =
  /** Publishes a folder, unless its content is published already. */
  | {
      readonly ask: 'publish';
      readonly folder: string;
      readonly secrets: Readonly<Record<string, string>>;
      /** A file of event types, and its name for messages; declared before. */
      readonly eventTypes?: { readonly name: string; readonly text: string };
    }
  /** Waits until no call is in flight and no delivery is due, and writes the logs. */
  | { readonly ask: 'settle' }
  /** Sets the time forward, and has all that becomes due in it done at its time. */
  | { readonly ask: 'advance'; readonly ms: number };

export type ToService =
  | (TestRequest & { readonly kind: 'ask'; readonly id: number })
  | { readonly kind: 'answer'; readonly id: number; readonly answer: OutboundAnswer };

export interface Ready {
  readonly kind: 'ready';
  readonly controlUrl: string;
  /** An admin token. */
  readonly token: string;
  readonly limits: Limits;
}

export type ToTestKit =
  | Ready
  | { readonly kind: 'result'; readonly id: number; readonly value: unknown }
  | { readonly kind: 'failure'; readonly id: number; readonly message: string }
  | { readonly kind: 'fetch'; readonly id: number; readonly request: OutboundRequest };
