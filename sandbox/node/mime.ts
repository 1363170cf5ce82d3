/**
 * `util.MIMEType` and `util.MIMEParams` (https://mimesniff.spec.whatwg.org/#parsing-a-mime-type).
 */
import { nodeError } from './errors.ts';

/** Anything but HTTP token code points. */
const NO_TOKEN = /[^!#$%&'*+\-.^_`|~A-Za-z0-9]/;
/** Anything but HTTP quoted-string token code points. */
const NO_QUOTED = /[^\t\u0020-~\u0080-\u00ff]/;
const SPACES = '\t\n\f\r ';

function syntax(what: string, text: string, at = -1): Error {
  const place = at < 0 ? '' : ` at ${at}`;
  const message = `The MIME syntax for a ${what} in ${JSON.stringify(text)} is invalid${place}`;
  return nodeError(TypeError, 'ERR_INVALID_MIME_SYNTAX', message, syntax);
}

const lower = (text: string): string => text.replace(/[A-Z]+/g, (upper) => upper.toLowerCase());

/** A name in lower case. */
function token(what: string, text: string, whole = text): string {
  const at = text.search(NO_TOKEN);
  if (text === '' || at >= 0) throw syntax(what, whole, at);
  return lower(text);
}

function trimmed(text: string, start: boolean): string {
  let [from, to] = [0, text.length];
  while (start && from < to && SPACES.includes(text[from] as string)) from++;
  while (to > from && SPACES.includes(text[to - 1] as string)) to--;
  return text.slice(from, to);
}

const written = (value: string): string => {
  if (value !== '' && !NO_TOKEN.test(value)) return value;
  return `"${value.replace(/["\\]/g, '\\$&')}"`;
};

export class MIMEParams {
  readonly #values = new Map<string, string>();

  /** Adds the parameters of a text: of a name the first one, and no invalid ones. */
  static read(text: string, params: MIMEParams): void {
    let rest = text;
    while (rest !== '') {
      rest = trimmed(rest, true).replace(/^;/, '');
      const match = /^[^;=]*/.exec(rest) as RegExpExecArray;
      const name = lower(trimmed(match[0], true));
      rest = rest.slice(match[0].length);
      if (rest[0] !== '=') {
        rest = rest.slice(1);
        continue;
      }
      rest = rest.slice(1);
      const quoted = rest[0] === '"';
      const { value, length } = quoted ? quotedValue(rest) : plainValue(rest);
      rest = rest.slice(length);
      if (name === '' || NO_TOKEN.test(name) || NO_QUOTED.test(value)) continue;
      if ((value !== '' || quoted) && !params.#values.has(name)) params.#values.set(name, value);
    }
  }

  delete(name: string): void {
    this.#values.delete(`${name}`);
  }

  get(name: string): string | null {
    return this.#values.get(`${name}`) ?? null;
  }

  has(name: string): boolean {
    return this.#values.has(`${name}`);
  }

  set(name: string, value: string): void {
    const [key, text] = [`${name}`, `${value}`];
    const [noName, noValue] = [key.search(NO_TOKEN), text.search(NO_QUOTED)];
    if (key === '' || noName >= 0) throw syntax('parameter name', key, noName);
    if (noValue >= 0) throw syntax('parameter value', text, noValue);
    this.#values.set(key, text);
  }

  *entries(): IterableIterator<[string, string]> {
    yield* this.#values.entries();
  }

  *keys(): IterableIterator<string> {
    yield* this.#values.keys();
  }

  *values(): IterableIterator<string> {
    yield* this.#values.values();
  }

  toString(): string {
    return [...this.#values].map(([name, value]) => `${name}=${written(value)}`).join(';');
  }
}
Object.defineProperties(MIMEParams.prototype, {
  [Symbol.iterator]: { value: MIMEParams.prototype.entries, writable: true, configurable: true },
  toJSON: { value: MIMEParams.prototype.toString, writable: true, configurable: true },
});

function plainValue(text: string): { value: string; length: number } {
  const end = text.indexOf(';');
  const length = end < 0 ? text.length : end;
  return { value: trimmed(text.slice(0, length), false), length };
}

/** A value in quotes; what follows it up to the next `;` says nothing. */
function quotedValue(text: string): { value: string; length: number } {
  let value = '';
  let at = 1;
  for (; at < text.length && text[at] !== '"'; at++) {
    if (text[at] === '\\' && at + 1 < text.length) at++;
    value += text[at];
  }
  const end = text.indexOf(';', at);
  return { value, length: end < 0 ? text.length : end };
}

export class MIMEType {
  #type: string;
  #subtype: string;
  readonly #params = new MIMEParams();

  constructor(input: string) {
    const whole = `${input}`;
    const text = trimmed(whole, true);
    const slash = text.indexOf('/');
    if (slash < 0) throw syntax('type', whole, text === '' ? -1 : slash);
    this.#type = token('type', text.slice(0, slash), whole);
    const rest = text.slice(slash + 1);
    const end = rest.indexOf(';');
    this.#subtype = token('subtype', trimmed(end < 0 ? rest : rest.slice(0, end), false), whole);
    if (end >= 0) MIMEParams.read(rest.slice(end), this.#params);
  }

  get type(): string {
    return this.#type;
  }

  set type(type: string) {
    this.#type = token('type', `${type}`);
  }

  get subtype(): string {
    return this.#subtype;
  }

  set subtype(subtype: string) {
    this.#subtype = token('subtype', `${subtype}`);
  }

  get essence(): string {
    return `${this.#type}/${this.#subtype}`;
  }

  get params(): MIMEParams {
    return this.#params;
  }

  toString(): string {
    const params = this.#params.toString();
    return params === '' ? this.essence : `${this.essence};${params}`;
  }
}
Object.defineProperty(MIMEType.prototype, 'toJSON', {
  value: MIMEType.prototype.toString,
  writable: true,
  configurable: true,
});
