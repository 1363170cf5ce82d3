/**
 * Values of the prelude for the URL parser, under the names by which whatwg-url imports them from
 * tr46 and @exodus/bytes. `needs` is the argument of a part.
 */
import type { UrlNeeds } from '../web/url/url-machine.ts';

declare const needs: UrlNeeds;

export const { percentEncodeAfterEncoding, toASCII } = needs;
