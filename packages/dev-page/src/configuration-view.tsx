/** The forms of the configuration, as the host product shows them: one for each place. */
import { useEffect, useRef } from 'preact/hooks';
import { AnnexConfiguration, type FormAnswer } from '../../components/src/configuration.ts';
import { type LiveSession, type Place, write } from './page-api.ts';
import { edits, generation } from './page-state.ts';

/** @param words the product's for spaces and sites */
const headingOf = (place: Place, words: { readonly space?: string; readonly site?: string }): string =>
  place === 'account' ? 'Configuration' : `Configuration in the sample ${words[place] ?? place}`;

export function ConfigurationsView({ live }: { readonly live: LiveSession }) {
  return (
    <>
      {live.configurations.map((place) => (
        <ConfigurationView key={place} place={place} heading={headingOf(place, live.levelNames)} />
      ))}
    </>
  );
}

function ConfigurationView({ place, heading }: { place: Place; heading: string }) {
  const host = useRef<HTMLElement>(null);
  const shown = useRef<AnnexConfiguration>(undefined);
  const version = generation.value;
  const edit = edits.value;
  useEffect(() => {
    const element = new AnnexConfiguration();
    element.transport = (request) => write<FormAnswer>('form', { place, ...request });
    shown.current = element;
    host.current?.append(element);
    return () => element.remove();
    // A new version has a form of its own.
  }, [place, version]);
  useEffect(() => shown.current?.refresh(), [edit]);
  return (
    <section aria-labelledby={`configuration-${place}`} ref={host}>
      <h2 id={`configuration-${place}`}>{heading}</h2>
    </section>
  );
}
