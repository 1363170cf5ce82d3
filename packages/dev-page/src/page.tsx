/** The page of `annex dev`: the part of a host product that an integration sees, simulated. */
import { render } from 'preact';
import { CallsView } from './calls-view.tsx';
import { ComponentsView } from './components-view.tsx';
import { ConfigurationsView } from './configuration-view.tsx';
import { EndpointView } from './endpoint-view.tsx';
import { EventsView } from './events-view.tsx';
import { FeedView } from './feed-view.tsx';
import { InsertView } from './insert-view.tsx';
import { followSession, isConnected, session, watchEdits } from './page-state.ts';
import { SchedulesView } from './schedules-view.tsx';
import { StoredView } from './storage-view.tsx';

function Page() {
  const { live } = session.value;
  return (
    <>
      <header>
        <h1>{live?.title ?? 'annex dev'}</h1>
        {live !== null && (
          <p>
            {live.integration}, version <strong id="version">{live.version}</strong>, installed for{' '}
            {live.organization}
          </p>
        )}
        {!isConnected.value && <p role="status">The session has ended, or is not reached.</p>}
      </header>
      <main>
        {live === null ? (
          <p role="status">No version is live yet: the feed shows why.</p>
        ) : (
          <>
            <ComponentsView />
            <InsertView />
            <ConfigurationsView />
            <EventsView />
            <SchedulesView />
            <CallsView />
            <EndpointView />
            <StoredView />
          </>
        )}
      </main>
      <FeedView />
    </>
  );
}

followSession();
watchEdits();
render(<Page />, document.body);
