/**
 * What elements are, and what may stand between two tags (REFERENCE 5). Types only: the host checks what is drawn.
 *
 * The catalogue itself is in `contentkit-elements.ts`.
 */

/** An element, as it is sent to the platform. */
export interface Element {
  readonly type: string;
  readonly [attribute: string]: unknown;
}

/** What draws nothing: what is left of `condition && <text>…</text>`. */
type Nothing = boolean | null | undefined;

/** Elements between two tags. Empty values are dropped, lists are opened. Text stands in a `<text>`. */
export type ElementChildren = Element | Nothing | readonly ElementChildren[];

/** Text between two tags, with elements in it. Numbers become text, empty values are dropped, lists are opened. */
export type TextChildren = Element | string | number | Nothing | readonly TextChildren[];

/** What may stand between two tags of some element, and what a function component draws. */
export type ComponentChildren = TextChildren;

/** A value, or a name of client state to take it from: `element.dynamicState(name)`. */
export type Dynamic<T> = T | { readonly $state: string };

export type { Confirm, Control, Elements, Icon, Press, SelectOption } from './contentkit-elements.ts';
