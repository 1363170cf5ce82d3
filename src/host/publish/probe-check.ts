/**
 * Checks the result of a probe, one run of a script, against its manifest
 * (`docs/contract/manifest.md#checks-against-the-code`).
 */

import type { LimitMet, Limits } from '../../limits.ts';
import { type EventCatalog, includesType, NO_EVENT_TYPES, patternsOf } from '../../model/event-type.ts';
import { isEventPattern } from '../../model/identifiers.ts';
import { limitClause } from '../../model/limit-met.ts';
import type { Manifest, PlaceOf } from '../../model/manifest/manifest.ts';
import { HANDLED_EVENTS, missingScopes } from '../../model/manifest/scope.ts';
import type { YamlPath } from '../../model/manifest/yaml-source.ts';
import { hostBusy, limitProblem, type Problem, problem, warning } from '../../model/problem.ts';
import { nearest } from '../../model/spelling-hint.ts';
import type { CallEnd, Outcome, ScriptExports } from '../../protocol/wire.ts';
import { limitMet } from '../calls/outcome.ts';
import { withoutPreludeFrames } from '../calls/prelude-stack-frames.ts';

/** Runs a script once in a throwaway isolate; `exports` is present if the script loaded. */
export type Probe = (script: string) => Promise<{ readonly end: CallEnd; readonly exports?: ScriptExports }>;

/**
 * Most problems in one answer. Attack: an upload with so many problems that the answer has
 * megabytes.
 */
export const PROBLEMS_MAX = 100;
/** Most names of components in one message. */
const NAMES_SHOWN = 10;
/** Longest name in a message, in UTF-16 units. */
const NAME_CHARS = 80;

const LOADING: Partial<Record<Outcome, string>> = {
  exception: 'The script throws while it loads.',
  exceededCpu: 'The script uses up its CPU time while it loads.',
  exceededMemory: 'The script uses up its memory while it loads.',
  exceededWallTime: 'The script does not finish loading.',
  cellCrashed: 'The script crashes the process that loads it.',
};

/** Matches the lines of a stack trace that have a position. */
const FRAMES = /^ +at (?:[^\n]*\()?([^()\n]+?):(\d+):(\d+)\)?$/gm;
/** Most stack frames searched. A trace has ten, unless the script raises that number. */
const FRAMES_MAX = 50;

/** @throws AnnexError PUBLISH_BUSY where the end says nothing of the script */
export function requireOwnEnd({ outcome }: CallEnd): void {
  if (outcome !== 'ok' && LOADING[outcome] === undefined) throw hostBusy('The script was not loaded in time');
}

/** What a problem of a probe is made from. */
export interface ProbeContext {
  readonly limits: Limits;
  /** Path of the entrypoint inside the upload. */
  readonly entry: string;
  /** Replaces positions of the script in a text by positions in the author's files. */
  toSource(text: string): string;
}

/** Makes the problem for a script that does not load. */
export function probeProblem(end: CallEnd, { limits, entry, toSource }: ProbeContext): Problem {
  const { outcome, detail } = end;
  const limit = loadingLimit(limitMet(end, limits), limits);
  const message = LOADING[outcome] ?? 'The script could not be probed.';
  const hint = 'Code outside of handlers runs once when the script is loaded.';
  if (limit) {
    const text = `${message.slice(0, -1)}; ${limitClause(limit)}.`;
    return limitProblem(limit, { file: entry, hint }, text);
  }
  if (detail === undefined) return problem(message, { file: entry, hint });
  const trace = toSource(withoutPreludeFrames(detail));
  const [, file = entry, line, column] = authorFrame(trace) ?? [];
  const place = line === undefined ? {} : { line: Number(line), column: Number(column) };
  return problem(`${message} ${trace}`, { file, ...place, hint });
}

/**
 * Returns the first frame in the author's code: an error thrown by the SDK is reported at the call
 * of the SDK.
 */
function authorFrame(trace: string): RegExpMatchArray | undefined {
  const frames = [...trace.matchAll(FRAMES).take(FRAMES_MAX)];
  return frames.find(([, file]) => !file?.startsWith('@annex/sdk')) ?? frames[0];
}

/** Names `probeWallMs` as the limit where it is lower than `callWallMs`. */
function loadingLimit(limit: LimitMet | undefined, { probeWallMs }: Limits): LimitMet | undefined {
  if (limit?.name !== 'callWallMs' || limit.max <= probeWallMs) return limit;
  return { ...limit, name: 'probeWallMs', max: probeWallMs };
}

/** The manifest that a script is checked against, and the positions of its members. */
export interface InspectedManifest {
  readonly manifest: Manifest;
  readonly placeOf: PlaceOf;
}

/**
 * Checks the exports of a script that loads. Where the manifest has errors, only the script is
 * checked.
 *
 * Components and handlers are known only if the SDK made the default export; other scripts are not
 * checked for them.
 *
 * @param entry path of the entrypoint inside the upload
 * @param against undefined where the manifest has errors
 * @param catalog the event types that the product declares
 */
export function inspectExports(
  exports: ScriptExports,
  entry: string,
  against: InspectedManifest | undefined,
  catalog: EventCatalog = NO_EVENT_TYPES,
): readonly Problem[] {
  if (!exports.fetch) {
    const hint = 'Export default createIntegration({ … }), or an object with a fetch function.';
    return [problem('The default export of the script has no "fetch" function.', { file: entry, hint })];
  }
  if (!exports.sdk) return [];
  const unknown = unknownHandlers(exports, entry, catalog);
  if (against === undefined) return unknown;
  return [
    ...missingComponents(exports, against),
    ...handlersWithoutScope(exports, against, catalog),
    ...selectableUnhandled(exports, against),
    ...unknown,
  ];
}

/** A component that the manifest names. */
interface WantedComponent {
  readonly id: string;
  /** The block or configuration that names it, as the start of a sentence. */
  readonly who: string;
  readonly at: YamlPath;
}

function wantedComponents({ blocks, configurations }: Manifest): WantedComponent[] {
  const wanted = blocks.map(
    ({ id }, index): WantedComponent => ({ id, who: `The block "${id}"`, at: ['blocks', index, 'id'] }),
  );
  for (const [level, configuration] of Object.entries(configurations)) {
    const id = configuration?.componentId;
    if (id === undefined) continue;
    const at = ['configurations', level, 'componentId'];
    wanted.push({ id, who: `The ${level} configuration "${id}"`, at });
  }
  return wanted;
}

function missingComponents(
  { components }: ScriptExports,
  { manifest, placeOf }: InspectedManifest,
): Problem[] {
  const declared = new Set(components);
  const known = knownComponents(components);
  return wantedComponents(manifest)
    .filter(({ id }) => !declared.has(id))
    .map(({ id, who, at }, index) => {
      // Attack: 1,500 missing blocks block the host, because each suggestion compares every
      // component. So only problems that can be shown get one.
      const near = index < PROBLEMS_MAX ? nearest(id, components) : undefined;
      const hint = near === undefined ? 'Give a component this componentId.' : `Did you mean "${near}"?`;
      return problem(`${who} has no component. ${known}`, { ...placeOf(at), hint });
    });
}

function knownComponents(components: readonly string[]): string {
  if (components.length === 0) return 'The script declares no components.';
  const shown = components.slice(0, NAMES_SHOWN).map((name) => `"${name}"`);
  const rest = components.length - shown.length;
  return `The script declares ${shown.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}.`;
}

function handlersWithoutScope(
  { events }: ScriptExports,
  { manifest: { scopes }, placeOf }: InspectedManifest,
  catalog: EventCatalog,
): Problem[] {
  return events.flatMap((event) => {
    const declared = catalog.get(event)?.scope?.name;
    const missing =
      declared === undefined || scopes.includes(declared) ? missingScopes(event, scopes) : [declared];
    if (missing === undefined) return [];
    const message = `The handler of "${event}" will not be called: it needs the scope ${missing.join(' or ')}.`;
    const hint = 'Add the scope to "scopes" in the manifest.';
    return [warning(message, { ...placeOf(['scopes']), hint })];
  });
}

/**
 * Warns of event types that a user can select for a webhook but that the script does not handle, so
 * they are never posted.
 */
function selectableUnhandled(
  { events }: ScriptExports,
  { manifest: { configurations, webhook }, placeOf }: InspectedManifest,
): Problem[] {
  if (webhook === undefined) return [];
  return (['space', 'site'] as const).flatMap((level) => {
    const property = configurations[level]?.properties[webhook.eventTypes];
    const choices = property?.type === 'string' ? (property.enum ?? []) : [];
    return choices
      .filter((type) => !isHandled(type, events))
      .map((type) => {
        const message = `"${type}" can be selected, but the script has no handler for it, so it is never posted.`;
        const hint = `Add "${type}" to the "events" of the integration, or remove it from the choices.`;
        const at = ['configurations', level, 'properties', webhook.eventTypes, 'enum'];
        return warning(message, { ...placeOf(at), hint });
      });
  });
}

/** Whether a choice has a handler, and a pattern one for some type that fits it. */
function isHandled(choice: string, events: readonly string[]): boolean {
  if (!isEventPattern(choice)) return includesType(new Set(events), choice);
  return events.some((event) => event === choice || event === '*' || patternsOf(event).includes(choice));
}

/**
 * Warns of handlers for unknown event types. Only a warning, because the product may declare its
 * types later.
 */
function unknownHandlers({ events }: ScriptExports, entry: string, catalog: EventCatalog): Problem[] {
  const known = [...HANDLED_EVENTS, ...catalog.names];
  return events
    .filter((event) => !known.includes(event) && !isEventPattern(event))
    .map((event, index) => {
      const near = index < PROBLEMS_MAX ? nearest(event, known) : undefined;
      const message = `"${event.slice(0, NAME_CHARS)}" is not a known event, so its handler may never be called.`;
      return warning(message, { file: entry, hint: eventHint(event, near) });
    });
}

function eventHint(event: string, near: string | undefined): string {
  if (event === 'fetch') return 'Requests go to the "fetch" of the integration itself, beside "events".';
  return near === undefined ? `Known are ${HANDLED_EVENTS.join(', ')}.` : `Did you mean "${near}"?`;
}
