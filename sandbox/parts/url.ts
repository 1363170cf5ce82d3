/**
 * Part: the state machine of whatwg-url, the reference implementation of
 * https://url.spec.whatwg.org/.
 */
import type { UrlMachine } from '../web/url/url-machine.ts';

/** The library has no types for this module; esbuild bundles it. */
declare const require: (path: string) => unknown;

export const machine = require('whatwg-url/lib/url-state-machine.js') as UrlMachine;
