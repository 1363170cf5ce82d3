/** All components that the manifest names, as users of the host product see them. */
import { DrawnComponent } from './drawn-component.tsx';
import { session } from './page-state.ts';

export function ComponentsView() {
  const { value } = session;
  if (value.live === null || value.components.length === 0) return null;
  return (
    <section aria-labelledby="components">
      <h2 id="components">Components</h2>
      {value.components.map(({ id, place }) => (
        <DrawnComponent key={`${id} ${place}`} id={id} place={place} />
      ))}
    </section>
  );
}
