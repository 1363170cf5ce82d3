/** Every event that the integration may receive, with a sample to change and to post. */
import { useSignal } from '@preact/signals';
import { type JsonObject, type LiveSession, read, write } from './page-api.ts';
import { failed, JsonField, type Outcome, Said } from './parts.tsx';

interface Posted {
  readonly eventId: string;
  readonly deliveries: number;
}

export function EventsView({ live }: { readonly live: LiveSession }) {
  const chosen = useSignal<string | undefined>(undefined);
  const text = useSignal('');
  const says = useSignal<Outcome>(undefined);
  const fail = (error: unknown) => {
    says.value = failed(error);
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
            onClick={() => void choose(type).catch(fail)}
          >
            {type}
          </button>
        ))}
      </div>
      {chosen.value !== undefined && (
        <div class="card">
          <JsonField label="The event, as JSON" rows={12} text={text} />
          <button type="button" class="button primary" onClick={() => void post().catch(fail)}>
            Post {chosen.value}
          </button>
        </div>
      )}
      <Said outcome={says.value} />
    </section>
  );
}
