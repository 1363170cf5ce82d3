/**
 * The JSX runtime: `<block>…</block>` becomes `{type: 'block', children: […]}` (REFERENCE 5).
 *
 * Elements are plain data. There is no reconciliation and no lifecycle: a rendering is a value that is sent away.
 * Compilers call these functions; authors write JSX.
 */
import type { ComponentChildren, Element, Elements } from './contentkit.ts';

type Child = Element | string;
type FunctionComponent = (props: Record<string, unknown>) => ComponentChildren;

/** Groups elements without one around them: `<>…</>`. */
export const Fragment = (props: { readonly children?: ComponentChildren }): Child[] =>
  flatten(props.children, 'Fragment');

/**
 * Makes an element, or runs a function component.
 *
 * @throws TypeError where the type is neither, or a child is something that cannot be drawn.
 */
export function jsx(type: string | FunctionComponent, props: Record<string, unknown>): unknown {
  if (typeof type === 'function') return type(props);
  if (typeof type !== 'string')
    throw new TypeError('JSX: the element type is undefined; is it exported and imported?');
  if (!('children' in props)) return { type, ...props };
  return { type, ...props, children: flatten(props.children, type) };
}

/** The same for elements with several children. */
export const jsxs = jsx;
/** The same for development builds, whose extra arguments are ignored. */
export const jsxDEV = jsx;

/** Children as one list: nested lists opened, what is not drawn dropped, numbers as text. */
function flatten(children: unknown, parent: string): Child[] {
  const list = (Array.isArray(children) ? children.flat(Number.POSITIVE_INFINITY) : [children]) as unknown[];
  return list.flatMap((child) => {
    if (child === undefined || child === null || typeof child === 'boolean') return [];
    if (typeof child === 'number' || typeof child === 'bigint') return String(child);
    if (typeof child === 'string' || isElement(child)) return child;
    // A promise or a function here would vanish in JSON, and the author would see nothing where something should be.
    throw new TypeError(`JSX: a child of <${parent}> is ${describe(child)}, not an element or text`);
  });
}

const isElement = (value: unknown): value is Element =>
  typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';

const describe = (value: unknown): string =>
  value instanceof Promise ? 'a promise (await it first)' : `of type ${typeof value}`;

/** What TypeScript looks up to check JSX. */
export declare namespace JSX {
  type Element = import('./contentkit.ts').Element;
  /** A function component takes props and returns at once: nothing awaits it. */
  type ElementType = keyof IntrinsicElements | ((props: never) => ComponentChildren);
  interface ElementChildrenAttribute {
    children: unknown;
  }
  interface IntrinsicElements extends Elements {}
}
