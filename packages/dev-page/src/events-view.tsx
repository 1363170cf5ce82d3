/** Every event that the integration may receive, with a sample to change and to post. */
import { useSignal } from '@preact/signals';
import { Callout } from '../../ui/src/widgets.tsx';
import { type JsonObject, type LiveSession, read, write } from './page-api.ts';

interface Posted {
  readonly eventId: string;
  readonly deliveries: number;
}

export function EventsView({ live }: { readonly live: LiveSession }) {
  const chosen = useSignal<string | undefined>(undefined);
  const text = useSignal('');
  const says = useSignal<{ tone: 'good' | 'bad'; words: string } | undefined>(undefined);
  const failed = (error: unknown) => {
    says.value = { tone: 'bad', words: (error as Error).message };
  };
  const choose = async (type: string) => {
    says.value = undefined;
    const sample = await read<JsonObject>('sample', { type });
    chosen.value = type;
    text.value = JSON.stringify(sample, undefined, 2);
  };
  const post = async () => {
    const event = JSON.parse(text.value);
    const { eventId, deliveries } = await write<Posted>('event', { event });
    const noun = deliveries === 1 ? 'delivery' : 'deliveries';
    says.value = {
      tone: 'good',
      words: `Posted ${eventId}: ${deliveries} ${noun}. The outcome follows beside.`,
    };
  };
  return (
    <section aria-labelledby="events">
      <h2 id="events">Events</h2>
      {live.events.length === 0 && (
        <p class="quiet-words">The scopes of the manifest let it receive no event.</p>
      )}
      <div class="menu">
        {live.events.map((type) => (
          <button
            key={type}
            type="button"
            class="button"
            aria-pressed={chosen.value === type}
            onClick={() => void choose(type).catch(failed)}
          >
            {type}
          </button>
        ))}
      </div>
      {chosen.value !== undefined && (
        <div class="card">
          <div class="field">
            <label class="label" for="event-text">
              The event, as JSON
            </label>
            <textarea
              class="textinput"
              id="event-text"
              rows={12}
              value={text.value}
              onInput={({ currentTarget }) => {
                text.value = currentTarget.value;
              }}
            />
          </div>
          <button type="button" class="button primary" onClick={() => void post().catch(failed)}>
            Post {chosen.value}
          </button>
        </div>
      )}
      {says.value !== undefined && (
        <Callout tone={says.value.tone} role="status">
          {says.value.words}
        </Callout>
      )}
    </section>
  );
}
