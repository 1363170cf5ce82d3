/** The console: who has signed in sees what their token may see of the API, and does what it may do. */
import { render } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { WIDGET_STYLES } from '../../ui/src/stylesheet.ts';
import { Callout, Field, Skeleton, TextLine, useFieldAttributes } from '../../ui/src/widgets.tsx';
import { CONSOLE_STYLES } from './console-styles.ts';
import { DeliveryView, EventView, InstallationView, IntegrationView } from './details.tsx';
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
import { Overview } from './overview.tsx';
import { addressOf, go, place } from './place.ts';
import { begin, type Session, session, signIn, signOut } from './session.ts';

// biome-ignore lint/suspicious/noExplicitAny: each list has rows of its own
const LISTINGS: readonly (readonly [listing: Listing<any>, kinds: readonly Session['kind'][] | 'all'])[] = [
  [INTEGRATIONS, 'all'],
  [INSTALLATIONS, 'all'],
  [EVENTS, 'all'],
  [DELIVERIES, 'all'],
  [WEBHOOKS, 'all'],
  [NOTICES, ['admin', 'platform']],
  [EVENT_TYPES, 'all'],
  [TOKENS, ['admin']],
  [AUDIT, 'all'],
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
  const [first] = place.value.path;
  const listings = LISTINGS.filter(([, kinds]) => kinds === 'all' || kinds.includes(who.kind)).map(
    ([listing]) => listing,
  );
  const main = useRef<HTMLElement>(null);
  const address = place.value.path.join('/');
  // A new view begins at its top, and the reader with it.
  useEffect(() => {
    main.current?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, [address]);
  return (
    <div class="frame">
      <nav class="side" aria-label="Console">
        <p class="brand">Annex</p>
        <ul>
          {[{ path: '', title: 'Overview' }, ...listings].map(({ path, title }) => (
            <li key={path}>
              <a href={addressOf(path)} aria-current={(first ?? '') === path ? 'page' : undefined}>
                {title}
              </a>
            </li>
          ))}
        </ul>
        <div class="who">
          <span dir="auto">{who.organization ?? who.kind}</span>
          <button type="button" class="button quiet" onClick={() => void signOut()}>
            Sign out
          </button>
        </div>
      </nav>
      <main ref={main} tabIndex={-1}>
        <View listings={listings} />
      </main>
    </div>
  );
}

// biome-ignore lint/suspicious/noExplicitAny: each list has rows of its own
function View({ listings }: { readonly listings: readonly Listing<any>[] }) {
  const [first, id, second, ...more] = place.value.path;
  if (first === undefined) return <Overview />;
  const listing = listings.find(({ path }) => path === first);
  if (listing === undefined || more.length > 0) return <Nowhere />;
  if (id === undefined) return <ListView key={first} listing={listing} />;
  if (second !== undefined)
    return first === 'installations' ? (
      <InstallationView key={second} integration={id} id={second} />
    ) : (
      <Nowhere />
    );
  if (first === 'integrations') return <IntegrationView key={id} name={id} />;
  if (first === 'events') return <EventView key={id} id={id} />;
  if (first === 'deliveries') return <DeliveryView key={id} id={id} />;
  return <Nowhere />;
}

const Nowhere = () => (
  <Callout tone="warn">
    <p>There is nothing here, or nothing that your token may see.</p>
    <a href={addressOf('')}>Overview</a>
  </Callout>
);

/** Links within the console change the view; all others, and those for another tab, are the browser's. */
function follow(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = event.composedPath().find((one): one is HTMLAnchorElement => one instanceof HTMLAnchorElement);
  if (link === undefined || link.origin !== location.origin || !link.pathname.startsWith(addressOf('')))
    return;
  event.preventDefault();
  go(`${link.pathname}${link.search}`);
}

const sheet = (text: string): CSSStyleSheet => {
  const made = new CSSStyleSheet();
  made.replaceSync(text);
  return made;
};

const root = document.body.attachShadow({ mode: 'open' });
root.adoptedStyleSheets = [sheet(WIDGET_STYLES), sheet(CONSOLE_STYLES)];
document.addEventListener('click', follow);
const refusal = await begin();
render(<Console refusal={refusal} />, root);
