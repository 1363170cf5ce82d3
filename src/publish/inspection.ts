/**
 * What running a script once says about it, held against its manifest (REFERENCE D10, D5).
 */
import type { LimitMet, Limits } from '../limits.ts';
import { limitClause } from '../model/limit-met.ts';
import type { Manifest } from '../model/manifest.ts';
import { nearest } from '../model/nearest.ts';
import { limitProblem, type Problem, problem, warning } from '../model/problem.ts';
import { missingScopes } from '../model/scope.ts';
import { limitMet } from '../runtime/outcome.ts';
import { type CallEnd, type Outcome, type ScriptExports, withoutPreludeFrames } from '../wire.ts';

/** Runs a script once in a throwaway isolate; `exports` is there where it loaded. */
export type Probe = (script: string) => Promise<{ readonly end: CallEnd; readonly exports?: ScriptExports }>;

/** Problems in one answer: an author who has more starts at the top, and a hostile upload gets no megabyte back. */
export const PROBLEMS_MAX = 100;
/** Names of components listed in one message. */
const NAMES_SHOWN = 10;

const LOADING: Partial<Record<Outcome, string>> = {
  exception: 'The script throws while it loads.',
  exceededCpu: 'The script uses up its CPU time while it loads.',
  exceededMemory: 'The script uses up its memory while it loads.',
  exceededWallTime: 'The script does not finish loading.',
  cellCrashed: 'The script crashes the process that loads it.',
};

/** First line of a stack trace that names a place. */
const FRAME = /^ +at (?:[^\n]*\()?([^()\n]+?):(\d+):(\d+)\)?$/m;

/**
 * Why a script that did not load cannot be published.
 *
 * @param toSource maps positions of the script in a text to those of the author's files
 */
export function probeProblem(end: CallEnd, limits: Limits, toSource: (text: string) => string): Problem {
  const { outcome, detail } = end;
  const limit = loadingLimit(limitMet(end, limits), limits);
  const message = LOADING[outcome] ?? 'The script could not be tried out.';
  const hint = 'Code outside of handlers runs once when the script is loaded.';
  if (limit) {
    const text = `${message.slice(0, -1)}; ${limitClause(limit)}.`;
    return limitProblem(limit, { file: 'script', hint }, text);
  }
  if (detail === undefined) return problem(message, { file: 'script', hint });
  const said = toSource(withoutPreludeFrames(detail));
  const [, file = 'script', line, column] = FRAME.exec(said) ?? [];
  const place = line === undefined ? {} : { line: Number(line), column: Number(column) };
  return problem(`${message} ${said}`, { file, ...place, hint });
}

/** A try-out has less time than a call, where the operator says so. */
function loadingLimit(limit: LimitMet | undefined, { probeWallMs }: Limits): LimitMet | undefined {
  if (limit?.name !== 'callWallMs' || limit.max <= probeWallMs) return limit;
  return { ...limit, name: 'probeWallMs', max: probeWallMs };
}

/**
 * Problems of a script that loads. Without a manifest, one that is broken itself, only the script is looked at.
 *
 * Components are known where the SDK made the default export; a script without the SDK answers for its own.
 */
export function inspectExports(exports: ScriptExports, manifest: Manifest | undefined): readonly Problem[] {
  if (!exports.fetch) {
    const hint = 'Export default createIntegration({ … }), or an object with a fetch function.';
    return [problem('The default export of the script has no "fetch" function.', { file: 'script', hint })];
  }
  if (manifest === undefined || !exports.sdk) return [];
  return [...missingComponents(exports, manifest), ...handlersWithoutScope(exports, manifest)];
}

function missingComponents({ components }: ScriptExports, manifest: Manifest): Problem[] {
  const wanted = manifest.blocks.map((block) => ({ id: block.id, where: `The block "${block.id}"` }));
  for (const [level, configuration] of Object.entries(manifest.configurations)) {
    const id = configuration?.componentId;
    if (id !== undefined) wanted.push({ id, where: `The ${level} configuration "${id}"` });
  }
  const declared = new Set(components);
  const known = knownComponents(components);
  return wanted
    .filter(({ id }) => !declared.has(id))
    .map(({ id, where }, index) => {
      // A guess costs a look at every component; 1,500 missing blocks must not hold the host up with guesses nobody reads.
      const near = index < PROBLEMS_MAX ? nearest(id, components) : undefined;
      const hint = near === undefined ? 'Give a component this componentId.' : `Did you mean "${near}"?`;
      return problem(`${where} has no component. ${known}`, { file: 'script', hint });
    });
}

function knownComponents(components: readonly string[]): string {
  if (components.length === 0) return 'The script declares no components.';
  const shown = components.slice(0, NAMES_SHOWN).map((name) => `"${name}"`);
  const rest = components.length - shown.length;
  return `The script declares ${shown.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}.`;
}

function handlersWithoutScope({ events }: ScriptExports, { scopes }: Manifest): Problem[] {
  return events.flatMap((event) => {
    const missing = missingScopes(event, scopes);
    if (missing === undefined) return [];
    const message = `The handler of "${event}" will not be called: it needs the scope ${missing.join(' or ')}.`;
    return [warning(message, { file: 'script', hint: 'Add the scope to "scopes" in the manifest.' })];
  });
}
