/** How an inspection shows the web interfaces: by the attributes that matter in a log, or by their pairs. */
import { Blob, File } from './blob.ts';
import { DOMException } from './dom-exception.ts';
import { readStack } from './error-stack.ts';
import { FormData, formEntries } from './form-data.ts';
import { sortedPairs } from './header-list.ts';
import { Headers, headerListOf } from './headers.ts';
import { type Content, describeKind } from './inspect-built-in.ts';
import { keyText, quote } from './inspect-text.ts';
import { List, push } from './list.ts';
import { uncurryGetter, uncurryThis } from './primordials.ts';
import { Request } from './request.ts';
import { Response } from './response.ts';
import { URL } from './url.ts';
import { URLSearchParams } from './url-search-params.ts';

attributes(Request.prototype, ['method', 'url', 'headers', 'redirect', 'bodyUsed']);
attributes(Response.prototype, ['status', 'statusText', 'headers', 'type', 'bodyUsed']);
attributes(Blob.prototype, ['size', 'type']);
attributes(File.prototype, ['name', 'lastModified'], ['size', 'type']);

describeKind(Headers.prototype, (value, name) => pairs(name, sortedPairs(headerListOf(value as Headers))));

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

const query = uncurryThis(URLSearchParams.prototype.toString);
describeKind(URLSearchParams.prototype, (value, name) => ({
  title: `${name} ${quote(query(value as URLSearchParams))}`,
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
  for (let i = 0; i < list.length && i < 100; i++)
    push(entries, `${keyText(list[i]?.[0] ?? '')}: ${quote(list[i]?.[1] ?? '')}`);
  return { title, entries };
}
