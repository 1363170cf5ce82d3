/**
 * Environments of a manifest (`docs/contract/manifest.md#environments`): `envs` maps a name to
 * members that replace those of the manifest, for example another organization and its secrets.
 *
 * Runs before the members are read, so a replaced member is checked like any other, and its
 * problems have the line in `envs`. A member is replaced as a whole. The publisher chooses the
 * environment; the service has none of its own.
 */
import { type Problem, problem, warning } from '../problem.ts';
import { excerpt, type Places } from './yaml-fields.ts';
import type { SourcePosition, YamlPath, YamlSource } from './yaml-source.ts';

/** The environment of a publish that names none. */
const DEFAULT_ENVIRONMENT = 'default';
const MEMBER = 'envs';

/** A manifest with the members of its environment. */
export interface ChosenManifest extends Places {
  readonly value: unknown;
  readonly problems: readonly Problem[];
}

/** @param chosen name of an environment, as the publisher sent it */
export function withEnvironment(source: YamlSource, chosen: string | undefined): ChosenManifest {
  const { value } = source;
  const places = {
    placeOf: source.placeOf.bind(source),
    keyPlaceOf: source.keyPlaceOf.bind(source),
    asText: source.asText.bind(source),
  };
  const whole = (problems: readonly Problem[]) => ({ ...places, value, problems });
  if (!isRecord(value)) return whole([]);
  const environments = value[MEMBER] ?? {};
  if (!isRecord(environments))
    return whole([warning('"envs" must be a map and is ignored.', source.placeOf([MEMBER]))]);
  const name = chosen ?? DEFAULT_ENVIRONMENT;
  const members = Object.hasOwn(environments, name) ? environments[name] : undefined;
  if (members === undefined && chosen !== undefined)
    return whole([unknown(chosen, Object.keys(environments), source.placeOf([MEMBER]))]);
  if (members === undefined || members === null) return whole([]);
  if (!isRecord(members)) {
    const message = `The environment "${excerpt(name)}" must be a map of members.`;
    return whole([problem(message, source.placeOf([MEMBER, name]))]);
  }
  const replaced = Object.keys(members).filter((key) => key !== MEMBER && members[key] !== null);
  const own = Object.fromEntries(replaced.map((key) => [key, members[key]]));
  // A member that was replaced stands in the environment.
  const moved = (path: YamlPath): YamlPath =>
    typeof path[0] === 'string' && Object.hasOwn(own, path[0]) ? [MEMBER, name, ...path] : path;
  return {
    value: { ...value, ...own },
    problems: [],
    placeOf: (path) => source.placeOf(moved(path)),
    keyPlaceOf: (path) => source.keyPlaceOf(moved(path)),
    asText: (path) => source.asText(moved(path)),
  };
}

function unknown(name: string, known: readonly string[], place: SourcePosition): Problem {
  const shown = known.slice(0, 10).map((one) => `"${excerpt(one)}"`);
  const message = `The manifest has no environment "${excerpt(name)}".`;
  const hint = shown.length === 0 ? 'Declare it in "envs".' : `Its environments are ${shown.join(', ')}.`;
  return problem(message, { ...place, hint });
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
