/**
 * Client state: the values of form fields, by the name in their attribute `state`. It lives as long
 * as the component is shown, across all of its drawings, and no drawing replaces what a user enters
 * meanwhile.
 */
import { type Signal, signal } from '@preact/signals';
import { boundKey, resolveBindings } from '../drawing/bindings.ts';
import { type DrawnTree, nodesOf } from '../drawing/drawn-tree.ts';
import { member, textMember } from '../drawing/json.ts';
import { LIMITS } from '../limits.ts';

interface Held {
  readonly value: Signal<unknown>;
  /** The last `initialValue` that was taken, as JSON. */
  initial: string;
  /** When the user last changed it, in edits of the component. */
  edited: number;
}

type Choice = string | number;

/** Initial values of the elements that have none. */
const EMPTY: Readonly<Record<string, unknown>> = { textinput: '', switch: false };

export class ClientState {
  readonly #held = new Map<string, Held>();
  /** Number of values that the user has entered. */
  #edits = 0;

  /** A mark of now, for `adopt`. */
  get edits(): number {
    return this.#edits;
  }

  /** A value. Drawing it again follows from a change, inside of a component. */
  get(key: string): unknown {
    return this.#signal(key)?.value.value;
  }

  peek(key: string): unknown {
    return this.#held.get(key)?.value.peek();
  }

  /** The user has entered a value. */
  enter(key: string, value: unknown): void {
    const held = this.#signal(key);
    if (held === undefined) return;
    this.#edits += 1;
    held.edited = this.#edits;
    held.value.value = value;
  }

  /** Replaces a binding by its value; anything else is itself. */
  dynamic(value: unknown): unknown {
    const key = boundKey(value);
    return key === undefined ? value : this.get(key);
  }

  /**
   * Replaces all bindings. @param scope values that are set for this one action
   * @throws DataTooLarge
   */
  resolve(data: unknown, scope: Readonly<Record<string, unknown>> = {}): unknown {
    return resolveBindings(data, (key) => (Object.hasOwn(scope, key) ? scope[key] : this.peek(key)));
  }

  /**
   * Takes the initial values of a drawing: of names that are new, and of those whose initial value
   * has changed since, unless the user has entered another value after `since`.
   */
  adopt(tree: DrawnTree, since: number): void {
    const initial = initialValues(tree, (value) => {
      const key = boundKey(value);
      return key === undefined ? value : this.peek(key);
    });
    this.#dropUnused(initial);
    for (const [key, value] of initial) {
      const held = this.#signal(key);
      if (held === undefined) continue;
      const text = JSON.stringify(value) ?? '';
      if (held.initial === text || held.edited > since) continue;
      held.initial = text;
      held.value.value = value;
    }
  }

  /** @returns undefined if there are too many names */
  #signal(key: string): Held | undefined {
    const known = this.#held.get(key);
    if (known !== undefined || this.#held.size >= LIMITS.stateKeys) return known;
    const held: Held = { value: signal<unknown>(undefined), initial: '', edited: 0 };
    this.#held.set(key, held);
    return held;
  }

  #dropUnused(used: ReadonlyMap<string, unknown>): void {
    if (this.#held.size + used.size <= LIMITS.stateKeys) return;
    for (const key of this.#held.keys()) if (!used.has(key)) this.#held.delete(key);
  }
}

const isChoice = (value: unknown): value is Choice => typeof value === 'string' || typeof value === 'number';

/** Name → initial value, of all fields of a drawing. */
function initialValues(tree: DrawnTree, dynamic: (value: unknown) => unknown): ReadonlyMap<string, unknown> {
  const found = new Map<string, unknown>();
  const boxes = new Map<string, { value: Choice; initial: unknown }[]>();
  for (const { type, attributes } of nodesOf(tree.root)) {
    const key = textMember(attributes, 'state');
    if (key === undefined || key === '') continue;
    const initial = dynamic(member(attributes, 'initialValue'));
    if (type === 'checkbox') {
      const value = member(attributes, 'value');
      if (isChoice(value)) boxes.set(key, [...(boxes.get(key) ?? []), { value, initial }]);
    } else if (type === 'codeblock') found.set(key, dynamic(member(attributes, 'content')));
    else if (initial !== undefined || !found.has(key)) found.set(key, initial ?? EMPTY[type]);
  }
  for (const [key, group] of boxes) found.set(key, initialBoxes(group));
  return found;
}

/** One checkbox alone is a boolean; several, or one with a list, are the list of what is chosen. */
function initialBoxes(group: readonly { value: Choice; initial: unknown }[]): unknown {
  const list = group.find(({ initial }) => Array.isArray(initial))?.initial;
  if (Array.isArray(list)) return list.filter(isChoice);
  if (group.length === 1) return group[0]?.initial === true;
  return group.filter(({ initial }) => initial === true).map(({ value }) => value);
}
