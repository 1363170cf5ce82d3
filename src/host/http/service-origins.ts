/**
 * The base URLs of the service: as configured, else those of the listeners once they listen.
 *
 * The store and the loopback listeners read them at each use, so that both can be made before the
 * listeners have ports.
 */
import type { Origins } from '../targets/target-builder.ts';

/** As configured; absent where the setting is. */
export interface ConfiguredOrigins {
  readonly publicUrl?: string;
  readonly contentUrl?: string;
  /** Without the version. */
  readonly apiUrl?: string;
  readonly appUrl?: string;
  /** Base of the redirect URLs of OAuth, or `on`: that of the public listener. */
  readonly oauthCallback?: string;
}

export class ServiceOrigins implements Origins {
  /** Empty until it is known; so are all others. */
  publicUrl: string;
  apiEndpoint: string;
  readonly appUrl: string;
  readonly #contentUrl: string;
  readonly #oauthCallback: string;

  constructor({ publicUrl, contentUrl, apiUrl, appUrl, oauthCallback }: ConfiguredOrigins) {
    this.publicUrl = publicUrl ?? '';
    this.apiEndpoint = apiUrl ?? '';
    this.appUrl = appUrl ?? '';
    this.#contentUrl = contentUrl ?? '';
    this.#oauthCallback = oauthCallback ?? '';
  }

  get contentUrl(): string {
    return this.#contentUrl || this.publicUrl;
  }

  /** Empty where there are no redirect URLs. */
  get oauthUrl(): string {
    return this.#oauthCallback === 'on' ? this.publicUrl : this.#oauthCallback;
  }

  get apiUrl(): string {
    return `${this.apiEndpoint}/v1`;
  }

  /** Fills in what is not configured. */
  listening(controlUrl: string, publicUrl: string): void {
    this.publicUrl ||= publicUrl;
    this.apiEndpoint ||= controlUrl;
  }
}
