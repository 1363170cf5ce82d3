/** A component of the integration in the page, drawn by `<annex-component>`. */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { AnnexComponent, fetchTransport, type Transport } from '../../components/src/index.ts';
import { Callout } from '../../ui/src/widgets.tsx';
import type { JsonObject, Place } from './page-api.ts';
import { edits, generation } from './page-state.ts';

const ask: Readonly<Record<Place, Transport>> = {
  account: fetchTransport('api/render?place=account'),
  space: fetchTransport('api/render?place=space'),
  site: fetchTransport('api/render?place=site'),
};

export interface DrawnComponentProps {
  readonly id: string;
  readonly place: Place;
  /** Of its block. */
  readonly title?: string | undefined;
  readonly props?: JsonObject;
}

export function DrawnComponent({ id, place, title, props = {} }: DrawnComponentProps) {
  const host = useRef<HTMLDivElement>(null);
  const ended = useSignal<string | undefined>(undefined);
  const drawn = useRef<AnnexComponent>(null);
  const version = generation.value;
  const edit = edits.value;
  const drawnAt = useRef(edit);
  const propsText = JSON.stringify(props);
  useEffect(() => {
    const element = new AnnexComponent();
    element.componentId = id;
    element.props = JSON.parse(propsText);
    element.transport = ask[place];
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
    <article class="card">
      <h3 dir="auto">{id}</h3>
      {title !== undefined && (
        <p class="fact" dir="auto">
          {title}
        </p>
      )}
      <div ref={host} class="drawing" />
      {ended.value !== undefined && (
        <Callout tone="good" role="status">
          It is complete: {ended.value}
        </Callout>
      )}
    </article>
  );
}
