/** Every event that the integration may receive, with a sample to change and to post. */
import { useSignal } from '@preact/signals';
import { type JsonObject, read, write } from './page-api.ts';
import { session } from './page-state.ts';

interface Posted {
  readonly eventId: string;
  readonly deliveries: number;
}

export function EventsView() {
  const chosen = useSignal<string | undefined>(undefined);
  const text = useSignal('');
  const says = useSignal('');
  const { value } = session;
  if (value.live === null) return null;
  const choose = async (type: string) => {
    says.value = '';
    const sample = await read<JsonObject>('sample', { type });
    chosen.value = type;
    text.value = JSON.stringify(sample, undefined, 2);
  };
  const post = async () => {
    try {
      const { eventId, deliveries } = await write<Posted>('event', { event: JSON.parse(text.value) });
      const noun = deliveries === 1 ? 'delivery' : 'deliveries';
      says.value = `Posted ${eventId}: ${deliveries} ${noun}. The feed shows their outcome.`;
    } catch (error) {
      says.value = (error as Error).message;
    }
  };
  return (
    <section aria-labelledby="events">
      <h2 id="events">Events</h2>
      {value.events.length === 0 && <p>The scopes of the manifest let it receive no event.</p>}
      <div class="menu">
        {value.events.map((type) => (
          <button
            key={type}
            type="button"
            aria-pressed={chosen.value === type}
            onClick={() => void choose(type)}
          >
            {type}
          </button>
        ))}
      </div>
      {chosen.value !== undefined && (
        <>
          <label for="event-text">The event, as JSON</label>
          <textarea
            id="event-text"
            rows={12}
            value={text.value}
            onInput={({ currentTarget }) => {
              text.value = currentTarget.value;
            }}
          />
          <button type="button" onClick={() => void post()}>
            Post {chosen.value}
          </button>
        </>
      )}
      <p role="status">{says.value}</p>
    </section>
  );
}
