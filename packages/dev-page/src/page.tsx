/**
 * The page of `annex dev`: the part of a host product that an integration sees, simulated. One view
 * at a time, whose name is behind the `#` of the address; what happens is beside it.
 */
import { type ComponentChildren, render } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Icon } from '../../ui/src/icons.tsx';
import { State } from '../../ui/src/shown-values.tsx';
import { styleSheet, WIDGET_STYLES } from '../../ui/src/stylesheet.ts';
import { Callout, Skeleton } from '../../ui/src/widgets.tsx';
import { ActivityView } from './activity-view.tsx';
import { CallsView } from './calls-view.tsx';
import { ConfigurationsView } from './configuration-view.tsx';
import { DEV_STYLES } from './dev-styles.ts';
import { DrawnComponent } from './drawn-component.tsx';
import { EndpointView } from './endpoint-view.tsx';
import { EventsView } from './events-view.tsx';
import { InsertView } from './insert-view.tsx';
import type { LiveSession } from './page-api.ts';
import { followPlace, followSession, isConnected, place, session, watchEdits } from './page-state.ts';
import { SchedulesView } from './schedules-view.tsx';
import { StoredView } from './storage-view.tsx';

/** A part of the page that the side leads to. */
interface View {
  /** Behind the `#` of the address. */
  readonly path: string;
  readonly title: string;
  readonly icon: string;
  /** Parts of it that can be shown alone. */
  readonly parts?: readonly string[];
  readonly show: (part: string | undefined) => ComponentChildren;
}

/** The views that this manifest has something for. */
function viewsOf(live: LiveSession): readonly View[] {
  const components = [...new Set(live.components.map(({ id }) => id))];
  const view = (isThere: boolean, shown: View): readonly View[] => (isThere ? [shown] : []);
  return [
    ...view(components.length > 0, {
      ...{ path: 'components', title: 'Components', icon: 'integration' },
      parts: components.length > 1 ? components : [],
      show: (part) => <ComponentsView live={live} only={part} />,
    }),
    ...view(live.blocks.length > 0, {
      ...{ path: 'insert', title: 'Insert', icon: 'plug' },
      show: () => <InsertView live={live} />,
    }),
    ...view(live.configurations.length > 0, {
      ...{ path: 'configuration', title: 'Configuration', icon: 'settings' },
      show: () => <ConfigurationsView live={live} />,
    }),
    { path: 'events', title: 'Events', icon: 'event', show: () => <EventsView live={live} /> },
    ...view(live.hasSchedules, {
      ...{ path: 'schedules', title: 'Schedules', icon: 'clock' },
      show: () => <SchedulesView live={live} />,
    }),
    ...view(live.calls.length > 0, {
      ...{ path: 'calls', title: 'Calls', icon: 'delivery' },
      show: () => <CallsView live={live} />,
    }),
    { path: 'endpoint', title: 'Endpoint', icon: 'link', show: () => <EndpointView live={live.live} /> },
    { path: 'storage', title: 'Storage', icon: 'server', show: () => <StoredView /> },
  ];
}

/** The components that the manifest names, as users of the host product see them. */
function ComponentsView({ live, only }: { readonly live: LiveSession; readonly only: string | undefined }) {
  const shown = live.components.filter(({ id }) => only === undefined || id === only);
  return (
    <section aria-labelledby="components">
      <h2 id="components">Components</h2>
      {shown.map((component) => (
        <DrawnComponent
          key={`${component.id} ${component.place}`}
          {...component}
          title={live.blocks.find(({ id }) => id === component.id)?.title}
        />
      ))}
    </section>
  );
}

function Page() {
  const { value } = session;
  const live = value?.live ? value : undefined;
  const views = live === undefined ? [] : viewsOf(live);
  const [path, part] = place.value;
  const shown = views.find((view) => view.path === path) ?? views[0];
  const known = shown?.parts?.find((one) => one === part);
  return (
    <div class="frame">
      <header class="top">
        <h1 dir="auto">{live?.live.title ?? 'annex dev'}</h1>
        {live && (
          <p>
            <span dir="auto">{live.live.integration}</span>, version{' '}
            <strong id="version">{live.live.version}</strong>, installed for{' '}
            <span dir="auto">{live.live.organization}</span>
          </p>
        )}
        <Connection />
      </header>
      <nav class="ways" aria-label="Views">
        <ul>
          {views.map((view) => (
            <Way
              key={view.path}
              view={view}
              part={view === shown ? known : undefined}
              isShown={view === shown}
            />
          ))}
        </ul>
      </nav>
      <main>
        {isConnected.value === false && (
          <Callout tone="bad" role="alert">
            <span>
              The session has ended, or is not reached. Start <code>annex dev</code> in the folder again: this
              page goes on by itself.
            </span>
          </Callout>
        )}
        {shown?.show(known)}
        {value === undefined && isConnected.value !== false && <Skeleton rows={3} words="Loading…" />}
        {value?.live === null && (
          <Callout tone="info" role="status">
            No version is live yet: what happens shows why.
          </Callout>
        )}
      </main>
      <ActivityView />
    </div>
  );
}

function Connection() {
  if (isConnected.value === undefined) return <State tone="info">Connecting</State>;
  return isConnected.value ? <State tone="good">Connected</State> : <State tone="bad">Not connected</State>;
}

interface WayProps {
  readonly view: View;
  readonly part: string | undefined;
  readonly isShown: boolean;
}

function Way({ view: { path, title, icon, parts = [] }, part, isShown }: WayProps) {
  const way = useRef<HTMLLIElement>(null);
  // On a narrow screen the ways are a row that is wider than it.
  useEffect(() => {
    if (isShown) way.current?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [isShown]);
  return (
    <li ref={way}>
      <a href={`#${path}`} aria-current={isShown && part === undefined ? 'page' : undefined}>
        <Icon name={icon} />
        {title}
      </a>
      {parts.length > 0 && (
        <ul>
          {parts.map((one) => (
            <li key={one}>
              <a
                href={`#${path}/${encodeURIComponent(one)}`}
                aria-current={part === one ? 'page' : undefined}
                dir="auto"
              >
                {one}
              </a>
            </li>
          ))}
        </ul>
      )}
    </li>
  );
}

const root = document.body.attachShadow({ mode: 'open' });
root.adoptedStyleSheets = [styleSheet(WIDGET_STYLES), styleSheet(DEV_STYLES)];
followPlace();
followSession();
watchEdits();
render(<Page />, root);
