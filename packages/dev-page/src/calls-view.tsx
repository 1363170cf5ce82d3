/** The calls of the manifest, made as the host product makes them. */
import { useSignal } from '@preact/signals';
import { Payload } from '../../ui/src/shown-values.tsx';
import { Callout } from '../../ui/src/widgets.tsx';
import { type LiveSession, write } from './page-api.ts';

export function CallsView({ live }: { readonly live: LiveSession }) {
  const input = useSignal('{}');
  const answer = useSignal<unknown>(undefined);
  const failure = useSignal('');
  const ask = async (call: string) => {
    failure.value = '';
    answer.value = undefined;
    try {
      const request = { call, input: JSON.parse(input.value) };
      answer.value = (await write<{ readonly answer: unknown }>('ask', request)).answer;
    } catch (error) {
      failure.value = (error as Error).message;
    }
  };
  return (
    <section aria-labelledby="calls">
      <h2 id="calls">Calls</h2>
      <div class="field">
        <label class="label" for="call-input">
          The input, as JSON
        </label>
        <textarea
          id="call-input"
          class="textinput"
          rows={4}
          value={input.value}
          onInput={({ currentTarget }) => {
            input.value = currentTarget.value;
          }}
        />
      </div>
      <ul class="rows">
        {live.calls.map(({ name, description }) => (
          <li key={name}>
            <code dir="auto">{name}</code>
            <span dir="auto">{description}</span>
            <button type="button" class="button" onClick={() => void ask(name)}>
              Call {name}
            </button>
          </li>
        ))}
      </ul>
      {failure.value !== '' && (
        <Callout tone="bad" role="alert">
          {failure.value}
        </Callout>
      )}
      {answer.value !== undefined && <Payload value={answer.value} label="answer" />}
    </section>
  );
}
