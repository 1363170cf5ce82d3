/** What the views are made of: times, ids, states, payloads. Text of a tenant is text everywhere. */
import { useState } from 'preact/hooks';
import { Icon } from '../../ui/src/icons.tsx';

const UNITS: readonly (readonly [unit: Intl.RelativeTimeFormatUnit, seconds: number])[] = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
];
const RELATIVE = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'short' });
const ABSOLUTE = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'long' });

/** A time as its distance from now; the time itself on hover. */
export function Time({ at }: { readonly at: string }) {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return <span dir="auto">{at}</span>;
  const seconds = (date.getTime() - Date.now()) / 1000;
  const [unit, size] = UNITS.find(([, least]) => Math.abs(seconds) >= least) ?? (['second', 1] as const);
  return (
    <time dateTime={at} title={ABSOLUTE.format(date)}>
      {RELATIVE.format(Math.trunc(seconds / size), unit)}
    </time>
  );
}

/** An id, shortened in the middle, with a button that copies it. */
export function Id({ id }: { readonly id: string }) {
  const [isCopied, setCopied] = useState(false);
  const short = id.length > 16 ? `${id.slice(0, 8)}…${id.slice(-4)}` : id;
  // A page without the right to the clipboard has the whole id on hover.
  const copy = () =>
    navigator.clipboard?.writeText(id).then(
      () => setCopied(true),
      () => undefined,
    );
  return (
    <span class="id">
      <code title={id}>{short}</code>
      <button
        type="button"
        class="button quiet small"
        aria-label={isCopied ? `Copied ${id}` : `Copy ${id}`}
        onClick={() => void copy()}
        onBlur={() => setCopied(false)}
      >
        <Icon name={isCopied ? 'check' : 'copy'} />
      </button>
    </span>
  );
}

/** Words of the API → tone of their dot. */
const TONES: Readonly<Record<string, 'good' | 'warn' | 'bad' | 'info'>> = {
  ...{ active: 'good', delivered: 'good', healthy: 'good', ok: 'good', succeeded: 'good' },
  ...{ pending: 'info', unhandled: 'info', canceled: 'info', public: 'info' },
  ...{ paused: 'warn', held: 'warn', degraded: 'warn', fault: 'warn', warn: 'warn' },
  ...{ failed: 'bad', failing: 'bad', disabled: 'bad', damaged: 'bad', error: 'bad' },
};

/** A state as a word with a dot: never a colour alone. */
export const State = ({ state }: { readonly state: string }) => (
  <span class={`state ${TONES[state] ?? 'info'}`}>
    <i aria-hidden="true" />
    {state}
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

/** Facts as a list of names and values; those without a value are left out. */
export const Facts = ({
  facts,
}: {
  readonly facts: readonly (readonly [string, preact.ComponentChildren])[];
}) => (
  <dl class="facts">
    {facts
      .filter(([, value]) => value !== undefined && value !== '')
      .map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd dir="auto">{value}</dd>
        </div>
      ))}
  </dl>
);
