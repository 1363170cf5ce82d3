/**
 * Limits that the operator has lowered for one integration: the check of a request to do so, and
 * the limits that result for its calls.
 *
 * An integration's limit is never above the deployment's. This is enforced twice: when it is set,
 * and at each use, because the deployment's limit may have been lowered since.
 */
import {
  ISOLATE_LIMITS,
  type IsolateLimits,
  LIMITS,
  type Limits,
  LOWERABLE_LIMITS,
  type LowerableLimit,
} from '../limits.ts';
import { quantity } from './limit-met.ts';
import { nearest } from './spelling-hint.ts';

export type LoweredLimits = { readonly [K in LowerableLimit]?: number };

/** Maximum problems listed; a request may have thousands of unknown names. */
const PROBLEMS_LISTED_MAX = 20;
const NAME_CHARS_SHOWN = 64;

export type LoweredReading =
  | { readonly ok: true; readonly lowered: LoweredLimits }
  /** One sentence each. */
  | { readonly ok: false; readonly problems: readonly string[] };

/** Reads the requested limits, or lists everything that is wrong with them. */
export function readLowered(asked: Readonly<Record<string, unknown>>, deployment: Limits): LoweredReading {
  const lowered: { -readonly [K in LowerableLimit]?: number } = {};
  const problems: string[] = [];
  for (const [name, value] of Object.entries(asked)) {
    const known = LOWERABLE_LIMITS.find((candidate) => candidate === name);
    const trouble = known === undefined ? unknownLimit(name) : valueProblem(known, value, deployment);
    if (trouble !== undefined) problems.push(trouble);
    else if (known !== undefined) lowered[known] = value as number;
  }
  if (problems.length === 0) return { ok: true, lowered };
  const more = problems.length - PROBLEMS_LISTED_MAX;
  return {
    ok: false,
    problems:
      more > 0 ? [...problems.slice(0, PROBLEMS_LISTED_MAX), `There are ${more} more problems.`] : problems,
  };
}

function unknownLimit(name: string): string {
  const shown = name.slice(0, NAME_CHARS_SHOWN);
  const near = nearest(name, LOWERABLE_LIMITS);
  const hint = near === undefined ? `They are ${LOWERABLE_LIMITS.join(', ')}.` : `Did you mean "${near}"?`;
  return `"${shown}" is not a limit that an integration can have lowered. ${hint}`;
}

function valueProblem(name: LowerableLimit, value: unknown, deployment: Limits): string | undefined {
  const least = LIMITS[name].least ?? 1;
  const most = deployment[name];
  if (Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most)
    return undefined;
  return `${name} must be a whole number from ${least} to ${most}, the deployment's limit of ${quantity(name, most)}.`;
}

/**
 * The limits of an integration's calls. Where none is lowered, this is the deployment's own object,
 * so callers can compare by identity.
 */
export function limitsUnder(deployment: Limits, lowered: LoweredLimits): Limits {
  const names = LOWERABLE_LIMITS.filter((name) => (lowered[name] ?? deployment[name]) < deployment[name]);
  if (names.length === 0) return deployment;
  return { ...deployment, ...Object.fromEntries(names.map((name) => [name, lowered[name]])) };
}

/**
 * The limits to send for an isolate; undefined where they are the deployment's, which the cell
 * already has.
 */
export function isolateLimits(deployment: Limits, limits: Limits): IsolateLimits | undefined {
  if (ISOLATE_LIMITS.every((name) => limits[name] === deployment[name])) return undefined;
  return Object.fromEntries(ISOLATE_LIMITS.map((name) => [name, limits[name]])) as unknown as IsolateLimits;
}
