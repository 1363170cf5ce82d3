/** Finds the parts of a drawing that a user can press or fill in. */
import type { ContentKitElement } from './component.ts';

/** A part with an action: a button, a card, or a control. */
export interface Pressable {
  readonly label: string;
  readonly onPress: unknown;
  readonly disabled?: unknown;
}

export interface Field {
  /** Its `state`. */
  readonly key: string;
  /** Label of the `input` around it. */
  readonly label?: string;
  readonly element: ContentKitElement;
}

const FIELDS: ReadonlySet<string> = new Set([
  'textinput',
  'select',
  'switch',
  'radio',
  'checkbox',
  'codeblock',
]);
/** Values that belong to the code alone: nothing in them is drawn. */
const NOT_DRAWN: ReadonlySet<string> = new Set([
  'onPress',
  'onValueChange',
  'onContentChange',
  'props',
  'returnValue',
]);

/** @throws an Error that names what can be pressed, if nothing or several things have the label */
export function pressableOf(root: ContentKitElement, label: string): Pressable {
  const all = [...objectsOf(root)].flatMap((part) => {
    const text = part['label'] ?? part['title'] ?? part['icon'];
    return part['onPress'] !== undefined && typeof text === 'string'
      ? [{ ...part, label: text } as unknown as Pressable]
      : [];
  });
  const found = all.filter((part) => part.label === label);
  const [only] = found;
  if (only !== undefined && found.length === 1) return only;
  const known =
    all.length === 0
      ? 'Nothing can be pressed.'
      : `What can be pressed: ${all.map((part) => `"${part.label}"`).join(', ')}.`;
  throw new Error(
    `${found.length === 0 ? 'Nothing has' : `${found.length} parts have`} the label "${label}". ${known}`,
  );
}

/** All fields, in the order of the drawing. */
export function fieldsOf(root: ContentKitElement): readonly Field[] {
  const labels = new Map<unknown, string>();
  const fields: Field[] = [];
  for (const part of objectsOf(root)) {
    if (part['type'] === 'input' && typeof part['label'] === 'string')
      labels.set(part['element'], part['label']);
    const { type, state } = part as { type?: unknown; state?: unknown };
    if (typeof type !== 'string' || !FIELDS.has(type) || typeof state !== 'string') continue;
    const label = labels.get(part);
    fields.push({ key: state, element: part as ContentKitElement, ...(label !== undefined && { label }) });
  }
  return fields;
}

/** The values that a field can have; undefined if they come from a URL, or may be any. */
export function choicesOf(
  root: ContentKitElement,
  { key, element }: Field,
): readonly (string | number)[] | undefined {
  if (element.type === 'radio')
    return fieldsOf(root)
      .filter((field) => field.key === key)
      .map(({ element: { value } }) => value as string | number);
  const { options, acceptInput } = element as { options?: unknown; acceptInput?: unknown };
  if (acceptInput === true || !Array.isArray(options)) return undefined;
  return (options as { id: string }[]).map(({ id }) => id);
}

/** The names of fields, as a sentence. */
export const labelsOf = (fields: readonly Field[]): string =>
  fields.length === 0
    ? 'it has no fields.'
    : `its fields are ${fields.map(({ key, label }) => (label === undefined ? `"${key}"` : `"${key}" (${label})`)).join(', ')}.`;

/** All objects of a drawing, from the outside in. */
function* objectsOf(value: unknown): Generator<Readonly<Record<string, unknown>>> {
  if (Array.isArray(value)) {
    for (const each of value) yield* objectsOf(each);
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  yield value as Readonly<Record<string, unknown>>;
  for (const [name, each] of Object.entries(value)) if (!NOT_DRAWN.has(name)) yield* objectsOf(each);
}
