/**
 * Reads a component's answer to `ui_render` (`docs/contract/components.md#answer`): a drawing with
 * its state and props, or a completion. Untrusted bytes become a checked answer or a list of
 * problems.
 */
import { checkDrawing } from './contentkit-check.ts';
import { type DrawingProblem, Findings, meant, type Place } from './contentkit-problem.ts';
import { DATA_DEPTH_MAX, isDeeper, isObject, type JsonObject } from './contentkit-values-check.ts';

/** Maximum size of an answer. Its state has to fit into the event of the next action. */
export const RENDERING_BYTES_MAX = 1024 * 1024;

export type ReadRendering =
  | { readonly ok: true; readonly rendering: JsonObject }
  | { readonly ok: false; readonly problems: readonly DrawingProblem[] };

const MEMBERS = {
  element: ['type', 'state', 'props', 'element'],
  complete: ['type', 'returnValue'],
} as const;

/** Reads the JSON of an answer. */
export function readRendering(bytes: Buffer): ReadRendering {
  const answer = parsed(bytes);
  if (!isObject(answer)) return wrong('The answer is not a JSON object.');
  const { type } = answer;
  if (type !== 'element' && type !== 'complete')
    return wrong('The answer must have the type "element" or "complete".');
  const findings = new Findings();
  for (const key of Object.keys(answer)) checkMember(key, answer, MEMBERS[type], findings);
  const drawing = type === 'element' ? checkElement(answer, findings) : undefined;
  const problems = [...findings.problems, ...(drawing?.ok === false ? drawing.problems : [])];
  if (problems.length > 0) return { ok: false, problems };
  return { ok: true, rendering: drawing?.ok ? { ...answer, element: drawing.element } : answer };
}

/** Parses JSON in UTF-8; undefined where it is not valid. */
function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}

const wrong = (message: string): ReadRendering => ({ ok: false, problems: [{ path: '', message }] });

function checkMember(key: string, answer: JsonObject, known: readonly string[], findings: Findings): void {
  const at: Place = { key };
  if (!known.includes(key)) findings.add(at, `is unknown; there are ${known.join(', ')}`, meant(key, known));
  else if (key !== 'element' && isDeeper(answer[key], DATA_DEPTH_MAX))
    findings.add(at, `must not be nested deeper than ${DATA_DEPTH_MAX}`);
}

function checkElement(answer: JsonObject, findings: Findings) {
  for (const key of ['state', 'props'] as const)
    if (!isObject(answer[key])) findings.add({ key }, 'must be an object');
  return checkDrawing(answer['element']);
}
