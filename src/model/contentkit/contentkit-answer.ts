/**
 * Reads a component's answer to `ui_render` (`docs/contract/components.md#answer`): a drawing with
 * its state and props, or a completion. Untrusted bytes become a checked answer or a list of
 * problems.
 */
import { JSON_DEPTH_MAX } from '../json-depth.ts';
import { jsonForm } from '../json-text.ts';
import { checkDrawing } from './contentkit-check.ts';
import {
  type DrawingProblem,
  type DrawingWarnings,
  Findings,
  meant,
  quoted,
  type TreePosition,
} from './contentkit-problem.ts';
import { DATA_DEPTH_MAX, isDeeper, isObject, type JsonObject } from './contentkit-values-check.ts';

/** Maximum size of an answer. Its state has to fit into the event of the next action. */
export const RENDERING_BYTES_MAX = 1024 * 1024;

/** Fields that are named. */
const FIELDS_LISTED_MAX = 3;

/** Objects and lists of an answer, of which a drawing may have some for each of its elements. */
const RENDERING_OBJECTS_MAX = 100_000;
/** The least that one of them takes: two brackets and a comma. */
const OBJECT_BYTES_MIN = 3;

export type ReadRendering =
  | {
      readonly ok: true;
      readonly rendering: JsonObject;
      readonly warnings: DrawingWarnings;
      /** Names of the first fields that nothing reads. */
      readonly unread: readonly string[];
    }
  | { readonly ok: false; readonly problems: readonly DrawingProblem[] };

/** Whether the frames of the drawing ask for the claims of the visitor. The scopes decide. */
const CLAIMS = 'canAccessVisitorClaims';

const MEMBERS = {
  element: ['type', 'state', 'props', 'element', CLAIMS],
  complete: ['type', 'returnValue'],
} as const;

/** Members of an element's answer that are data of the component. */
const DATA = ['state', 'props'] as const;

/**
 * Reads the JSON of an answer. Attack: a mebibyte of `{},{},…`, whose objects are all made in one
 * turn of the event loop. They are counted first, in steps, where there can be too many.
 */
export async function readRendering(bytes: Buffer): Promise<ReadRendering> {
  const isLong = bytes.byteLength > RENDERING_OBJECTS_MAX * OBJECT_BYTES_MIN;
  const form = isLong ? await jsonForm(bytes, RENDERING_OBJECTS_MAX) : 'json';
  if (form !== 'json') return wrong(WHY_UNREAD[form]);
  const answer = parsed(bytes);
  if (!isObject(answer)) return wrong(WHY_UNREAD.broken);
  const { type } = answer;
  if (type !== 'element' && type !== 'complete')
    return wrong('The answer must have the type "element" or "complete".');
  const findings = new Findings();
  const rendering = knownMembers(answer, MEMBERS[type], findings);
  const drawing = type === 'element' ? checkElement(answer, findings) : undefined;
  const problems = [...findings.problems, ...(drawing?.ok === false ? drawing.problems : [])];
  if (problems.length > 0) return { ok: false, problems };
  if (!drawing?.ok) return { ok: true, rendering, warnings: findings.warnings, unread: [] };
  const { element, warnings } = drawing;
  const { state, props, [CLAIMS]: claims } = rendering;
  return {
    ok: true,
    // A component without state answers none.
    rendering: {
      ...{ type, state: state ?? {}, props: props ?? {}, element },
      ...(typeof claims === 'boolean' && { [CLAIMS]: claims }),
    },
    warnings: joined(findings.warnings, warnings),
    unread: unreadFields(bytes, element),
  };
}

/** Actions of the platform with which no field is sent. */
const SENDS_NOTHING: ReadonlySet<unknown> = new Set(['@ui.url.open', '@ui.modal.open', '@ui.modal.close']);

/**
 * Fields whose values reach no code: nothing in the drawing dispatches an action, with which they
 * would be sent as members of the state, and no binding reads them. Linear in the drawing, and
 * nothing for a drawing without fields.
 */
function unreadFields(bytes: Buffer, element: JsonObject): readonly string[] {
  const unread = new Set<string>();
  const bound = new Set<unknown>();
  const open: unknown[] = bytes.includes('"state":"') ? [element] : [];
  for (const value of open) {
    if (Array.isArray(value)) for (const item of value) open.push(item);
    if (!isObject(value)) continue;
    const { type, state, action, $state } = value;
    const isAction = type === undefined && typeof action === 'string' && !SENDS_NOTHING.has(action);
    // The page of a frame dispatches actions of its own.
    if (isAction || type === 'webframe') return [];
    if (type !== undefined && typeof state === 'string') unread.add(state);
    bound.add($state);
    for (const member of Object.values(value)) if (typeof member === 'object') open.push(member);
  }
  return [...unread.difference(bound)].slice(0, FIELDS_LISTED_MAX).map(quoted);
}

/** Parses JSON in UTF-8; undefined where it is not valid. */
function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}

const WHY_UNREAD = {
  broken: 'The answer is not a JSON object.',
  tooDeep: `The answer is nested deeper than ${JSON_DEPTH_MAX}.`,
  tooMany: `The answer has more than ${RENDERING_OBJECTS_MAX.toLocaleString('en-US')} objects and lists.`,
} as const;

const wrong = (message: string): ReadRendering => ({ ok: false, problems: [{ path: '', message }] });

/** The members that an answer has; others are left out, with a warning. */
function knownMembers(answer: JsonObject, known: readonly string[], findings: Findings): JsonObject {
  const members: Record<string, unknown> = {};
  for (const key of Object.keys(answer)) {
    const at: TreePosition = { key };
    if (!known.includes(key))
      findings.drop(at, `is unknown; there are ${known.join(', ')}`, () => meant(key, known));
    else if (key !== 'element' && isDeeper(answer[key], DATA_DEPTH_MAX))
      findings.refuse(at, `must not be nested deeper than ${DATA_DEPTH_MAX}`);
    else members[key] = answer[key];
  }
  return members;
}

function checkElement(answer: JsonObject, findings: Findings) {
  for (const key of DATA) if (!isObject(answer[key] ?? {})) findings.add({ key }, 'must be an object');
  return checkDrawing(answer['element']);
}

const joined = (answer: DrawingWarnings, drawing: DrawingWarnings): DrawingWarnings =>
  answer.count === 0
    ? drawing
    : { listed: [...answer.listed, ...drawing.listed], count: answer.count + drawing.count };
