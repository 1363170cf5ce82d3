/**
 * A component of the integration in the page, drawn by `<annex-component>`. Each exchange with the
 * code is recorded, and can be read below the drawing.
 */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import {
  AnnexComponent,
  fetchTransport,
  type RenderRequest,
  type Transport,
} from '../../components/src/index.ts';
import { JsonText } from './json-text.tsx';
import type { JsonObject, Place } from './page-api.ts';
import { edits, generation } from './page-state.ts';

/** Exchanges that are shown of a component. */
const EXCHANGES_MAX = 10;

interface Exchange {
  readonly at: number;
  readonly request: RenderRequest;
  readonly status: number;
  readonly body: unknown;
  readonly durationMs: number;
}

const ask: Readonly<Record<Place, Transport>> = {
  account: fetchTransport('api/render?place=account'),
  space: fetchTransport('api/render?place=space'),
  site: fetchTransport('api/render?place=site'),
};

export interface DrawnComponentProps {
  readonly id: string;
  readonly place: Place;
  readonly props?: JsonObject;
}

export function DrawnComponent({ id, place, props = {} }: DrawnComponentProps) {
  const host = useRef<HTMLDivElement>(null);
  const exchanges = useSignal<readonly Exchange[]>([]);
  const ended = useSignal<string | undefined>(undefined);
  const drawn = useRef<AnnexComponent>(null);
  const version = generation.value;
  const edit = edits.value;
  const drawnAt = useRef(edit);
  const propsText = JSON.stringify(props);
  useEffect(() => {
    const transport: Transport = async (request, signal) => {
      const at = performance.now();
      const answer = await ask[place](request, signal);
      const durationMs = Math.round(performance.now() - at);
      exchanges.value = [{ at, request, ...answer, durationMs }, ...exchanges.value].slice(0, EXCHANGES_MAX);
      return answer;
    };
    const element = new AnnexComponent();
    element.componentId = id;
    element.props = JSON.parse(propsText);
    element.transport = transport;
    element.addEventListener('annex-complete', (event) => {
      ended.value = JSON.stringify((event as CustomEvent).detail);
    });
    ended.value = undefined;
    drawn.current = element;
    host.current?.replaceChildren(element);
    return () => element.remove();
    // A new version draws its components anew.
  }, [id, place, propsText, version]);
  useEffect(() => {
    if (edit !== drawnAt.current) drawn.current?.refresh();
    drawnAt.current = edit;
  }, [edit]);
  return (
    <article>
      <h3>{id}</h3>
      <div ref={host} class="drawing" />
      {ended.value !== undefined && <p role="status">It is complete: {ended.value}</p>}
      <details>
        <summary>Requests and answers ({exchanges.value.length})</summary>
        {exchanges.value.map(({ at, request, status, body, durationMs }) => (
          <section key={at}>
            <p>
              {request.action?.action ?? 'first drawing'}: {status}, {durationMs} ms
            </p>
            <JsonText name="request" value={request} />
            <JsonText name="answer" value={body} />
          </section>
        ))}
      </details>
    </article>
  );
}
