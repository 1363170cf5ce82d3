/** The URL of a request: the base, the path with its names filled in, and the query. */
import type { RequestParts } from './request.ts';

/** @throws TypeError if the path needs a name that is not given */
export function urlOf(
  base: string | URL,
  path: string,
  { path: names = {}, query = {} }: RequestParts,
): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = names[name];
    if (value === undefined || value === '') throw new TypeError(`${path} needs a value for "${name}".`);
    return encoded(String(value), name);
  });
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) search.append(name, String(value));
  const text = search.toString();
  return `${base}${filled}${text === '' ? '' : `${filled.includes('?') ? '&' : '?'}${text}`}`;
}

/**
 * Attack: a name such as `../tokens`, which would reach another route. Dot segments are refused,
 * as URL parsers resolve them also where they are encoded. The one name with slashes is `path`.
 */
function encoded(value: string, name: string): string {
  const segments = name === 'path' ? value.split('/') : [value];
  if (segments.some((segment) => /^\.{1,2}$/.test(segment)))
    throw new TypeError(`"${value}" cannot be a name in a path.`);
  return segments.map(encodeURIComponent).join('/');
}
