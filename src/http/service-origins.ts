/**
 * The base URLs of the service: as configured, else those of the listeners once they listen.
 *
 * The store and the loopback listeners read them at each use, so that both can be made before the
 * listeners have ports.
 */

export class ServiceOrigins {
  #publicUrl: string;
  #apiUrl: string;

  constructor({ publicUrl = '', apiUrl = '' }: { readonly publicUrl?: string; readonly apiUrl?: string }) {
    this.#publicUrl = publicUrl;
    this.#apiUrl = apiUrl;
  }

  /** Empty until it is known. */
  get publicUrl(): string {
    return this.#publicUrl;
  }

  /** Empty until it is known. */
  get apiUrl(): string {
    return this.#apiUrl;
  }

  /** Fills in what is not configured. */
  listening(controlUrl: string, publicUrl: string): void {
    this.#publicUrl ||= publicUrl;
    this.#apiUrl ||= `${controlUrl}/v1`;
  }
}
