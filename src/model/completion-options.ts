/**
 * Reads the choices that an integration supplies for a setting, `[{label, value}]`, as hostile
 * input (`docs/contract/configuration.md#completion`).
 *
 * Pure. An answer is accepted whole or refused. A fault names a position in the answer and never
 * repeats a value.
 */

/** Maximum options of one answer. For longer lists there is the `search` parameter. */
export const OPTIONS_MAX = 500;
export const LABEL_CHARS_MAX = 200;
export const VALUE_CHARS_MAX = 1_024;
/** Bytes of one answer. */
export const COMPLETIONS_BYTES_MAX = 256 * 1024;

/** One choice of a dropdown. */
export interface CompletionOption {
  readonly label: string;
  readonly value: string;
}

export type ReadCompletions =
  | { readonly ok: true; readonly options: readonly CompletionOption[] }
  /** A clause that follows "answered with", for instance `[3].label that is a number, not text`. */
  | { readonly ok: false; readonly fault: string };

/** Reads the body of an answer. Other members of an option are left out. */
export function readCompletions(body: Uint8Array): ReadCompletions {
  const parsed = parse(body);
  if (parsed === undefined) return fault('a text that is not JSON');
  const { value } = parsed;
  if (!Array.isArray(value)) return fault(`${kindOf(value)} instead of a list`);
  if (value.length > OPTIONS_MAX)
    return fault(`${value.length} options, and at most ${OPTIONS_MAX} are taken`);
  const options: CompletionOption[] = [];
  for (const [index, option] of value.entries()) {
    if (!isRecord(option)) return fault(`[${index}] that is ${kindOf(option)}, not an object`);
    const { label, value } = option;
    const wrong =
      textFault(label, LABEL_CHARS_MAX, `[${index}].label`) ??
      textFault(value, VALUE_CHARS_MAX, `[${index}].value`);
    if (wrong !== undefined) return fault(wrong);
    options.push({ label: String(label), value: String(value) });
  }
  return { ok: true, options };
}

function textFault(text: unknown, charsMax: number, place: string): string | undefined {
  if (typeof text !== 'string') return `${place} that is ${kindOf(text)}, not text`;
  if (text.length <= charsMax) return undefined;
  return `${place} of ${text.length} characters, and at most ${charsMax} are taken`;
}

function parse(body: Uint8Array): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)) };
  } catch {
    return undefined;
  }
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function kindOf(value: unknown): string {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

const fault = (text: string): ReadCompletions => ({ ok: false, fault: text });
