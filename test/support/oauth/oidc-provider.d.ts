/**
 * The types of `oidc-provider` that tests use; the package has none.
 */
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http';

  /** A token of the provider. */
  export interface IssuedToken {
    readonly kind: string;
    readonly clientId?: string;
  }

  export default class Provider {
    constructor(issuer: string, configuration: object);
    callback(): (request: IncomingMessage, response: ServerResponse) => void;
    on(event: string, listener: (...parts: unknown[]) => void): this;
  }
}
