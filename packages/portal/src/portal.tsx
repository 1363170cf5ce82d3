/** The portal: what the customers of a product install, set up and see, each for their organization. */
import { render } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { defineAnnexConfiguration } from '../../components/src/configuration/annex-configuration.ts';
import { webUrl } from '../../components/src/drawing/urls.ts';
import { defineAnnexWebhooks } from '../../components/src/webhooks/annex-webhooks.ts';
import { Icon } from '../../ui/src/icons.tsx';
import { styleSheet, WIDGET_STYLES } from '../../ui/src/stylesheet.ts';
import { Skeleton } from '../../ui/src/widgets.tsx';
import { Activity } from './activity.tsx';
import { Catalogue, IntegrationView } from './integrations.tsx';
import { addressOf, begin, follow, place, type Session, session, signOut } from './portal-api.ts';
import { PORTAL_STYLES, themeStyles } from './portal-styles.ts';
import { WebhookList, WebhookView } from './webhooks.tsx';
import { type Words, wordsOf } from './words.ts';

function Portal() {
  const own = session.value;
  const words = wordsOf(own?.locale, own?.levelNames ?? {});
  useEffect(() => {
    document.documentElement.lang = words.locale;
    document.title = words.integrations;
  }, [words.locale]);
  useEffect(() => theme.replaceSync(themeStyles(own?.theme)), [own]);
  if (own === undefined)
    return (
      <main>
        <Skeleton rows={4} words={words.loading} />
      </main>
    );
  if (own === null)
    return (
      <main class="over">
        <h1>{words.over}</h1>
        <p>{words.overText}</p>
      </main>
    );
  return <Opened own={own} words={words} />;
}

function Opened({ own, words }: { readonly own: Session; readonly words: Words }) {
  const { views, theme: look = {}, returnUrl } = own;
  const [first = views[0]] = place.value.path;
  const shown = views.find((view) => view === first);
  const main = useRef<HTMLElement>(null);
  const address = place.value.path.join('/');
  // A new view begins at its top, and the reader with it.
  useEffect(() => {
    main.current?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, [address]);
  // Attack: an address that runs as code of the page.
  const back = webUrl(returnUrl);
  return (
    <>
      <header>
        <div class="top">
          {look.logo !== undefined && <img class="logo" src={look.logo} alt={look.name ?? ''} />}
          {look.logo === undefined && look.name !== undefined && (
            <strong class="brand" dir="auto">
              {look.name}
            </strong>
          )}
          <nav aria-label={words.integrations}>
            {views.map((view) => (
              <a key={view} href={addressOf(view)} aria-current={view === shown ? 'page' : undefined}>
                {words[view]}
              </a>
            ))}
          </nav>
          {back === undefined ? (
            <button type="button" class="button quiet end" onClick={() => void signOut()}>
              {words.signOut}
            </button>
          ) : (
            <a class="button quiet end" href={back} dir="auto" target="_top">
              <Icon name="link-external" />
              {look.name === undefined ? words.back : `${words.backTo} ${look.name}`}
            </a>
          )}
        </div>
      </header>
      <main ref={main} tabIndex={-1}>
        <View shown={shown} words={words} />
      </main>
    </>
  );
}

function View({ shown, words }: { readonly shown: string | undefined; readonly words: Words }) {
  const [, name, ...more] = place.value.path;
  if (shown === undefined)
    return (
      <div class="empty">
        <h1>{words.nowhere}</h1>
        <a class="button" href={addressOf('')}>
          {words.back}
        </a>
      </div>
    );
  if (shown === 'integrations')
    return name === undefined ? (
      <Catalogue words={words} />
    ) : (
      <IntegrationView key={name} {...{ name, words }} part={more} />
    );
  if (shown === 'activity') return <Activity words={words} />;
  const [installation, ...part] = more;
  if (name === undefined || installation === undefined) return <WebhookList words={words} />;
  return <WebhookView key={more.join('/')} integration={name} {...{ installation, part, words }} />;
}

defineAnnexConfiguration();
defineAnnexWebhooks();
const theme = styleSheet('');
const root = document.body.attachShadow({ mode: 'open' });
root.adoptedStyleSheets = [styleSheet(WIDGET_STYLES), styleSheet(PORTAL_STYLES), theme];
document.addEventListener('click', follow);
await begin();
render(<Portal />, root);
