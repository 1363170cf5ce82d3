/** The calls of the manifest, made as the host product makes them. */
import { useSignal } from '@preact/signals';
import { Payload } from '../../ui/src/shown-values.tsx';
import { type LiveSession, write } from './page-api.ts';
import { failed, JsonField, type Outcome, Said } from './parts.tsx';

export function CallsView({ live }: { readonly live: LiveSession }) {
  const input = useSignal('{}');
  const answer = useSignal<unknown>(undefined);
  const failure = useSignal<Outcome>(undefined);
  const ask = async (call: string) => {
    failure.value = undefined;
    answer.value = undefined;
    try {
      const request = { call, input: JSON.parse(input.value) };
      answer.value = (await write<{ readonly answer: unknown }>('ask', request)).answer;
    } catch (error) {
      failure.value = failed(error);
    }
  };
  return (
    <section aria-labelledby="calls">
      <h2 id="calls">Calls</h2>
      <JsonField label="The input, as JSON" rows={4} text={input} />
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
      <Said outcome={failure.value} />
      {answer.value !== undefined && <Payload value={answer.value} label="answer" />}
    </section>
  );
}
