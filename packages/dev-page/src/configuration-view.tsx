/** The forms of the configuration, as the host product shows them: one for each place. */
import { useEffect, useRef } from 'preact/hooks';
import { AnnexConfiguration, type FormAnswer } from '../../components/src/configuration.ts';
import { type Place, write } from './page-api.ts';
import { edits, generation, session } from './page-state.ts';

const HEADINGS: Readonly<Record<Place, string>> = {
  account: 'Configuration',
  space: 'Configuration in the sample space',
  site: 'Configuration in the sample site',
};

export function ConfigurationsView() {
  const { value } = session;
  if (value.live === null) return null;
  return (
    <>
      {value.configurations.map((place) => (
        <ConfigurationView key={place} place={place} />
      ))}
    </>
  );
}

function ConfigurationView({ place }: { place: Place }) {
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
      <h2 id={`configuration-${place}`}>{HEADINGS[place]}</h2>
    </section>
  );
}
