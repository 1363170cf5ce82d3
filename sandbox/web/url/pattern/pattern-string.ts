/**
 * Serialises parts to the pattern that the attributes of a URLPattern show
 * (https://urlpattern.spec.whatwg.org/#converting-part-lists-to-pattern-strings).
 */
import { FULL_WILDCARD, type Part, type PatternOptions, segmentWildcard } from './part-list.ts';
import { isNamePart } from './tokens.ts';

/** "Escape a pattern string". */
export const escapePattern = (text: string): string => text.replace(/[+*?:{}()\\]/g, '\\$&');

export function patternString(parts: readonly Part[], options: PatternOptions): string {
  let text = '';
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i] as Part;
    if (part.type === 'fixed-text') {
      const fixed = escapePattern(part.value);
      text += part.modifier === '' ? fixed : `{${fixed}}${part.modifier}`;
    } else {
      text += groupString(part, parts[i - 1], parts[i + 1], options);
    }
  }
  return text;
}

function groupString(
  part: Part,
  previous: Part | undefined,
  next: Part | undefined,
  options: PatternOptions,
): string {
  const customName = !startsWithDigit(part.name);
  const grouped = needsBraces(part, previous, next, options);
  let text = escapePattern(part.prefix);
  if (customName) text += `:${part.name}`;
  if (part.type === 'regexp') {
    text += `(${part.value})`;
  } else if (part.type === 'full-wildcard') {
    const asterisk =
      !customName &&
      (previous === undefined ||
        previous.type === 'fixed-text' ||
        previous.modifier !== '' ||
        grouped ||
        part.prefix !== '');
    text += asterisk ? '*' : `(${FULL_WILDCARD})`;
  } else if (!customName) {
    text += `(${segmentWildcard(options)})`;
  } else if (part.suffix !== '' && isNamePart(firstChar(part.suffix))) {
    // Separates the suffix from the name.
    text += '\\';
  }
  text += escapePattern(part.suffix);
  return (grouped ? `{${text}}` : text) + part.modifier;
}

/** Whether the group needs braces, so that it does not include adjacent text. */
function needsBraces(
  part: Part,
  previous: Part | undefined,
  next: Part | undefined,
  options: PatternOptions,
): boolean {
  if (part.suffix !== '' || (part.prefix !== '' && part.prefix !== options.prefix)) return true;
  const bareName = part.type === 'segment-wildcard' && part.modifier === '' && !startsWithDigit(part.name);
  if (bareName && next !== undefined && next.prefix === '' && next.suffix === '') {
    const runsOn =
      next.type === 'fixed-text' ? isNamePart(firstChar(next.value)) : startsWithDigit(next.name);
    if (runsOn) return true;
  }
  return (
    part.prefix === '' &&
    options.prefix !== '' &&
    previous?.type === 'fixed-text' &&
    previous.value.endsWith(options.prefix)
  );
}

const startsWithDigit = (name: string): boolean => /^[0-9]/.test(name);
const firstChar = (text: string): string => String.fromCodePoint(text.codePointAt(0) ?? 0);
