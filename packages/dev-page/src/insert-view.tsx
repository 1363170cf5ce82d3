/** The quick-insert menu and the pasted URL, where the manifest has blocks for them. */
import { useSignal } from '@preact/signals';
import { DrawnComponent } from './drawn-component.tsx';
import { type JsonObject, write } from './page-api.ts';
import { session } from './page-state.ts';

interface Inserted {
  readonly id: string;
  readonly props?: JsonObject;
}

interface Unfurled {
  readonly componentId: string;
  readonly props?: JsonObject;
}

export function InsertView() {
  const inserted = useSignal<Inserted | undefined>(undefined);
  const failure = useSignal('');
  const { value } = session;
  if (value.live === null || value.blocks.length === 0) return null;
  const unfurls = value.blocks.some(({ urlUnfurl }) => urlUnfurl !== undefined);
  const paste = async (event: SubmitEvent) => {
    event.preventDefault();
    const url = new FormData(event.currentTarget as HTMLFormElement).get('url');
    failure.value = '';
    try {
      const { componentId, props } = await write<Unfurled>('unfurl', { url });
      inserted.value = { id: componentId, ...(props && { props }) };
    } catch (error) {
      failure.value = (error as Error).message;
    }
  };
  return (
    <section aria-labelledby="insert">
      <h2 id="insert">Insert</h2>
      <ul class="menu">
        {value.blocks.map(({ id, title, description }) => (
          <li key={id}>
            <button
              type="button"
              onClick={() => {
                inserted.value = { id };
              }}
            >
              {title}
            </button>{' '}
            {description}
          </li>
        ))}
      </ul>
      {unfurls && (
        <form onSubmit={paste}>
          <label>
            Paste a URL <input name="url" type="url" required />
          </label>
          <button type="submit">Unfurl</button>
        </form>
      )}
      {failure.value !== '' && <p role="alert">{failure.value}</p>}
      {inserted.value !== undefined && <DrawnComponent place="space" {...inserted.value} />}
    </section>
  );
}
