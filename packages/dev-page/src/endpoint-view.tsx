/** A request to the public endpoint of the installation, and what came back. */
import { useSignal } from '@preact/signals';
import { type CallAnswer, write } from './page-api.ts';
import { session } from './page-state.ts';

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'];

export function EndpointView() {
  const answer = useSignal<CallAnswer | undefined>(undefined);
  const failure = useSignal('');
  const { live } = session.value;
  if (live === null) return null;
  const send = async (event: SubmitEvent) => {
    event.preventDefault();
    const given = new FormData(event.currentTarget as HTMLFormElement);
    const text = (name: string) => String(given.get(name) ?? '');
    failure.value = '';
    answer.value = undefined;
    try {
      const type = text('body') === '' ? {} : { 'content-type': 'application/json' };
      answer.value = await write<CallAnswer>('call', {
        ...{ method: text('method'), path: text('path') },
        ...{ body: text('body'), headers: type },
      });
    } catch (error) {
      failure.value = (error as Error).message;
    }
  };
  const { value } = answer;
  return (
    <section aria-labelledby="endpoint">
      <h2 id="endpoint">Endpoint</h2>
      <p>
        <a href={live.publicEndpoint} target="_blank" rel="noopener noreferrer">
          {live.publicEndpoint}
        </a>
      </p>
      <form onSubmit={send}>
        <label>
          Method{' '}
          <select name="method">
            {METHODS.map((method) => (
              <option key={method}>{method}</option>
            ))}
          </select>
        </label>{' '}
        <label>
          Path <input name="path" placeholder="orders?page=2" />
        </label>
        <label for="call-body">Body, for methods that have one</label>
        <textarea id="call-body" name="body" rows={3} />
        <button type="submit">Send</button>
      </form>
      {failure.value !== '' && <p role="alert">{failure.value}</p>}
      {value !== undefined && (
        <>
          <p role="status">
            {value.status}, {value.durationMs} ms{value.isWhole ? '' : ', the beginning of the body'}
          </p>
          <pre>{value.headers.map(([name, text]) => `${name}: ${text}\n`).join('')}</pre>
          <pre class="body">{value.body}</pre>
        </>
      )}
    </section>
  );
}
