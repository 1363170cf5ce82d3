/**
 * What ContentKit elements are, and what may stand between two tags
 * (docs/contract/components.md#jsx). Types only: the host validates what a component returns.
 *
 * The catalogue of elements is in `contentkit-elements.ts`.
 */

/** A ContentKit element: its tag as `type`, its attributes as members. JSX makes these. */
export interface Element {
  /** Tag of the element. */
  readonly type: string;
  readonly [attribute: string]: unknown;
}

/** Renders nothing: what `condition && <text>…</text>` leaves if the condition is false. */
type Nothing = boolean | null | undefined;

/**
 * Elements between two tags. `null`, `undefined` and booleans are dropped, nested lists flattened.
 * Plain text stands in a `<text>`.
 */
export type ElementChildren = Element | Nothing | readonly ElementChildren[];

/**
 * Text between two tags, with elements in it. Numbers become text; `null`, `undefined` and
 * booleans are dropped, nested lists flattened.
 */
export type TextChildren = Element | string | number | Nothing | readonly TextChildren[];

/** What may stand between two tags of any element, and what a function component returns. */
export type ComponentChildren = TextChildren;

/**
 * A value, or a binding to client state: `element.dynamicState(name)`
 * (docs/contract/components.md#bindings).
 */
export type Dynamic<T> = T | { readonly $state: string };
