/**
 * Problems and warnings of a drawing, as values: each has a path in the tree, the element and the
 * attribute. A problem refuses the drawing; a warning says what was left out of it.
 *
 * The tree is untrusted, so their number and the length of each quotation are bounded, and their
 * texts are built at the end, for those that are reported.
 */
import { nearest } from '../spelling-hint.ts';

/**
 * Maximum problems listed. Attack: ten thousand wrong elements, whose problems would be megabytes.
 */
const DRAWING_PROBLEMS_MAX = 20;
/** Maximum warnings listed; the others are counted. */
const DRAWING_WARNINGS_MAX = 10;
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

/** What was left out of a drawing, or changed in it. */
export interface DrawingWarnings {
  /** The first of them. */
  readonly listed: readonly DrawingProblem[];
  /** All of them. */
  readonly count: number;
}

/** A place in the tree, as a linked list: its text is only built for a problem. */
export interface TreePosition {
  readonly parent?: TreePosition;
  /** Name of a member, or index in a list; for the root, its name. */
  readonly key: string | number;
  /** Name of the element at this place, if it is one. */
  readonly tag?: string;
  /** Number of elements from the root to this one, both included. */
  readonly depth?: number;
}

/** Makes a hint. Only called for a fault that is reported: the search for a near word is slow. */
type MakeHint = () => string | undefined;

/** Something that does not fit, before its text is built. */
interface Fault {
  readonly at: TreePosition;
  /** The clause after the name of the place, for example `is required`. */
  readonly text: string;
  readonly hint: MakeHint | undefined;
  /** Whether it refuses the drawing also inside of an optional value. */
  readonly isFinal: boolean;
}

/** Collects the problems and warnings of one check, and counts the elements checked. */
export class Findings {
  readonly #faults: Fault[] = [];
  readonly #dropped: Fault[] = [];
  #droppedCount = 0;
  /** Elements and texts checked so far. */
  elements = 0;
  /** Set to end the check before the list of problems is full. */
  stopped = false;

  /** Whether the check ends. */
  get full(): boolean {
    return this.stopped || this.#faults.length >= DRAWING_PROBLEMS_MAX;
  }

  /** The number of faults so far, for `forgive`. */
  get mark(): number {
    return this.#faults.length;
  }

  /** Something required is absent or does not fit. */
  add(at: TreePosition, text: string, hint?: MakeHint): undefined {
    if (!this.full) this.#faults.push({ at, text, hint, isFinal: false });
  }

  /** A bound is passed, or a URL is dangerous: the drawing is refused wherever this is. */
  refuse(at: TreePosition, text: string): undefined {
    if (!this.full) this.#faults.push({ at, text, hint: undefined, isFinal: true });
  }

  /**
   * Something harmless is left out or changed.
   *
   * Attack: an element with two hundred thousand unknown attributes. Beyond the bound they are only
   * counted.
   */
  drop(at: TreePosition, text: string, hint?: MakeHint): undefined {
    this.#droppedCount += 1;
    if (this.#dropped.length < DRAWING_WARNINGS_MAX) this.#dropped.push({ at, text, hint, isFinal: false });
  }

  /**
   * Turns the faults since `mark` into one warning: the optional value that has them is left out.
   *
   * @returns false where one of them is final; they are kept then
   */
  forgive(mark: number): boolean {
    if (this.stopped) return false;
    for (let index = mark; index < this.#faults.length; index += 1)
      if (this.#faults[index]?.isFinal) return false;
    const [first] = this.#faults.splice(mark);
    if (first !== undefined) this.drop(first.at, first.text, first.hint);
    return true;
  }

  get problems(): readonly DrawingProblem[] {
    return this.#faults.map(problemOf);
  }

  get warnings(): DrawingWarnings {
    return { listed: this.#dropped.map(problemOf), count: this.#droppedCount };
  }
}

function problemOf({ at, text, hint }: Fault): DrawingProblem {
  const within: string[] = [];
  let owner: TreePosition | undefined = at;
  for (; owner !== undefined && owner.tag === undefined; owner = owner.parent) within.unshift(step(owner));
  const attribute = within.join('').replace(/^\./, '');
  const clause = attribute === '' ? text : `${attribute} ${text}`;
  const hinted = hint?.();
  return {
    path: pathOf(at),
    message: owner === undefined ? clause : `${pathOf(owner)} <${quoted(owner.tag ?? '')}>: ${clause}`,
    ...(hinted !== undefined && { hint: hinted }),
  };
}

/** A "Did you mean …?" hint, where one of the known words is near. */
export function meant(word: string, known: Iterable<string>, shown = (name: string) => `"${name}"`) {
  const near = nearest(word, known);
  return near === undefined ? undefined : `Did you mean ${shown(near)}?`;
}

/** Untrusted text, truncated for a message. */
export const quoted = (text: string): string =>
  text.length > QUOTED_CHARS_MAX ? `${text.slice(0, QUOTED_CHARS_MAX)}…` : text;

function pathOf(at: TreePosition): string {
  const steps: string[] = [];
  let place: TreePosition | undefined = at;
  for (; place !== undefined && steps.length < STEPS_SHOWN_MAX; place = place.parent) steps.push(step(place));
  const path = steps.reverse().join('');
  // Attack: lists in lists in elements in lists, and twenty problems each with a path of 20 KB.
  return place === undefined ? path.replace(/^\./, '') : `…${path}`;
}

const step = ({ key }: TreePosition): string => (typeof key === 'number' ? `[${key}]` : `.${quoted(key)}`);
