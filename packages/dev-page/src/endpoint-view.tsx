/** A request to the public endpoint of the installation, and what came back. */
import { useSignal } from '@preact/signals';
import { Payload, State } from '../../ui/src/shown-values.tsx';
import { CopyButton, Picked } from '../../ui/src/widgets.tsx';
import { type CallAnswer, type LiveView, write } from './page-api.ts';
import { failed, type Outcome, Said } from './parts.tsx';

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'];

export function EndpointView({ live }: { readonly live: LiveView }) {
  const answer = useSignal<CallAnswer | undefined>(undefined);
  const failure = useSignal<Outcome>(undefined);
  const send = async (event: SubmitEvent) => {
    event.preventDefault();
    const given = new FormData(event.currentTarget as HTMLFormElement);
    const text = (name: string) => String(given.get(name) ?? '');
    failure.value = undefined;
    answer.value = undefined;
    try {
      const type = text('body') === '' ? {} : { 'content-type': 'application/json' };
      const request = { method: text('method'), path: text('path'), body: text('body'), headers: type };
      answer.value = await write<CallAnswer>('call', request);
    } catch (error) {
      failure.value = failed(error);
    }
  };
  const { value } = answer;
  return (
    <section aria-labelledby="endpoint">
      <h2 id="endpoint">Endpoint</h2>
      <p class="row">
        <a href={live.publicEndpoint} target="_blank" rel="noopener noreferrer">
          {live.publicEndpoint}
        </a>
        <CopyButton value={live.publicEndpoint} words={{ copy: 'Copy', copied: 'Copied' }} />
      </p>
      <form class="card" onSubmit={send}>
        <div class="row">
          <div class="field short">
            <label class="label" for="call-method">
              Method
            </label>
            <Picked>
              <select class="select" id="call-method" name="method">
                {METHODS.map((method) => (
                  <option key={method}>{method}</option>
                ))}
              </select>
            </Picked>
          </div>
          <div class="field">
            <label class="label" for="call-path">
              Path
            </label>
            <input
              class="textinput"
              id="call-path"
              name="path"
              placeholder="orders?page=2"
              autocomplete="off"
            />
          </div>
        </div>
        <div class="field">
          <label class="label" for="call-body">
            Body<span class="optional">, for methods that have one</span>
          </label>
          <textarea class="textinput" id="call-body" name="body" rows={3} />
        </div>
        <button type="submit" class="button primary">
          Send
        </button>
      </form>
      <Said outcome={failure.value} />
      {value !== undefined && <Answer answer={value} />}
    </section>
  );
}

function Answer({ answer: { status, durationMs, isWhole, headers, body } }: { readonly answer: CallAnswer }) {
  return (
    <div class="card">
      <p class="title" role="status">
        <State tone={status < 400 ? 'good' : 'bad'}>{status}</State>
        <small>
          {durationMs} ms{isWhole ? '' : ', the beginning of the body'}
        </small>
      </p>
      <details>
        <summary>headers</summary>
        <Payload value={headers.map(([name, text]) => `${name}: ${text}\n`).join('')} label="headers" />
      </details>
      <Payload value={body} label="body" />
    </div>
  );
}
