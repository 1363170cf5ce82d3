/** What the views are made of: times, ids, states, payloads. Text of a tenant is text everywhere. */
import { useState } from 'preact/hooks';
import { Icon } from '../../ui/src/icons.tsx';
import { State as ToneState } from '../../ui/src/shown-values.tsx';

export { Payload, Time } from '../../ui/src/shown-values.tsx';

const NUMBER = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
export const numberText = (value: number): string => NUMBER.format(value);

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
  ...{
    active: 'good',
    delivered: 'good',
    healthy: 'good',
    ok: 'good',
    succeeded: 'good',
    sound: 'good',
    live: 'good',
    set: 'good',
  },
  ...{ flag: 'warn', variable: 'warn', pending: 'info', unhandled: 'info', canceled: 'info', public: 'info' },
  ...{ paused: 'warn', held: 'warn', degraded: 'warn', fault: 'warn', warn: 'warn', missing: 'warn' },
  ...{ 'waits for approval': 'warn', refused: 'bad' },
  ...{ failed: 'bad', failing: 'bad', disabled: 'bad', damaged: 'bad', error: 'bad' },
};

/** A state by the API's word for it. */
export const State = ({ state }: { readonly state: string }) => (
  <ToneState tone={TONES[state] ?? 'info'}>{state}</ToneState>
);

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
