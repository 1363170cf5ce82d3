/** The console: who has signed in sees what their token may see of the API, and does what it may do. */
import { render, type VNode } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { styleSheet, WIDGET_STYLES } from '../../ui/src/stylesheet.ts';
import { Callout, Field, Skeleton, TextLine, useFieldAttributes } from '../../ui/src/widgets.tsx';
import { CONSOLE_STYLES } from './console-styles.ts';
import { ErrorsView } from './errors-view.tsx';
import { InstallationView } from './installation-view.tsx';
import { IntegrationView } from './integration-view.tsx';
import { type Listing, ListView } from './list-view.tsx';
import {
  AUDIT,
  DELIVERIES,
  EVENT_TYPES,
  EVENTS,
  INSTALLATIONS,
  INTEGRATIONS,
  NOTICES,
  TOKENS,
  WEBHOOKS,
} from './listings.tsx';
import { LogsView } from './log-view.tsx';
import { Overview } from './overview.tsx';
import { addressOf, follow, place } from './place.ts';
import { PublishView } from './publish-view.tsx';
import { begin, type Session, session, signIn } from './session.ts';
import { type Section, Shell } from './shell.tsx';
import { SystemView } from './system-view.tsx';
import { Revoke, TokenMaker } from './tokens-view.tsx';
import { DeliveryView, EventView, Replay } from './traffic-views.tsx';

interface View extends Section {
  /** Kinds of tokens that may see it; all without it. */
  readonly kinds?: readonly Session['kind'][];
  readonly whole: () => VNode;
  /** The view of one, where there is one. @param ids segments of its address */
  readonly one?: (...ids: readonly string[]) => VNode | undefined;
}

const OPERATOR = ['admin', 'platform'] as const;

const list = <Row,>(listing: Listing<Row>) => ({
  path: listing.path,
  title: listing.title,
  isOfOrganizations: listing.filters.some(({ name }) => name === 'organization'),
  whole: () => <ListView key={listing.path} listing={listing} />,
});

const VIEWS: readonly View[] = [
  { path: '', title: 'Overview', icon: 'overview', whole: () => <Overview /> },
  {
    ...list({
      ...INTEGRATIONS,
      actions: () => (
        <a class="button primary" href={addressOf('publish')}>
          Publish
        </a>
      ),
    }),
    icon: 'integration',
    one: (name = '', more) => (more === undefined ? <IntegrationView key={name} name={name} /> : undefined),
  },
  {
    ...{ ...list(INSTALLATIONS), icon: 'plug' },
    one: (integration = '', id, more) =>
      id === undefined || more !== undefined ? undefined : (
        <InstallationView key={id} integration={integration} id={id} />
      ),
  },
  { ...list(EVENTS), icon: 'event', one: (id = '') => <EventView key={id} id={id} /> },
  {
    ...list({ ...DELIVERIES, actions: (again) => <Replay again={again} /> }),
    icon: 'delivery',
    one: (id = '') => <DeliveryView key={id} id={id} />,
  },
  { ...list(WEBHOOKS), icon: 'warning' },
  { path: 'logs', title: 'Logs', icon: 'log', whole: () => <LogsView /> },
  {
    ...{ path: 'errors', title: 'Errors', icon: 'alert', isOfOrganizations: true },
    whole: () => <ErrorsView />,
  },
  { ...list(NOTICES), icon: 'bell', kinds: OPERATOR },
  { ...list(EVENT_TYPES), icon: 'tag' },
  {
    ...list({
      ...TOKENS,
      actions: (again) => <TokenMaker again={again} />,
      rowActions: (token, again) => <Revoke {...{ token, again }} />,
    }),
    ...{ icon: 'key', kinds: ['admin'] },
  },
  { ...list(AUDIT), icon: 'list' },
  { path: 'system', title: 'System', icon: 'server', kinds: ['admin'], whole: () => <SystemView /> },
  {
    ...{ path: 'publish', title: 'Publish', icon: 'upload', kinds: ['admin', 'organization'] },
    whole: () => <PublishView />,
  },
];

function Console({ refusal }: { readonly refusal: string | undefined }) {
  const who = session.value;
  if (who === undefined) return <Skeleton rows={4} words="Loading" />;
  if (who === null) return <SignIn refusal={refusal} />;
  return <Signed who={who} />;
}

function SignIn({ refusal }: { readonly refusal: string | undefined }) {
  const [error, setError] = useState(refusal);
  const [isBusy, setBusy] = useState(false);
  const token = useRef('');
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    await signIn(token.current.trim()).catch((cause: Error) => setError(cause.message));
    setBusy(false);
  };
  return (
    <main class="sign-in">
      <form class="card" onSubmit={(event) => void submit(event)}>
        <h1>Annex</h1>
        <Field
          label="Token"
          error={error}
          hint={(id) => (
            <p class="hint" id={id}>
              An admin, platform or organization token. <code>annex console</code> prints a link that signs in
              without one.
            </p>
          )}
        >
          <TokenLine change={(text) => (token.current = text)} />
        </Field>
        <button type="submit" class="button primary steady" aria-busy={isBusy} disabled={isBusy}>
          <span>Sign in</span>
        </button>
      </form>
    </main>
  );
}

const TokenLine = ({ change }: { readonly change: (text: string) => void }) => (
  <TextLine
    type="password"
    attributes={{
      ...useFieldAttributes('Token'),
      ...{ class: 'textinput', required: true, spellcheck: false },
      onInput: (event) => change(event.currentTarget.value),
    }}
  />
);

function Signed({ who }: { readonly who: Session }) {
  const views = VIEWS.filter(({ kinds }) => kinds === undefined || kinds.includes(who.kind));
  const [first = '', ...ids] = place.value.path;
  const view = views.find(({ path }) => path === first);
  const shown = ids.length === 0 ? view?.whole() : view?.one?.(...ids);
  return (
    <Shell who={who} sections={views}>
      {shown ?? <Nowhere />}
    </Shell>
  );
}

const Nowhere = () => (
  <Callout tone="warn">
    <p>There is nothing here, or nothing that your token may see.</p>
    <a href={addressOf('')}>Overview</a>
  </Callout>
);

const root = document.body.attachShadow({ mode: 'open' });
root.adoptedStyleSheets = [styleSheet(WIDGET_STYLES), styleSheet(CONSOLE_STYLES)];
document.addEventListener('click', follow);
const refusal = await begin();
render(<Console refusal={refusal} />, root);
