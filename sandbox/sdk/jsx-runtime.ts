/**
 * The JSX runtime: `<block>…</block>` becomes `{type: 'block', children: […]}`
 * (docs/contract/components.md#jsx).
 *
 * Elements are plain data: no reconciliation and no lifecycle. Compilers call these functions;
 * authors write JSX.
 */

import type { ComponentChildren, Element } from './contentkit.ts';
import type { Elements } from './contentkit-elements.ts';

type Child = Element | string;
type FunctionComponent = (props: Record<string, unknown>) => ComponentChildren;

/** Groups elements without an element around them: `<>…</>`. */
export const Fragment = (props: { readonly children?: ComponentChildren }): Child[] =>
  flatten(props.children, 'Fragment');

/**
 * Makes an element, or calls a function component.
 *
 * @throws TypeError if `type` is neither a tag nor a function, or if a child is not an element,
 *   text, a number, a list or empty
 */
export function jsx(type: string | FunctionComponent, props: Record<string, unknown>): unknown {
  if (typeof type === 'function') return type(props);
  if (typeof type !== 'string')
    throw new TypeError('JSX: the element type is undefined; is it exported and imported?');
  if (!('children' in props)) return { type, ...props };
  return { type, ...props, children: flatten(props.children, type) };
}

/** `jsx` for elements with several children. */
export const jsxs = jsx;
/** `jsx` for development builds; their extra arguments are ignored. */
export const jsxDEV = jsx;

/** Children as one list: nested lists flattened, empty values dropped, numbers as text. */
function flatten(children: unknown, parent: string): Child[] {
  const list = (Array.isArray(children) ? children.flat(Number.POSITIVE_INFINITY) : [children]) as unknown[];
  return list.flatMap((child) => {
    if (child === undefined || child === null || typeof child === 'boolean') return [];
    if (typeof child === 'number' || typeof child === 'bigint') return String(child);
    if (typeof child === 'string' || isElement(child)) return child;
    // JSON would drop a promise or a function without an error.
    throw new TypeError(`JSX: a child of <${parent}> is ${describe(child)}, not an element or text`);
  });
}

const isElement = (value: unknown): value is Element =>
  typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';

const describe = (value: unknown): string =>
  value instanceof Promise ? 'a promise (await it first)' : `of type ${typeof value}`;

/** The types by which TypeScript checks JSX. */
export declare namespace JSX {
  type Element = import('./contentkit.ts').Element;
  /** A function component takes props and returns elements. It is not awaited. */
  type ElementType = keyof IntrinsicElements | ((props: never) => ComponentChildren);
  interface ElementChildrenAttribute {
    children: unknown;
  }
  interface IntrinsicElements extends Elements {}
}
