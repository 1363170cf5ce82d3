/**
 * An HTTP client that prints each request and answer as a few readable lines, and collects unmet
 * expectations. Where it is brief, it prints only what it is told to.
 */

/** A request to show and send; at most one of `json` and `form`. */
export interface Sent {
  readonly method: string;
  readonly url: string;
  readonly token?: string;
  readonly json?: unknown;
  readonly form?: FormData;
}

export interface Exchange {
  readonly status: number;
  readonly text: string;
  /** The parsed body; undefined if it is not JSON. */
  readonly json: unknown;
}

const BODY_CHARS_SHOWN = 1_200;
const TOKEN_CHARS_SHOWN = 18;

export class Transcript {
  readonly surprises: string[] = [];
  readonly #print: (text: string) => void;
  readonly #isVerbose: boolean;
  #steps = 0;

  constructor(print: (text: string) => void, isVerbose: boolean) {
    this.#print = print;
    this.#isVerbose = isVerbose;
  }

  /** Prints a line where each request is shown. */
  detail(text: string): void {
    if (this.#isVerbose) this.#print(text);
  }

  /** Prints a line where requests are not shown. */
  tell(text: string): void {
    if (!this.#isVerbose) this.#print(text);
  }

  title(text: string): void {
    this.#steps += 1;
    this.detail(`\n── ${this.#steps}. ${text}`);
  }

  async exchange(sent: Sent): Promise<Exchange> {
    const { method, url, token, json, form } = sent;
    this.detail(`   → ${method} ${url}`);
    if (token) this.detail(`     authorization: Bearer ${token.slice(0, TOKEN_CHARS_SHOWN)}…`);
    if (json !== undefined) this.detail(`     ${JSON.stringify(json)}`);
    for (const [name, value] of form ?? []) {
      const shown = typeof value === 'string' ? value : `${value.name} (${value.size} bytes)`;
      this.detail(`     ${name}: ${shown}`);
    }
    const response = await fetch(toRequest(sent));
    const text = await response.text();
    const parsed = parse(text);
    this.detail(`   ← ${response.status} ${response.headers.get('content-type') ?? ''}`);
    const shown = parsed === undefined ? text : JSON.stringify(redacted(parsed), null, 2);
    this.detail(shown.slice(0, BODY_CHARS_SHOWN).replaceAll(/^/gm, '     '));
    return { status: response.status, text, json: parsed };
  }

  expect(held: boolean, expectation: string): void {
    if (held) return;
    this.surprises.push(expectation);
    this.#print(`   ✗ ${expectation}`);
  }
}

export function toRequest({ method, url, token, json, form }: Sent): Request {
  return new Request(url, {
    method,
    headers: {
      ...(token && { authorization: `Bearer ${token}` }),
      ...(json !== undefined && { 'content-type': 'application/json' }),
    },
    ...(json !== undefined && { body: JSON.stringify(json) }),
    ...(form && { body: form }),
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Shortens tokens and secrets: transcripts are pasted into tickets. */
function redacted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([name, member]) => {
    const isSecret = (name === 'token' || name === 'secret') && typeof member === 'string';
    return [name, isSecret ? `${member.slice(0, TOKEN_CHARS_SHOWN)}…` : member];
  });
  return Array.isArray(value) ? value : Object.fromEntries(members);
}
