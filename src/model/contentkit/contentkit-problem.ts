/**
 * Problems of a drawing, as values: each has a path in the tree, the element and the attribute.
 *
 * The tree is untrusted, so the number of problems and the length of each quotation are bounded.
 */
import { nearest } from '../nearest.ts';

/**
 * Maximum problems listed. Attack: ten thousand wrong elements, whose problems would be megabytes.
 */
const DRAWING_PROBLEMS_MAX = 20;
const QUOTED_CHARS_MAX = 64;
/** Maximum steps of a reported path, counted from its end: enough for the deepest valid element. */
const STEPS_SHOWN_MAX = 256;

export interface DrawingProblem {
  /** Path from the root `element`, for example `element.children[1].onPress`. */
  readonly path: string;
  /** The path and name of the element, and what is wrong with it. */
  readonly message: string;
  readonly hint?: string;
}

/** A place in the tree, as a linked list: its text is only built for a problem. */
export interface Place {
  readonly parent?: Place;
  /** Name of a member, or index in a list; for the root, its name. */
  readonly key: string | number;
  /** Name of the element at this place, if it is one. */
  readonly tag?: string;
  /** Number of elements from the root to this one, both included. */
  readonly depth?: number;
}

/** Collects the problems of one check, and counts the elements checked. */
export class Findings {
  readonly problems: DrawingProblem[] = [];
  /** Elements and texts checked so far. */
  elements = 0;
  /** Set to end the check before the list of problems is full. */
  stopped = false;

  /** Whether the check ends. */
  get full(): boolean {
    return this.stopped || this.problems.length >= DRAWING_PROBLEMS_MAX;
  }

  /** @param text the clause after the name of the place, for example `is required` */
  add(at: Place, text: string, hint?: string): undefined {
    if (this.full) return;
    const within: string[] = [];
    let owner: Place | undefined = at;
    for (; owner !== undefined && owner.tag === undefined; owner = owner.parent) within.unshift(step(owner));
    const attribute = within.join('').replace(/^\./, '');
    const clause = attribute === '' ? text : `${attribute} ${text}`;
    this.problems.push({
      path: pathOf(at),
      message: owner === undefined ? clause : `${pathOf(owner)} <${quoted(owner.tag ?? '')}>: ${clause}`,
      ...(hint !== undefined && { hint }),
    });
  }
}

/** A "Did you mean …?" hint, where one of the known words is near. */
export function meant(word: string, known: Iterable<string>, shown = (name: string) => `"${name}"`) {
  const near = nearest(word, known);
  return near === undefined ? undefined : `Did you mean ${shown(near)}?`;
}

/** Untrusted text, truncated for a message. */
export const quoted = (text: string): string =>
  text.length > QUOTED_CHARS_MAX ? `${text.slice(0, QUOTED_CHARS_MAX)}…` : text;

function pathOf(at: Place): string {
  const steps: string[] = [];
  let place: Place | undefined = at;
  for (; place !== undefined && steps.length < STEPS_SHOWN_MAX; place = place.parent) steps.push(step(place));
  const path = steps.reverse().join('');
  // Attack: lists in lists in elements in lists, and twenty problems each with a path of 20 KB.
  return place === undefined ? path.replace(/^\./, '') : `…${path}`;
}

const step = ({ key }: Place): string => (typeof key === 'number' ? `[${key}]` : `.${quoted(key)}`);
