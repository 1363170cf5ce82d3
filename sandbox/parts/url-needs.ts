/**
 * What the URL parser needs of the prelude, under the names by which whatwg-url imports it from
 * tr46 and @exodus/bytes. `needs` is the argument with which a part is evaluated.
 */
import type { UrlNeeds } from '../web/url/url-machine.ts';

declare const needs: UrlNeeds;

export const { percentEncodeAfterEncoding, toASCII } = needs;
