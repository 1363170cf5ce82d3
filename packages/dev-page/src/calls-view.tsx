/** The calls of the manifest, made as the host product makes them. */
import { useSignal } from '@preact/signals';
import { write } from './page-api.ts';
import { session } from './page-state.ts';

export function CallsView() {
  const input = useSignal('{}');
  const says = useSignal('');
  const { value } = session;
  if (value.live === null || value.calls.length === 0) return null;
  const ask = async (call: string) => {
    try {
      const { answer } = await write<{ readonly answer: unknown }>('ask', {
        ...{ call, input: JSON.parse(input.value) },
      });
      says.value = JSON.stringify(answer, undefined, 2);
    } catch (error) {
      says.value = (error as Error).message;
    }
  };
  return (
    <section aria-labelledby="calls">
      <h2 id="calls">Calls</h2>
      <label for="call-input">The input, as JSON</label>
      <textarea
        id="call-input"
        rows={4}
        value={input.value}
        onInput={({ currentTarget }) => {
          input.value = currentTarget.value;
        }}
      />
      <ul>
        {value.calls.map(({ name, description }) => (
          <li key={name}>
            <button type="button" onClick={() => void ask(name)}>
              Call {name}
            </button>{' '}
            {description}
          </li>
        ))}
      </ul>
      <pre role="status">{says.value}</pre>
    </section>
  );
}
