/** The quick-insert menu and the pasted URL, where the manifest has blocks for them. */
import { useSignal } from '@preact/signals';
import { DrawnComponent } from './drawn-component.tsx';
import { type JsonObject, type LiveSession, write } from './page-api.ts';
import { failed, type Outcome, Said } from './parts.tsx';

interface Inserted {
  readonly id: string;
  readonly props?: JsonObject;
}

interface Unfurled {
  readonly componentId: string;
  readonly props?: JsonObject;
}

export function InsertView({ live }: { readonly live: LiveSession }) {
  const inserted = useSignal<Inserted | undefined>(undefined);
  const failure = useSignal<Outcome>(undefined);
  const unfurls = live.blocks.some(({ urlUnfurl }) => urlUnfurl !== undefined);
  const paste = async (event: SubmitEvent) => {
    event.preventDefault();
    const url = new FormData(event.currentTarget as HTMLFormElement).get('url');
    failure.value = undefined;
    try {
      const { componentId, props } = await write<Unfurled>('unfurl', { url });
      inserted.value = { id: componentId, ...(props && { props }) };
    } catch (error) {
      failure.value = failed(error);
    }
  };
  return (
    <section aria-labelledby="insert">
      <h2 id="insert">Insert</h2>
      <ul class="rows">
        {live.blocks.map(({ id, title, description }) => (
          <li key={id}>
            <button
              type="button"
              class="button"
              onClick={() => {
                inserted.value = { id };
              }}
            >
              <span dir="auto">{title}</span>
            </button>
            <span class="fact" dir="auto">
              {description}
            </span>
          </li>
        ))}
      </ul>
      {unfurls && (
        <form class="row" onSubmit={paste}>
          <div class="field">
            <label class="label" for="insert-url">
              Paste a URL
            </label>
            <input class="textinput" id="insert-url" name="url" type="url" required autocomplete="off" />
          </div>
          <button type="submit" class="button">
            Unfurl
          </button>
        </form>
      )}
      <Said outcome={failure.value} />
      {inserted.value !== undefined && <DrawnComponent place="space" {...inserted.value} />}
    </section>
  );
}
