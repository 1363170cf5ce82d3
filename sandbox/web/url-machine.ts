/**
 * The URL parser: the state machine of whatwg-url, the reference implementation of https://url.spec.whatwg.org/.
 *
 * Loaded when the first URL is parsed, because evaluating it costs milliseconds that most isolates never need to
 * spend. `substitutes.ts` names the modules below it that the bundle replaces.
 */
import './text-codec-globals.ts';
// Takes its codecs from the global object now, before a tenant could have put something else there.
import 'whatwg-url/lib/encoding.js';

/** Bundled by esbuild and evaluated at the first call. */
declare const require: (path: string) => unknown;

/** A URL record of the standard. */
export interface UrlRecord {
  readonly scheme: string;
  readonly username: string;
  readonly password: string;
  readonly host: string | number | readonly number[] | null;
  port: number | null;
  path: string | string[];
  query: string | null;
  fragment: string | null;
}

export interface UrlMachine {
  basicURLParse(
    input: string,
    options?: { baseURL?: UrlRecord | null; url?: UrlRecord; stateOverride?: string },
  ): UrlRecord | null;
  serializeURLOrigin(url: UrlRecord): string;
  serializeHost(host: NonNullable<UrlRecord['host']>): string;
  setTheUsername(url: UrlRecord, username: string): void;
  setThePassword(url: UrlRecord, password: string): void;
}

let machine: UrlMachine | undefined;

export function urlMachine(): UrlMachine {
  machine ??= require('whatwg-url/lib/url-state-machine.js') as UrlMachine;
  return machine;
}
