/**
 * The values of an integration's secrets at publish (REFERENCE D10).
 *
 * `${{ env.NAME }}` in a manifest is for the publisher to resolve: its environment is not the host's, and the host's is
 * nobody's business. A value comes from the `secrets` part of the upload, or stands in the manifest itself; an
 * expression that is still there is a value nobody gave. Messages name secrets and variables, never values.
 */
import type { Limits } from '../limits.ts';
import { limitClause, quantity } from './limit-met.ts';
import type { Manifest } from './manifest.ts';
import { nearest } from './nearest.ts';
import { limitProblem, type Problem, problem } from './problem.ts';
import type { Place, YamlPath } from './yaml-source.ts';

const EXPRESSION = /\$\{\{([^{}]*)\}\}/;
const VARIABLE = /^\s*env\.([A-Za-z_][A-Za-z0-9_]*)\s*$/;

export interface SecretsRequest {
  readonly manifest: Pick<Manifest, 'secrets'>;
  /** The `secrets` part: secret name → value. */
  readonly values: ReadonlyMap<string, string>;
  readonly limits: Pick<Limits, 'secretsPerIntegration' | 'secretBytes'>;
  placeOf(path: YamlPath): Place;
}

export interface ResolvedSecrets {
  /** Name → value, for every secret of the manifest; incomplete where there are problems. */
  readonly secrets: ReadonlyMap<string, string>;
  readonly problems: readonly Problem[];
}

/** Finds the value of every secret that the manifest declares, and everything wrong on the way. */
export function resolveSecrets({ manifest, values, limits, placeOf }: SecretsRequest): ResolvedSecrets {
  const names = Object.keys(manifest.secrets);
  const problems: Problem[] = [];
  if (names.length > limits.secretsPerIntegration) {
    const limit = { max: limits.secretsPerIntegration, used: names.length };
    problems.push(limitProblem({ name: 'secretsPerIntegration', ...limit }, placeOf(['secrets'])));
  }
  const secrets = new Map<string, string>();
  for (const [name, written] of Object.entries(manifest.secrets)) {
    const place = placeOf(['secrets', name]);
    const given = values.get(name);
    const value = given ?? written;
    const trouble = given
      ? undefined
      : unresolved(name, value === '' && !EXPRESSION.test(written) ? '' : written, place);
    if (trouble !== undefined) problems.push(trouble);
    else if (Buffer.byteLength(value) > limits.secretBytes) {
      const limit = { name: 'secretBytes', max: limits.secretBytes, used: Buffer.byteLength(value) } as const;
      const has = quantity('secretBytes', limit.used);
      problems.push(limitProblem(limit, place, `The secret "${name}" has ${has}; ${limitClause(limit)}.`));
    } else secrets.set(name, value);
  }
  for (const name of values.keys()) {
    if (names.includes(name)) continue;
    const near = nearest(name, names);
    const hint = near === undefined ? 'Add it to "secrets" in the manifest.' : `Did you mean "${near}"?`;
    problems.push(problem(`The manifest declares no secret "${name}".`, { file: 'secrets', hint }));
  }
  return { secrets, problems };
}

function unresolved(name: string, written: string, place: Place): Problem | undefined {
  const expression = EXPRESSION.exec(written)?.[1];
  if (expression === undefined) {
    if (written !== '') return undefined;
    const hint = `Send its value in the "secrets" part, as "${name}".`;
    return problem(`The secret "${name}" is empty.`, { ...place, hint });
  }
  const variable = VARIABLE.exec(expression)?.[1];
  if (variable === undefined) {
    const hint =
      'An environment variable is written env.NAME, between the double braces; there are no other expressions.';
    return problem(`The secret "${name}" has an expression that is not a variable.`, { ...place, hint });
  }
  const hint = `Set ${variable} where you publish from, or send the value in the "secrets" part, as "${name}".`;
  return problem(`The secret "${name}" needs the variable "${variable}", which has no value.`, {
    ...place,
    hint,
  });
}
