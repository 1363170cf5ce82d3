/**
 * Client state: the values of form fields, by the name in their attribute `state`. A field begins
 * with the state of that name, and each action sends the values with the state. They live as long
 * as the component is shown, across all of its drawings, and no drawing replaces what a user enters
 * meanwhile.
 */
import { type Signal, signal } from '@preact/signals';
import { boundKey, resolveBindings } from '../drawing/bindings.ts';
import { type DrawnTree, nodesOf } from '../drawing/drawn-tree.ts';
import { member, textMember } from '../drawing/json.ts';
import { LIMITS } from '../limits.ts';
import type { JsonObject } from '../transport.ts';

interface Held {
  readonly value: Signal<unknown>;
  /** The last `initialValue` that was taken, as JSON. */
  initial: string;
  /** When the user last changed it, in edits of the component. */
  edited: number;
}

/** What the user had entered at some time. */
export interface Entered {
  /** Number of edits until then. */
  readonly edits: number;
  /** Values of the fields that were shown. */
  readonly values: JsonObject;
}

type Choice = string | number;

/** Initial values of the elements that have none. */
const EMPTY: Readonly<Record<string, unknown>> = { textinput: '', switch: false };

export class ClientState {
  readonly #held = new Map<string, Held>();
  /** Names of the fields that are shown. */
  #fields: ReadonlyMap<string, Field> = new Map();
  /** State of the component, as it was drawn last. */
  readonly #state = signal<JsonObject>({});
  /** Number of values that the user has entered. */
  #edits = 0;
  /** Name of the field in which characters are composed, such as those of Chinese. */
  #composed: string | undefined;

  /** What the user has entered by now. */
  get entered(): Entered {
    return this.#entered(this.#edits, (_, held) => held.value.peek());
  }

  /**
   * What an action sends that was dispatched then, and has waited: drawings since may have changed
   * fields, and what the user has entered since is not for it.
   */
  sentFor({ edits, values }: Entered): Entered {
    return this.#entered(edits, (key, held) =>
      held.edited > edits ? member(values, key) : held.value.peek(),
    );
  }

  #entered(edits: number, read: (key: string, held: Held) => unknown): Entered {
    const values: [key: string, value: unknown][] = [];
    for (const key of this.#fields.keys()) {
      const held = this.#held.get(key);
      const value = held && read(key, held);
      if (value !== undefined) values.push([key, value]);
    }
    // Defined, not assigned. Attack: a field named `__proto__`.
    return { edits, values: Object.fromEntries(values) };
  }

  /** The value of a field. Drawing it again follows from a change, inside of a component. */
  get(key: string): unknown {
    return this.#signal(key)?.value.value;
  }

  /** The value of a binding: of a field that is shown, else of the state, else of a field before. */
  peek(key: string): unknown {
    const held = this.#held.get(key)?.value.peek();
    return this.#fields.has(key) ? held : (stateOf(this.#state.peek(), key) ?? held);
  }

  /** The user has entered a value. */
  enter(key: string, value: unknown): void {
    const held = this.#signal(key);
    if (held === undefined) return;
    this.#edits += 1;
    held.edited = this.#edits;
    held.value.value = value;
  }

  /** Characters are composed in a field; undefined: no longer. */
  compose(key: string | undefined): void {
    this.#composed = key;
  }

  /** Replaces a binding by its value, and follows it; anything else is itself. */
  dynamic(value: unknown): unknown {
    const key = boundKey(value);
    if (key === undefined) return value;
    const held = this.get(key);
    return this.#fields.has(key) ? held : (stateOf(this.#state.value, key) ?? held);
  }

  /**
   * Replaces all bindings. @param scope values that are set for this one action
   * @throws DataTooLarge
   */
  resolve(data: unknown, scope: Readonly<Record<string, unknown>> = {}): unknown {
    return resolveBindings(data, (key) => (Object.hasOwn(scope, key) ? scope[key] : this.peek(key)));
  }

  /**
   * Takes the values of a drawing, unless the user has entered another one since it was asked for,
   * or is about to. A field that was not shown begins with the state of its name, else with its
   * initial value. One that was shown follows the state where the code has set another value than
   * it was sent, and its initial value where that has changed since.
   */
  adopt(tree: DrawnTree, state: JsonObject, { edits, values }: Entered): void {
    const before = this.#fields;
    this.#state.value = state;
    const fields = fieldsOf(tree, (value) => {
      const key = boundKey(value);
      return key === undefined ? value : this.peek(key);
    });
    this.#fields = fields;
    if (this.#composed !== undefined && !fields.has(this.#composed)) this.#composed = undefined;
    this.#dropUnused();
    for (const [key, field] of fields) {
      const held = this.#signal(key);
      if (held === undefined || held.edited > edits || this.#composed === key) continue;
      const initial = JSON.stringify(field.initial) ?? '';
      const given = stateOf(state, key);
      const isSet =
        Object.hasOwn(state, key) && JSON.stringify(given) !== JSON.stringify(stateOf(values, key));
      if (isSet || (!before.has(key) && given !== undefined)) held.value.value = shown(field, given);
      else if (held.initial !== initial) held.value.value = field.initial;
      held.initial = initial;
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

  #dropUnused(): void {
    if (this.#held.size + this.#fields.size <= LIMITS.stateKeys) return;
    for (const key of this.#held.keys()) if (!this.#fields.has(key)) this.#held.delete(key);
  }
}

const isChoice = (value: unknown): value is Choice => typeof value === 'string' || typeof value === 'number';

/** A value of the state. What is `null` is not there. */
const stateOf = (state: JsonObject, key: string): unknown => member(state, key) ?? undefined;

/** One name among the fields of a drawing. */
interface Field {
  /** Value without one in the state. */
  readonly initial: unknown;
  /** Whether a value of the state is one that the field can show. */
  readonly fits: (value: unknown) => boolean;
}

/** A value that the field cannot show stays in the state: the field has none until one is entered. */
const shown = ({ initial, fits }: Field, given: unknown): unknown => {
  if (given === undefined) return initial;
  return fits(given) ? given : undefined;
};

/** Name → field, of all fields of a drawing. */
function fieldsOf(tree: DrawnTree, dynamic: (value: unknown) => unknown): ReadonlyMap<string, Field> {
  const found = new Map<string, Field>();
  const boxes = new Map<string, { value: Choice; initial: unknown }[]>();
  for (const { type, attributes } of nodesOf(tree.root)) {
    const key = textMember(attributes, 'state');
    if (key === undefined || key === '') continue;
    const initial = dynamic(member(attributes, 'initialValue'));
    if (type === 'checkbox') {
      const value = member(attributes, 'value');
      if (isChoice(value)) boxes.set(key, [...(boxes.get(key) ?? []), { value, initial }]);
    } else if (type === 'codeblock')
      found.set(key, { initial: dynamic(member(attributes, 'content')), fits: isChoice });
    else if (initial !== undefined || !found.has(key))
      found.set(key, { initial: initial ?? EMPTY[type], fits: FITS[type] ?? isChoice });
  }
  for (const [key, group] of boxes)
    found.set(key, {
      initial: initialBoxes(group),
      fits: (value) => Array.isArray(value) || (group.length === 1 && typeof value === 'boolean'),
    });
  return found;
}

const FITS: Readonly<Record<string, Field['fits']>> = {
  switch: (value) => typeof value === 'boolean',
  select: (value) => isChoice(value) || (Array.isArray(value) && value.every(isChoice)),
};

/** One checkbox alone is a boolean; several, or one with a list, are the list of what is chosen. */
function initialBoxes(group: readonly { value: Choice; initial: unknown }[]): unknown {
  const list = group.find(({ initial }) => Array.isArray(initial))?.initial;
  if (Array.isArray(list)) return list.filter(isChoice);
  if (group.length === 1) return group[0]?.initial === true;
  return group.filter(({ initial }) => initial === true).map(({ value }) => value);
}
