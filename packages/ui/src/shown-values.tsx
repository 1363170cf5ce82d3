/** Values as people read them: times, states, payloads. Text of a tenant is text everywhere. */
import type { ComponentChildren } from 'preact';

const UNITS: readonly (readonly [unit: Intl.RelativeTimeFormatUnit, seconds: number])[] = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
];

/** Formats of a language, each made once. */
const formats = new Map<string, { relative: Intl.RelativeTimeFormat; absolute: Intl.DateTimeFormat }>();

function formatsOf(locale: string) {
  const known = formats.get(locale) ?? {
    relative: new Intl.RelativeTimeFormat(locale, { numeric: 'auto', style: 'short' }),
    absolute: new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'long' }),
  };
  formats.set(locale, known);
  return known;
}

interface TimeProps {
  readonly at: string;
  /** Language of its words. */
  readonly locale?: string;
}

/** A time as its distance from now; the time itself on hover. */
export function Time({ at, locale = 'en' }: TimeProps) {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return <span dir="auto">{at}</span>;
  const { relative, absolute } = formatsOf(locale);
  const seconds = (date.getTime() - Date.now()) / 1000;
  const [unit, size] = UNITS.find(([, least]) => Math.abs(seconds) >= least) ?? (['second', 1] as const);
  return (
    <time dateTime={at} title={absolute.format(date)}>
      {relative.format(Math.trunc(seconds / size), unit)}
    </time>
  );
}

interface StateProps {
  readonly tone: 'good' | 'warn' | 'bad' | 'info';
  readonly children: ComponentChildren;
}

/** A state as a word with a dot: never a colour alone. */
export const State = ({ tone, children }: StateProps) => (
  <span class={`state ${tone}`}>
    <i aria-hidden="true" />
    {children}
  </span>
);

/** A value as JSON; text that is JSON is laid out, other text is as it is. */
export function Payload({ value, label }: { readonly value: unknown; readonly label: string }) {
  return (
    <pre class="payload" tabIndex={0} role="region" aria-label={label}>
      {typeof value === 'string' ? laidOut(value) : JSON.stringify(value, undefined, 2)}
    </pre>
  );
}

/** Longer text is shown as it came: to lay it out would hold up the page. */
const LAID_OUT_CHARS_MAX = 200_000;

function laidOut(text: string): string {
  if (text.length > LAID_OUT_CHARS_MAX) return text;
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2);
  } catch {
    return text;
  }
}
