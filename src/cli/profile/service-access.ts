/**
 * Makes the client of the API for one command, and keeps what a failure is explained with: the URL,
 * where the token is from, and the version of the service.
 */
import { Annex } from '../../../packages/client/src/index.ts';
import type { Asked } from '../terminal/explain.ts';
import { Failure } from '../terminal/failure.ts';
import { type Connection, type ConnectionQuery, findConnection } from './connection.ts';
import { proxyFor } from './proxy.ts';
import { isLoopback } from './service-url.ts';

const VERSION_HEADER = 'annex-version';

export interface ServiceAccessParts extends ConnectionQuery {
  /** Version of this command line. */
  readonly version: string;
  /** Prints a warning. */
  talk(text: string): void;
}

export class ServiceAccess {
  readonly #parts: ServiceAccessParts;
  #connection: Promise<Connection> | undefined;
  #found: Pick<Connection, 'url' | 'tokenFrom'> | undefined;
  #itsVersion: string | undefined;
  #hasWarned = false;

  constructor(parts: ServiceAccessParts) {
    this.#parts = parts;
  }

  /** What was asked; undefined if nothing was. */
  get asked(): Asked | undefined {
    if (this.#found === undefined) return undefined;
    const { url, tokenFrom } = this.#found;
    const proxy = proxyFor(url, this.#parts.env);
    return { url, tokenFrom, isLoopback: isLoopback(url), proxy, versions: this.versions };
  }

  get versions(): readonly [string, string | undefined] {
    return [this.#parts.version, this.#itsVersion];
  }

  async connection(): Promise<Connection> {
    this.#connection ??= findConnection(this.#parts);
    const found = await this.#connection;
    this.#found = found;
    return found;
  }

  async client(): Promise<Annex> {
    const { url, token, tokenFrom } = await this.connection();
    if (token === undefined)
      throw new Failure(`There is no token for ${url}.`, {
        code: 'TOKEN_MISSING',
        hint: `Log in (annex login ${url}), set ANNEX_TOKEN, or run the command in the folder of \`annex serve\`.`,
      });
    return this.clientOf(url, token, tokenFrom);
  }

  /** A client of another service, or with another token. */
  clientOf(url: string, token: string | undefined, tokenFrom: string | undefined): Annex {
    this.#found = { url, tokenFrom };
    if (token !== undefined) this.#warnOfReaders(url);
    const { version } = this.#parts;
    return new Annex({ url, token, userAgent: `annex/${version}`, fetch: this.#fetch });
  }

  /** Attack: where nothing encrypts it, a reader on the way takes the token. */
  #warnOfReaders(url: string): void {
    if (this.#hasWarned || !url.startsWith('http:') || isLoopback(url)) return;
    this.#hasWarned = true;
    const { talk } = this.#parts;
    talk(`warning: ${url} has no https://: everyone on the way to it can read the token.`);
  }

  readonly #fetch: typeof fetch = async (input, init) => {
    const answer = await fetch(input, init);
    this.#compare(answer.headers.get(VERSION_HEADER));
    return answer;
  };

  /** Warns once where the two may not understand each other. */
  #compare(its: string | null): void {
    if (its === null || this.#itsVersion !== undefined) return;
    this.#itsVersion = its;
    const { version: own, talk } = this.#parts;
    if (release(own) !== release(its))
      talk(
        `warning: the service is Annex ${its}, this command line is ${own}: they may differ in what they know.`,
      );
  }
}

/** Releases within one minor version know the same commands and routes. */
const release = (version: string): string => version.split('.', 2).join('.');
