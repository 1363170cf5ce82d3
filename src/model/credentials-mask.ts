/**
 * Takes credentials out of what a configuration component answers
 * (`docs/contract/components.md#configuration-components`).
 *
 * The component has them in its props, and the answer has the props. Every member
 * `oauth_credentials` is removed, at any depth; the tokens and secrets among its values are
 * replaced wherever a text has them. Other values, such as the name of the connected account, may
 * be drawn. This guards against accidents: an author can always encode a token.
 */
import type { Environment } from './environment.ts';
import { CREDENTIALS_PROPERTY } from './manifest/configuration.ts';
import { REDACTED } from './redaction.ts';

/** Names of values that are secret: `access_token`, `clientSecret`, `api_key`. */
const SECRET_NAME = /token|secret|password|passphrase|key|jwt|assertion|cookie/i;
/** Names of values that describe a token. */
const HARMLESS_NAME = /type$|expir|scope/i;
/** Shorter values occur by chance. */
const CHARS_MIN = 4;
/**
 * Maximum secrets; the longest are kept. Attack: credentials with ten thousand tokens, each
 * searched for in every text of a large drawing.
 */
const SECRETS_MAX = 16;

export class CredentialsMask {
  /** In the forms that are searched for, the longest first. */
  readonly #secrets: readonly string[];

  private constructor(secrets: readonly string[]) {
    this.#secrets = secrets;
  }

  /** @returns undefined for a target without credentials */
  static of({
    installation,
    spaceInstallation,
    siteInstallation,
  }: Pick<Environment, 'installation' | 'spaceInstallation' | 'siteInstallation'>):
    | CredentialsMask
    | undefined {
    const credentials = [installation, spaceInstallation, siteInstallation]
      .map((target) => target?.configuration[CREDENTIALS_PROPERTY])
      .filter((value) => value !== undefined && value !== null);
    if (credentials.length === 0) return undefined;
    const secrets = secretTexts(credentials)
      .sort((a, b) => b.length - a.length)
      .slice(0, SECRETS_MAX);
    const inUrl = secrets.map(percentEncoded).filter((text) => !secrets.includes(text));
    return new CredentialsMask([...inUrl, ...secrets]);
  }

  /** A copy of a JSON value without the credentials. @param value nested to a bounded depth */
  masked<Value>(value: Value): Value {
    const text = JSON.stringify(value, (key, member: unknown) => {
      if (key === CREDENTIALS_PROPERTY) return undefined;
      return typeof member === 'string' ? this.#maskedText(member) : member;
    });
    return JSON.parse(text) as Value;
  }

  #maskedText(text: string): string {
    let masked = text;
    for (const secret of this.#secrets)
      if (masked.includes(secret)) masked = masked.replaceAll(secret, () => REDACTED);
    return masked;
  }
}

/** Values with a secret's name. Iterative: an answer of a provider may be nested at any depth. */
function secretTexts(credentials: readonly unknown[]): string[] {
  const texts = new Set<string>();
  const waiting: (readonly [name: string, value: unknown])[] = credentials.map((value) => ['', value]);
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [name, value] = next;
    if (typeof value === 'string') {
      const isSecret = SECRET_NAME.test(name) && !HARMLESS_NAME.test(name);
      if (isSecret && value.length >= CHARS_MIN) texts.add(value);
    } else if (Array.isArray(value)) {
      for (const item of value) waiting.push([name, item]);
    } else if (typeof value === 'object' && value !== null) {
      waiting.push(...Object.entries(value));
    }
  }
  return [...texts];
}

const percentEncoded = (text: string): string => encodeURIComponent(text.toWellFormed());
