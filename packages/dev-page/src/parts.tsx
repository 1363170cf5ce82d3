/** What the views share: a text as JSON, and what came of a request. */
import type { Signal } from '@preact/signals';
import { Callout, Field, useFieldAttributes } from '../../ui/src/widgets.tsx';

interface JsonFieldProps {
  readonly label: string;
  readonly rows: number;
  readonly text: Signal<string>;
}

export const JsonField = ({ label, rows, text }: JsonFieldProps) => (
  <Field label={label}>
    <JsonText label={label} rows={rows} text={text} />
  </Field>
);

const JsonText = ({ label, rows, text }: JsonFieldProps) => (
  <textarea
    {...useFieldAttributes(label)}
    class="textinput"
    rows={rows}
    value={text.value}
    onInput={({ currentTarget }) => {
      text.value = currentTarget.value;
    }}
  />
);

/** A sentence about the last request; undefined before the first. */
export type Outcome = { readonly tone: 'good' | 'bad'; readonly words: string } | undefined;

export const failed = (error: unknown): Outcome => ({ tone: 'bad', words: (error as Error).message });

export const Said = ({ outcome }: { readonly outcome: Outcome }) =>
  outcome && (
    <Callout tone={outcome.tone} role={outcome.tone === 'bad' ? 'alert' : 'status'}>
      {outcome.words}
    </Callout>
  );
