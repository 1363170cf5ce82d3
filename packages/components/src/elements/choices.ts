/** The choices of a `select`: a list, or pages from a URL (`choice-page.ts`). */
import { type AskedPage, type Choice, choicePageUrl } from '../../../../src/model/contentkit/choice-page.ts';
import { isObject, member } from '../drawing/json.ts';
import { addressUrl } from '../drawing/urls.ts';

/**
 * The URL of a page. @param address `options.url`, with its bindings resolved
 * @returns undefined if it is no web URL
 */
export function choicesUrl(address: unknown, page: AskedPage): string | undefined {
  const base = addressUrl(address);
  return base === undefined ? undefined : choicePageUrl(base, page);
}

/** `options.url`; undefined if the choices are a list. */
export const choicesAddress = (options: unknown): unknown =>
  isObject(options) ? member(options, 'url') : undefined;

/** Choices whose label has the text. */
export const matching = (choices: readonly Choice[], search: string): readonly Choice[] => {
  const wanted = search.trim().toLowerCase();
  return wanted === '' ? choices : choices.filter(({ label }) => label.toLowerCase().includes(wanted));
};
