/**
 * What is wrong with a drawing, as a value that names where: the path in the tree, the element, the attribute.
 *
 * The tree is a tenant's, and may be as wrong as it likes: problems are counted, and what they quote of it is cut.
 */
import { nearest } from '../nearest.ts';

/** More than this helps nobody, and a tree of ten thousand wrong elements would be an answer of megabytes. */
const DRAWING_PROBLEMS_MAX = 20;
const QUOTED_CHARS_MAX = 64;
/** Steps of a path that are told, from its end: as many as elements can be nested, and some lists. */
const STEPS_TOLD_MAX = 256;

export interface DrawingProblem {
  /** From the root, which is `element`: `element.children[1].onPress`. */
  readonly path: string;
  /** The path and name of the element, and what is wrong with it. */
  readonly message: string;
  readonly hint?: string;
}

/** A place in the tree; only a place that something is wrong with is ever written out. */
export interface Place {
  readonly parent?: Place;
  /** Name of a member, or index in a list; of the root its own name. */
  readonly key: string | number;
  /** Name of the element that is here, where one is. */
  readonly tag?: string;
  /** Elements from the root to the one that is here, both included. */
  readonly depth?: number;
}

/** What has been found so far, and how much has been looked at. */
export class Findings {
  readonly problems: DrawingProblem[] = [];
  /** Elements and texts so far. */
  elements = 0;
  /** Set where the rest is not worth a look. */
  stopped = false;

  /** Nothing more is looked for. */
  get full(): boolean {
    return this.stopped || this.problems.length >= DRAWING_PROBLEMS_MAX;
  }

  /** @param text begins where the name of the place ends: `is required` */
  add(at: Place, text: string, hint?: string): undefined {
    if (this.full) return;
    const within: string[] = [];
    let owner: Place | undefined = at;
    for (; owner !== undefined && owner.tag === undefined; owner = owner.parent) within.unshift(step(owner));
    const attribute = within.join('').replace(/^\./, '');
    const told = attribute === '' ? text : `${attribute} ${text}`;
    this.problems.push({
      path: pathOf(at),
      message: owner === undefined ? told : `${pathOf(owner)} <${quoted(owner.tag ?? '')}>: ${told}`,
      ...(hint !== undefined && { hint }),
    });
  }
}

/** "Did you mean …?", where one of the known words is near. */
export function meant(word: string, known: Iterable<string>, shown = (name: string) => `"${name}"`) {
  const near = nearest(word, known);
  return near === undefined ? undefined : `Did you mean ${shown(near)}?`;
}

/** Text of a tenant's, as far as a message shows it. */
export const quoted = (text: string): string =>
  text.length > QUOTED_CHARS_MAX ? `${text.slice(0, QUOTED_CHARS_MAX)}…` : text;

function pathOf(at: Place): string {
  const steps: string[] = [];
  let place: Place | undefined = at;
  for (; place !== undefined && steps.length < STEPS_TOLD_MAX; place = place.parent) steps.push(step(place));
  const told = steps.reverse().join('');
  // Attack: lists in lists in elements in lists, and twenty problems each with a path of 20 KB.
  return place === undefined ? told.replace(/^\./, '') : `…${told}`;
}

const step = ({ key }: Place): string => (typeof key === 'number' ? `[${key}]` : `.${quoted(key)}`);
