/**
 * Checks and normalises a drawing: the resulting tree has known elements with known attributes and
 * nothing else (`docs/contract/components.md#validation`).
 *
 * The tree is untrusted JSON: its depth, its elements and the list of its problems are bounded, and
 * the work is linear in its size. Harmless noise is normalised: nested lists, `null`, `false`,
 * numbers in place of text. The catalogue is compiled once, when this module is loaded.
 */
import { type ChildrenRule, DEFINITIONS, ELEMENTS, type ElementKind, ROOTS } from './contentkit.ts';
import { type DrawingProblem, Findings, meant, type Place, quoted } from './contentkit-problem.ts';
import { VALUES } from './contentkit-values.ts';
import {
  alternatives,
  type Check,
  type Definitions,
  isObject,
  type JsonObject,
  valueCheck,
} from './contentkit-values-check.ts';

/** Maximum depth of elements, the root included; nested lists have the same bound. */
const DRAWING_DEPTH_MAX = 64;
/** Maximum elements of one drawing; each text counts as one. */
const DRAWING_ELEMENTS_MAX = 10_000;
/** Maximum element names in one message. */
const NAMES_LISTED_MAX = 7;

export type CheckedDrawing =
  | { readonly ok: true; readonly element: JsonObject }
  | { readonly ok: false; readonly problems: readonly DrawingProblem[] };

/** Checks the tree below `element`. @param element parsed JSON, untrusted */
export function checkDrawing(element: unknown): CheckedDrawing {
  const findings = new Findings();
  const checked = rootCheck(element, ROOT, findings);
  if (findings.problems.length > 0) return { ok: false, problems: findings.problems };
  return { ok: true, element: checked as JsonObject };
}

const ROOT: Place = { key: 'element' };

/**
 * How many elements a place is inside of. Attack: ten thousand elements below sixty that are each
 * in sixty nested lists. The walk up ends at the nearest element, which stores its depth.
 */
function depthAt(at: Place): number {
  let place: Place | undefined = at;
  while (place !== undefined && place.depth === undefined) place = place.parent;
  return place?.depth ?? 0;
}

const definitions: Definitions = {
  value: (name) => VALUES[name],
  element: (names) => elementCheck(names),
  elements: (names) => childrenCheck({ elements: names, text: false, required: false }),
};

/** A compiled element. */
interface Kind {
  readonly attributes: ReadonlyMap<string, Check>;
  readonly required: readonly string[];
  /** Names of attributes, including `children` where the element can have some. */
  readonly known: readonly string[];
  readonly children: Check | undefined;
}

const KINDS: ReadonlyMap<string, Kind> = new Map(
  Object.entries(ELEMENTS).map(([name, kind]) => [name, compiled(name, kind)]),
);
const rootCheck = elementCheck(ROOTS);

function compiled(name: string, { attributes, children }: ElementKind): Kind {
  const entries = Object.entries(attributes);
  const { required = [] } = DEFINITIONS[name] as { readonly required?: readonly string[] };
  return {
    attributes: new Map(entries.map(([name, schema]) => [name, valueCheck(schema, definitions)])),
    required,
    known: [...entries.map(([name]) => name), ...(children ? ['children'] : [])],
    children: children && childrenCheck(children),
  };
}

/** A check that the value is one of these elements. */
function elementCheck(names: readonly string[]): Check {
  const allowed = new Set(names);
  const listed = alternatives(names.map((name) => `<${name}>`));
  return (value, at, findings) => {
    if (!isObject(value) || typeof value['type'] !== 'string') {
      const expected = names.length > NAMES_LISTED_MAX ? 'an element: an object with a `type`' : listed;
      return findings.add(at, `must be ${expected}`);
    }
    const depth = depthAt(at);
    const place: Place = { ...at, tag: value['type'], depth: depth + 1 };
    const kind = KINDS.get(value['type']);
    if (kind === undefined) {
      const hint = meant(value['type'], KINDS.keys(), (name) => `<${name}>`);
      return findings.add(place, 'there is no such element', hint);
    }
    if (!allowed.has(value['type']))
      return findings.add(
        place,
        names.length > NAMES_LISTED_MAX ? 'may not stand here' : `may not stand here, only ${listed} may`,
        hintOfPlace(value['type']),
      );
    if (isTooMany(findings, place)) return undefined;
    if (depth >= DRAWING_DEPTH_MAX) return findings.add(place, `is nested deeper than ${DRAWING_DEPTH_MAX}`);
    return checkedElement(value, kind, place, findings);
  };
}

/**
 * Counts one element or text. Attack: a million elements, all checked although the bound is passed:
 * the check stops here.
 */
function isTooMany(findings: Findings, at: Place): boolean {
  findings.elements += 1;
  if (findings.elements <= DRAWING_ELEMENTS_MAX) return false;
  findings.add(at, `is one too many: there are more than ${DRAWING_ELEMENTS_MAX} elements and texts`);
  findings.stopped = true;
  return true;
}

/** Names the parents of an element, where they are few. */
function hintOfPlace(name: string): string | undefined {
  const parents = Object.entries(ELEMENTS).filter(([, { children }]) => children?.elements.includes(name));
  if (parents.length === 0) return `<${name}> is never inside of another element.`;
  if (parents.length > NAMES_LISTED_MAX) return undefined;
  return `<${name}> stands in ${alternatives(parents.map(([parent]) => `<${parent}>`))}.`;
}

function checkedElement(value: JsonObject, kind: Kind, at: Place, findings: Findings): JsonObject {
  const checked: Record<string, unknown> = { type: value['type'] };
  for (const key of Object.keys(value)) {
    if (findings.full) break;
    const place: Place = { parent: at, key };
    const check = key === 'children' ? (kind.children ?? noChildren) : kind.attributes.get(key);
    if (check !== undefined) checked[key] = check(value[key], place, findings);
    else if (key !== 'type') findings.add(place, unknownText(kind), meant(key, kind.known));
  }
  if (kind.children === undefined) delete checked['children'];
  for (const key of kind.required)
    if (!Object.hasOwn(value, key)) findings.add({ parent: at, key }, 'is required');
  return checked;
}

const unknownText = ({ known }: Kind): string =>
  known.length === 0 ? 'is unknown; there are no attributes' : `is unknown; there are ${known.join(', ')}`;

/** Check of an element that is always empty. Values that draw nothing are accepted. */
const noChildren: Check = (value, at, findings) => {
  const items = openedList(value, at, findings);
  return items.length > 0 ? findings.add(at, 'must not be there: the element is always empty') : undefined;
};

function childrenCheck(rule: ChildrenRule): Check {
  const check = elementCheck(rule.elements);
  return (value, at, findings) => {
    const checked: unknown[] = [];
    for (const { item, place } of openedList(value, at, findings)) {
      if (findings.full) break;
      const isText = typeof item === 'string' || typeof item === 'number';
      if (isText && rule.text) {
        if (!isTooMany(findings, place)) checked.push(String(item));
      }
      // White space between two tags on one line.
      else if (typeof item === 'string' && item.trim() === '') continue;
      else if (isText) findings.add(place, `is text: "${quoted(String(item))}"`, TEXT_HINT);
      else checked.push(check(item, place, findings));
    }
    if (rule.alone !== undefined && checked.length > 1) standAlone(checked, rule.alone, at, findings);
    return checked;
  };
}

const TEXT_HINT = 'Put text into <text>.';

/** A value that draws nothing, such as the result of `cond && <x/>`. */
const isNothing = (item: unknown): boolean =>
  item === null || item === undefined || typeof item === 'boolean';

function standAlone(items: readonly unknown[], alone: string, at: Place, findings: Findings): void {
  if (items.some((item) => isObject(item) && item['type'] === alone))
    findings.add(at, `must be one <${alone}> and nothing beside it, or have none`);
}

/** An item of a list, with its place in the original drawing. */
interface Item {
  readonly item: unknown;
  readonly place: Place;
}

/**
 * Flattens nested lists; a single value is a list of one. Values that draw nothing are left out.
 */
function openedList(value: unknown, at: Place, findings: Findings): readonly Item[] {
  const items: Item[] = [];
  const open = (value: unknown, place: Place, depth: number): void => {
    if (!Array.isArray(value)) {
      if (!isNothing(value)) items.push({ item: value, place });
    } else if (depth === DRAWING_DEPTH_MAX) {
      findings.add(place, `is a list nested deeper than ${DRAWING_DEPTH_MAX}`);
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
