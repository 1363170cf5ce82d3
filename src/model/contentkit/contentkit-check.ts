/**
 * Checks and normalises a drawing: the resulting tree has known elements with known attributes and
 * nothing else (`docs/contract/components.md#validation`).
 *
 * The tree is untrusted JSON: its depth, its elements and the list of its problems are bounded, and
 * the work is linear in its size. Harmless noise is normalised: nested lists, `null`, `false`,
 * numbers in place of text. What is unknown, and an optional attribute that does not fit, is left
 * out with a warning. The catalogue is compiled once, when this module is loaded.
 */
import { type ChildrenRule, DEFINITIONS, ELEMENTS, type ElementKind, ROOTS } from './contentkit.ts';
import {
  type DrawingProblem,
  type DrawingWarnings,
  Findings,
  meant,
  quoted,
  type TreePosition,
} from './contentkit-problem.ts';
import { VALUES } from './contentkit-values.ts';
import {
  alternatives,
  type Check,
  type Definitions,
  isObject,
  type JsonObject,
  optionalCheck,
  valueCheck,
} from './contentkit-values-check.ts';
import {
  DRAWING_DEPTH_MAX,
  DRAWING_ELEMENTS_MAX,
  elementsOpened,
  hasPiledMarks,
  MARKDOWN_ELEMENTS_MAX,
  MARKS_MAX,
} from './drawing-bounds.ts';

/** Maximum element names in one message. */
const NAMES_LISTED_MAX = 7;

export type CheckedDrawing =
  | { readonly ok: true; readonly element: JsonObject; readonly warnings: DrawingWarnings }
  | { readonly ok: false; readonly problems: readonly DrawingProblem[] };

/** Checks the tree below `element`. @param element parsed JSON, untrusted */
export function checkDrawing(element: unknown): CheckedDrawing {
  const findings = new Findings();
  const checked = rootCheck(element, ROOT, findings);
  const { problems, warnings } = findings;
  if (problems.length > 0) return { ok: false, problems };
  return { ok: true, element: checked as JsonObject, warnings };
}

const ROOT: TreePosition = { key: 'element' };

/**
 * How many elements a place is inside of. Attack: ten thousand elements below sixty that are each
 * in sixty nested lists. The walk up ends at the nearest element, which stores its depth.
 */
function depthAt(at: TreePosition): number {
  let place: TreePosition | undefined = at;
  while (place !== undefined && place.depth === undefined) place = place.parent;
  return place?.depth ?? 0;
}

const definitions: Definitions = {
  value: (name) => VALUES[name],
  element: (names) => elementCheck(names, 'required'),
  elements: (names, takesText) => childrenCheck({ elements: names, text: takesText, required: false }),
};

/** A compiled element. */
interface Kind {
  readonly attributes: ReadonlyMap<string, Check>;
  /** Names of the required attributes. */
  readonly required: readonly string[];
  /** Names of attributes, including `children` where the element can have some. */
  readonly known: readonly string[];
  /** The fault of an unknown attribute. */
  readonly unknown: string;
  readonly children: Check | undefined;
  /** Whether absent children become an empty list. */
  readonly hasChildren: boolean;
}

const KINDS: ReadonlyMap<string, Kind> = new Map(
  Object.entries(ELEMENTS).map(([name, kind]) => [name, compiled(name, kind)]),
);
const rootCheck = elementCheck(ROOTS, 'required');

function compiled(name: string, { attributes, children }: ElementKind): Kind {
  const definition = DEFINITIONS[name] as { readonly required?: readonly string[] };
  const required = (definition.required ?? []).filter((key) => Object.hasOwn(attributes, key));
  const checks = Object.entries(attributes).map(([key, schema]): [string, Check] => {
    const check = valueCheck(schema, definitions);
    return [key, required.includes(key) ? check : optionalCheck(check)];
  });
  const known = [...Object.keys(attributes), ...(children ? ['children'] : [])];
  const there = known.length === 0 ? 'no attributes' : known.join(', ');
  return {
    attributes: new Map(checks),
    required,
    known,
    unknown: `is unknown; there are ${there}`,
    children: children && childrenCheck(children),
    hasChildren: children?.required ?? false,
  };
}

/**
 * A check that the value is one of these elements. A list of one element is that element.
 *
 * @param place `listed`: in a list, of which another element is left out; `required`: where an
 *   element of these has to be
 */
function elementCheck(names: readonly string[], place: 'listed' | 'required'): Check {
  const allowed = new Set(names);
  const isMany = names.length > NAMES_LISTED_MAX;
  const listed = alternatives(names.map((name) => `<${name}>`));
  const noElement = `must be ${isMany ? 'an element: an object with a `type`' : listed}`;
  const misplaced = isMany ? 'may not stand here' : `may not stand here, only ${listed} may`;
  const check: Check = (value, at, findings) => {
    if (Array.isArray(value)) {
      const [first, ...others] = openedList(value, at, findings);
      const isOne = first !== undefined && others.length === 0;
      return isOne ? check(first.item, first.place, findings) : findings.add(at, noElement);
    }
    if (!isObject(value) || typeof value['type'] !== 'string') return findings.add(at, noElement);
    const tag = value['type'];
    const kind = KINDS.get(tag);
    const depth = depthAt(at);
    const inside: TreePosition = { ...at, tag, depth: depth + 1 };
    if (kind === undefined || !allowed.has(tag)) {
      const text = kind === undefined ? 'there is no such element' : misplaced;
      const hint = () =>
        kind === undefined ? meant(tag, KINDS.keys(), (name) => `<${name}>`) : hintOfPlace(tag);
      return place === 'listed' ? findings.drop(inside, text, hint) : findings.add(inside, text, hint);
    }
    const opened = elementsOpened(value);
    if (isTooMany(findings, inside, 1 + opened)) return undefined;
    if (tag === 'markdown' && opened > MARKDOWN_ELEMENTS_MAX)
      return findings.refuse({ parent: inside, key: 'content' }, MORE_MARKDOWN);
    if (depth >= DRAWING_DEPTH_MAX) return findings.refuse(inside, DEEPER);
    return checkedElement(value, kind, inside, findings);
  };
  return check;
}

const MORE_MARKDOWN = `must have at most ${MARKDOWN_ELEMENTS_MAX} paragraphs, list items, cells and other parts`;
const DEEPER = `is nested deeper than ${DRAWING_DEPTH_MAX}`;

/**
 * Counts an element with what it opens, or a text. Attack: a million elements, all checked although
 * the bound is passed: the check stops here.
 */
function isTooMany(findings: Findings, at: TreePosition, elements = 1): boolean {
  findings.elements += elements;
  if (findings.elements <= DRAWING_ELEMENTS_MAX) return false;
  stopAt(at, findings);
  return true;
}

function stopAt(at: TreePosition, findings: Findings): void {
  findings.refuse(at, `is one too many: there are more than ${DRAWING_ELEMENTS_MAX} elements and texts`);
  findings.stopped = true;
}

/** Names the parents of an element, where they are few. */
function hintOfPlace(name: string): string | undefined {
  const parents = Object.entries(ELEMENTS).filter(([, { children }]) => children?.elements.includes(name));
  if (parents.length === 0) return `<${name}> is never inside of another element.`;
  if (parents.length > NAMES_LISTED_MAX) return undefined;
  return `<${name}> stands in ${alternatives(parents.map(([parent]) => `<${parent}>`))}.`;
}

function checkedElement(value: JsonObject, kind: Kind, at: TreePosition, findings: Findings): JsonObject {
  const checked: Record<string, unknown> = { type: value['type'] };
  if (kind.hasChildren) checked['children'] = [];
  for (const key of Object.keys(value)) {
    if (findings.full) break;
    const given = value[key];
    // An attribute that is null is not there.
    if (key === 'type' || given === null) continue;
    const place: TreePosition = { parent: at, key };
    const check = key === 'children' ? (kind.children ?? noChildren) : kind.attributes.get(key);
    const normal = check?.(given, place, findings);
    if (normal !== undefined) checked[key] = normal;
    else if (check === undefined) findings.drop(place, kind.unknown, () => meant(key, kind.known));
  }
  for (const key of kind.required)
    if (!Object.hasOwn(value, key) || value[key] === null) findings.add({ parent: at, key }, 'is required');
  return checked;
}

/** Check of an element that is always empty. Values that draw nothing are accepted. */
const noChildren: Check = (value, at, findings) => {
  const items = openedList(value, at, findings);
  return items.length > 0 ? findings.drop(at, 'is left out: the element is always empty') : undefined;
};

function childrenCheck(rule: ChildrenRule): Check {
  const checkChild = elementCheck(rule.elements, 'listed');
  const takesElement = rule.elements.includes('text');
  /** The text as it stands in the list; undefined where it is left out. */
  const textChild: Check = (text, place, findings) => {
    if (rule.text) {
      if (isTooMany(findings, place)) return undefined;
      return hasPiledMarks(String(text)) ? findings.refuse(place, PILED) : text;
    }
    // White space between two tags on one line.
    if (String(text).trim() === '') return undefined;
    findings.drop(place, `is text: "${quoted(String(text))}"`, () => TEXT_HINT);
    const child = { type: 'text', children: [text] };
    return takesElement ? checkChild(child, place, findings) : undefined;
  };
  return (value, at, findings) => {
    const checked: unknown[] = [];
    const items = openedList(value, at, findings);
    for (const { item, place } of items) {
      if (findings.full) break;
      const isText = typeof item === 'string' || typeof item === 'number';
      const child = isText ? textChild(String(item), place, findings) : checkChild(item, place, findings);
      if (child !== undefined) checked.push(child);
    }
    // Attack: items that are left out, and do not count as elements, before those of the drawing.
    if (items.length > DRAWING_ELEMENTS_MAX && !findings.full) stopAt(at, findings);
    if (rule.alone !== undefined && checked.length > 1) standAlone(checked, rule.alone, at, findings);
    return checked;
  };
}

const PILED = `has more than ${MARKS_MAX} combining marks on one character`;
const TEXT_HINT = 'Put text into <text>, as it is drawn now.';

/** A value that draws nothing, such as the result of `cond && <x/>`. */
const isNothing = (item: unknown): boolean =>
  item === null || item === undefined || typeof item === 'boolean';

function standAlone(items: readonly unknown[], alone: string, at: TreePosition, findings: Findings): void {
  if (items.some((item) => isObject(item) && item['type'] === alone))
    findings.add(at, `must be one <${alone}> and nothing beside it, or have none`);
}

/** An item of a list, with its place in the original drawing. */
interface Item {
  readonly item: unknown;
  readonly place: TreePosition;
}

/**
 * Flattens nested lists; a single value is a list of one. Values that draw nothing are left out.
 */
function openedList(value: unknown, at: TreePosition, findings: Findings): readonly Item[] {
  const items: Item[] = [];
  const open = (value: unknown, place: TreePosition, depth: number): void => {
    if (!Array.isArray(value)) {
      if (!isNothing(value)) items.push({ item: value, place });
    } else if (depth === DRAWING_DEPTH_MAX) {
      findings.refuse(place, `is a list nested deeper than ${DRAWING_DEPTH_MAX}`);
    } else {
      for (const [key, item] of value.entries()) {
        // Items beyond the bound on elements are not checked.
        if (findings.full || items.length > DRAWING_ELEMENTS_MAX) return;
        if (!isNothing(item)) open(item, { parent: place, key }, depth + 1);
      }
    }
  };
  open(value, at, 0);
  return items;
}
