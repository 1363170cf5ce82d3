/**
 * The operator's mapping from calls of the product's API to scopes (`--product-scopes`,
 * docs/operating/settings.md#the-products-api).
 *
 * The first rule that fits a call decides. Paths are canonical (`isCanonical`), but for encoded
 * slashes: a path is read as it is, and with them decoded. Attack: `/v1/spaces%2Fx`, which a rule
 * for `/v1/spaces/{space}` does not fit, and which a product may route like `/v1/spaces/x`. Where
 * the two readings differ, a call needs the scopes of both. Letter case and a slash at the end are
 * ignored for the same reason.
 */
import Type from 'typebox';
import { parse } from 'yaml';
import { SCOPES } from './manifest/scope.ts';
import { schemaCheck } from './schema-check.ts';
import { faultText } from './schema-fault.ts';

const RULES_MAX = 1_000;
const PATH_CHARS_MAX = 1_000;
/** The rest of a path, in any number of segments. */
const REST = '**';

const rulesOf = (scopes: readonly string[]) =>
  Type.Array(
    Type.Object(
      {
        method: Type.Enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', '*']),
        path: Type.String({ pattern: '^/v1/', maxLength: PATH_CHARS_MAX }),
        scope: Type.Enum([...scopes]),
      },
      { additionalProperties: false },
    ),
    { maxItems: RULES_MAX },
  );
const fileOf = (scopes: readonly string[]) =>
  Type.Object(
    { default: Type.Optional(Type.Enum(['pass', 'refuse'])), rules: rulesOf(scopes) },
    { additionalProperties: false },
  );

interface CompiledRule {
  readonly method: string;
  readonly segments: readonly string[];
  readonly scope: string;
}

/** A call that may not be made, and the scope that it lacks, if a rule names one. */
export interface MissingScope {
  readonly scope?: string;
}

export class ProductScopes {
  readonly #rules: readonly CompiledRule[];
  readonly #refusesOthers: boolean;

  private constructor(rules: readonly CompiledRule[], refusesOthers: boolean) {
    this.#rules = rules;
    this.#refusesOthers = refusesOthers;
  }

  /**
   * @param declared scopes of the product, beside those that exist always
   * @returns the mapping, or one sentence for each fault
   */
  static parse(
    text: string,
    declared: readonly string[] = [],
  ): { readonly scopes?: ProductScopes; readonly problems: readonly string[] } {
    let value: unknown;
    try {
      value = parse(text);
    } catch (cause) {
      return { problems: [`it is neither JSON nor YAML: ${(cause as Error).message.split('\n', 1)[0]}`] };
    }
    const file = Array.isArray(value) ? { rules: value } : value;
    const scopes = [...new Set([...SCOPES, ...declared])];
    const faults = schemaCheck(Array.isArray(value) ? rulesOf(scopes) : fileOf(scopes))(value);
    if (faults.length > 0) return { problems: [faultText('mapping', faults)] };
    const { default: others = 'pass', rules } = file as Type.Static<ReturnType<typeof fileOf>>;
    const wrong = rules.filter(({ path }) => path.split('/').slice(1, -1).includes(REST));
    if (wrong.length > 0)
      return { problems: wrong.map(({ path }) => `"${REST}" is only for the end of a path: ${path}.`) };
    const compiled = rules.map(({ method, path, scope }) => ({ method, segments: segmentsOf(path), scope }));
    return { scopes: new ProductScopes(compiled, others === 'refuse'), problems: [] };
  }

  /**
   * @param path as it was sent, without its query; canonical
   * @param granted scopes of the integration's manifest
   * @returns what the call lacks; undefined where it may be made
   */
  missing(method: string, path: string, granted: readonly string[]): MissingScope | undefined {
    const asked = method === 'HEAD' ? 'GET' : method;
    for (const segments of readingsOf(path)) {
      const rule = this.#rules.find((one) => fits(one, asked, segments));
      if (rule === undefined && this.#refusesOthers) return {};
      if (rule !== undefined && !granted.includes(rule.scope)) return { scope: rule.scope };
    }
    return undefined;
  }
}

/** The segments of a path, each decoded; and once more with slashes that were encoded. */
function readingsOf(path: string): readonly (readonly string[])[] {
  const plain = segmentsOf(path, decodeURIComponent);
  return plain.some((segment) => segment.includes('/'))
    ? [plain, segmentsOf(decodeURIComponent(path))]
    : [plain];
}

const segmentsOf = (path: string, decode = (segment: string) => segment): string[] =>
  path
    .split('/')
    .filter((segment) => segment !== '')
    .map((segment) => decode(segment).toLowerCase());

function fits({ method, segments }: CompiledRule, asked: string, path: readonly string[]): boolean {
  if (method !== '*' && method !== asked) return false;
  const hasRest = segments.at(-1) === REST;
  const fixed = hasRest ? segments.slice(0, -1) : segments;
  if (hasRest ? path.length < fixed.length : path.length !== fixed.length) return false;
  return fixed.every((segment, at) => /^\{.*\}$|^:/.test(segment) || segment === path[at]);
}
