/**
 * Resolves the values of an integration's secrets, at publish (`docs/contract/manifest.md#secrets`)
 * and when they are set later.
 *
 * The publisher resolves `${{ env.NAME }}` of a manifest: the variables are the publisher's, and
 * the host's environment is never read. A value comes from the `secrets` part of the upload, from
 * the manifest itself, or from an earlier publish; otherwise it is missing. Messages name secrets
 * and variables, never values.
 */
import type { LimitMet, Limits } from '../../limits.ts';
import { limitClause, quantity } from '../limit-met.ts';
import { limitProblem, type Problem, problem, warning } from '../problem.ts';
import { nearest } from '../spelling-hint.ts';
import { type Manifest, SECRET_NAME } from './manifest.ts';
import type { SourcePosition, YamlPath } from './yaml-source.ts';

/** Ends at the next expression, so that a text of many beginnings takes linear time. */
const EXPRESSION = /\$\{\{((?:(?!\$\{\{)[\s\S])*?)\}\}/;
const VARIABLE = /^\s*env\.([A-Za-z_][A-Za-z0-9_]*)\s*$/;

export interface SecretsRequest {
  readonly manifest: Pick<Manifest, 'secrets'>;
  /** The `secrets` part: secret name → value. */
  readonly values: ReadonlyMap<string, string>;
  readonly limits: Pick<Limits, 'secretsPerIntegration' | 'secretBytes'>;
  placeOf(path: YamlPath): SourcePosition;
}

export interface ResolvedSecrets {
  /** Name → value; incomplete where there are problems, and without `unsent`. */
  readonly secrets: ReadonlyMap<string, string>;
  /** Names whose value was not sent: a stored value is needed. */
  readonly unsent: readonly string[];
  readonly problems: readonly Problem[];
}

/** Finds the value of every secret that the manifest declares, and all problems. */
export function resolveSecrets({ manifest, values, limits, placeOf }: SecretsRequest): ResolvedSecrets {
  const names = Object.keys(manifest.secrets);
  const problems: Problem[] = [];
  if (names.length > limits.secretsPerIntegration) {
    const limit = { max: limits.secretsPerIntegration, used: names.length };
    problems.push(limitProblem({ name: 'secretsPerIntegration', ...limit }, placeOf(['secrets'])));
  }
  const secrets = new Map<string, string>();
  const unsent: string[] = [];
  for (const [name, written] of Object.entries(manifest.secrets)) {
    const place = placeOf(['secrets', name]);
    const given = values.get(name);
    if (isOtherExpression(written)) problems.push(otherExpression(name, place));
    if (given === '' || (given === undefined && isOpen(written))) {
      unsent.push(name);
      continue;
    }
    const value = given ?? written;
    const trouble = given === undefined ? undefined : unresolvedGiven(name, given);
    if (trouble !== undefined) problems.push(trouble);
    else if (!value.isWellFormed()) problems.push(problem(malformedText(name), place));
    else if (Buffer.byteLength(value) > limits.secretBytes) {
      const limit = overLimit(value, limits);
      problems.push(limitProblem(limit, place, overLimitText(name, limit)));
    } else secrets.set(name, value);
  }
  for (const name of values.keys())
    if (!names.includes(name)) problems.push(undeclaredValue(name, manifest.secrets));
  return { secrets, unsent, problems };
}

/** The problem of a sent value that belongs to no secret of the manifest. */
function undeclaredValue(name: string, declared: Manifest['secrets']): Problem {
  const message = `The manifest declares no secret "${name}".`;
  const owner = Object.keys(declared).find((secret) => variableOf(declared[secret]) === name);
  if (owner !== undefined) {
    const hint = `"${name}" is the variable from which the secret "${owner}" takes its value: send it as "${owner}".`;
    return problem(message, { file: 'secrets', hint });
  }
  const near = nearest(name, Object.keys(declared));
  const hint = near === undefined ? 'Add it to "secrets" in the manifest.' : `Did you mean "${near}"?`;
  return problem(message, { file: 'secrets', hint });
}

/** The variable to which the text of a secret refers, if it does. */
export const variableOf = (written = ''): string | undefined =>
  VARIABLE.exec(EXPRESSION.exec(written)?.[1] ?? '')?.[1];

/** Whether a manifest leaves the value of a secret to its publisher: empty, or an expression. */
export const isOpen = (written: string): boolean => written === '' || EXPRESSION.test(written);

/** Whether a text is an expression that names no variable, such as one of a pipeline. */
const isOtherExpression = (written: string): boolean =>
  EXPRESSION.test(written) && variableOf(written) === undefined;

/** The problem of a secret whose value was neither sent nor stored. */
export function missingSecret(name: string, written: string, place: SourcePosition): Problem {
  const variable = variableOf(written);
  const hint = `Send its value in the "secrets" part, as "${name}" (curl: -F 'secrets=<secrets.json').`;
  let message = `The secret "${name}" is empty.`;
  if (variable !== undefined)
    message = `The secret "${name}" needs the variable "${variable}", which has no value.`;
  else if (written !== '') message = `The secret "${name}" has no value, and its expression names none.`;
  return problem(message, { ...place, hint });
}

/** The warning about a secret whose stored value differs from the published one, and stays. */
export function keptSecret(name: string, integration: string, place: SourcePosition): Problem {
  const hint = `To replace it, publish with the part overwriteSecrets=true, or send PUT /v1/integrations/${integration}/secrets.`;
  return warning(`The secret "${name}" keeps its stored value, which differs from the one in this upload.`, {
    ...place,
    hint,
  });
}

/** The problem of a sent value that still is an expression. */
function unresolvedGiven(name: string, given: string): Problem | undefined {
  if (!EXPRESSION.test(given)) return undefined;
  const hint = 'Send the value itself: the service has no variables of its publishers.';
  return problem(unresolvedText(name), { file: 'secrets', hint });
}

/** The warning about an expression other than a variable: its value is the sent or stored one. */
function otherExpression(name: string, place: SourcePosition): Problem {
  const hint =
    'An environment variable is written env.NAME, between the double braces; there are no other expressions.';
  const message = `The secret "${name}" has an expression that is not a variable; its value is the one that is sent or stored.`;
  return warning(message, { ...place, hint });
}

export interface SecretsChange {
  /** Names of the secrets that the active version's manifest declares. */
  readonly declared: readonly string[];
  /** Name → value, untrusted. */
  readonly values: Readonly<Record<string, unknown>>;
  readonly limits: Pick<Limits, 'secretBytes'>;
}

export type CheckedSecrets =
  | { readonly ok: true; readonly secrets: ReadonlyMap<string, string> }
  | { readonly ok: false; readonly problems: readonly string[]; readonly limit?: LimitMet };

/** Maximum problems listed. */
const PROBLEMS_MAX = 20;

/** Checks new values: accepts all of them, or lists the problem of each. */
export function checkSecrets({ declared, values, limits }: SecretsChange): CheckedSecrets {
  const secrets = new Map<string, string>();
  const problems: string[] = [];
  let limit: LimitMet | undefined;
  for (const [name, value] of Object.entries(values)) {
    if (problems.length === PROBLEMS_MAX) break;
    if (!declared.includes(name)) problems.push(undeclared(name, declared));
    else if (typeof value !== 'string') problems.push(`The secret "${name}" must be text.`);
    else if (value === '') problems.push(`The secret "${name}" is empty.`);
    else if (EXPRESSION.test(value)) problems.push(unresolvedText(name));
    else if (!value.isWellFormed()) problems.push(malformedText(name));
    else if (Buffer.byteLength(value) > limits.secretBytes) {
      const met = overLimit(value, limits);
      limit ??= met;
      problems.push(overLimitText(name, met));
    } else secrets.set(name, value);
  }
  if (Object.keys(values).length === 0) problems.push('Name at least one secret.');
  return problems.length === 0 ? { ok: true, secrets } : { ok: false, problems, ...(limit && { limit }) };
}

function undeclared(name: string, declared: readonly string[]): string {
  // A value sent in the place of its name must not be repeated in a message, which may be logged.
  if (!SECRET_NAME.test(name)) return 'There is a name that no secret can have.';
  const near = nearest(name, declared);
  const hint =
    near === undefined ? 'Publish a manifest that has it in "secrets".' : `Did you mean "${near}"?`;
  return `The active version declares no secret "${name}". ${hint}`;
}

/** The message for an expression that was not resolved. */
const unresolvedText = (name: string): string =>
  `The value of the secret "${name}" is an expression that was left unresolved.`;

/**
 * The message for a lone surrogate. UTF-8 cannot encode it: the stored secret would be a different
 * one.
 */
const malformedText = (name: string): string => `The secret "${name}" has half of a surrogate pair in it.`;

const overLimit = (value: string, { secretBytes: max }: Pick<Limits, 'secretBytes'>) =>
  ({ name: 'secretBytes', max, used: Buffer.byteLength(value) }) as const;

const overLimitText = (name: string, limit: ReturnType<typeof overLimit>): string =>
  `The secret "${name}" has ${quantity('secretBytes', limit.used)}; ${limitClause(limit)}.`;
