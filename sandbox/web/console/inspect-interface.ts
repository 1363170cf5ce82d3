/**
 * How an inspection shows the web interfaces: by the attributes that matter in a log, or by their
 * pairs.
 */

import { DOMException } from '../dom-exception.ts';
import { Blob, File } from '../fetch/blob.ts';
import { FormData, formEntries } from '../fetch/form-data.ts';
import { type HeaderList, type HeaderPair, sortedPairs } from '../fetch/header-list.ts';
import { Headers, headerListOf } from '../fetch/headers.ts';
import { Request } from '../fetch/request.ts';
import { Response } from '../fetch/response.ts';
import { List, push } from '../list.ts';
import { slice, uncurryGetter } from '../primordials.ts';
import { URL } from '../url/url.ts';
import { pairsOf, URLSearchParams } from '../url/url-search-params.ts';
import { type NameValue, serializeUrlencoded } from '../url/urlencoded.ts';
import { readStack } from './error-stack.ts';
import { type Content, describeKind } from './inspect-built-in.ts';
import { keyText, quote } from './inspect-text.ts';

/** Headers that are shown in the order of iteration, at most. */
const PAIRS_SORTED_MAX = 1_000;
/** Pairs that are shown, and characters of a name or a value. */
const PAIRS_SHOWN_MAX = 100;
const PAIR_CHARS_MAX = 8_192;

attributes(Request.prototype, ['method', 'url', 'headers', 'redirect', 'bodyUsed']);
attributes(Response.prototype, ['status', 'statusText', 'headers', 'type', 'bodyUsed']);
attributes(Blob.prototype, ['size', 'type']);
attributes(File.prototype, ['name', 'lastModified'], ['size', 'type']);

describeKind(Headers.prototype, (value, name) => {
  const list = headerListOf(value as Headers);
  // A long list is not sorted for a log: its first headers are shown in their order.
  const few = list.flat.length <= 2 * PAIRS_SORTED_MAX;
  return pairs(name, few ? sortedPairs(list) : pairsFrom(list));
});

describeKind(FormData.prototype, (value, name, inspector) => {
  const entries = new List<string>();
  const own = formEntries(value as FormData);
  for (let i = 0; i < own.length && !inspector.full(i); i++) {
    push(entries, `${keyText(own[i]?.[0] ?? '')}: ${inspector.show(own[i]?.[1])}`);
  }
  return { title: name, entries };
});

const href = uncurryGetter<string>(URL.prototype, 'href');
describeKind(URL.prototype, (value, name) => ({ title: `${name} ${quote(href(value))}`, bare: true }));

describeKind(URLSearchParams.prototype, (value, name) => ({
  title: `${name} ${quote(serializeUrlencoded(shownPairs(pairsOf(value as URLSearchParams))))}`,
  bare: true,
}));

describeKind(DOMException.prototype, (value) => ({ title: readStack(value), bare: true }));

function attributes(prototype: object, own: readonly string[], inherited: readonly string[] = []): void {
  const parent = Object.getPrototypeOf(prototype) as object;
  const getters = [
    ...own.map((key) => ({ key, get: uncurryGetter<unknown>(prototype, key) })),
    ...inherited.map((key) => ({ key, get: uncurryGetter<unknown>(parent, key) })),
  ];
  describeKind(prototype, (value, name, inspector) => {
    const entries = new List<string>();
    for (let i = 0; i < getters.length; i++) {
      const getter = getters[i];
      if (getter !== undefined) push(entries, `${getter.key}: ${inspector.show(getter.get(value))}`);
    }
    return { title: name, entries };
  });
}

function pairs(title: string, list: ArrayLike<readonly [string, string]>): Content {
  const entries = new List<string>();
  for (let i = 0; i < list.length && i < PAIRS_SHOWN_MAX; i++)
    push(entries, `${keyText(list[i]?.[0] ?? '')}: ${quote(list[i]?.[1] ?? '')}`);
  return { title, entries };
}

/** The first headers of a list, unsorted. */
function pairsFrom({ flat }: HeaderList): ArrayLike<HeaderPair> {
  const first = new List<HeaderPair>();
  for (let i = 0; i < flat.length && first.length < PAIRS_SHOWN_MAX; i += 2)
    push(first, [flat[i] as string, flat[i + 1] as string]);
  return first;
}

/** As many pairs as a line can show. */
function shownPairs(all: ArrayLike<NameValue>): ArrayLike<NameValue> {
  const first = new List<NameValue>();
  let chars = 0;
  for (let i = 0; i < all.length && chars < PAIR_CHARS_MAX; i++) {
    const pair = all[i] as NameValue;
    push(first, [slice(pair[0], 0, PAIR_CHARS_MAX), slice(pair[1], 0, PAIR_CHARS_MAX)]);
    chars += pair[0].length + pair[1].length;
  }
  return first;
}
