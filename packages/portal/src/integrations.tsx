/** What an organization may install, and what it has installed. */
import { useMemo, useState } from 'preact/hooks';
import type { Installation, Integration, WholeIntegration } from '../../client/src/generated.ts';
import { webUrl } from '../../components/src/drawing/urls.ts';
import { drawnMarkdown, type MarkdownLooks } from '../../components/src/elements/markdown.tsx';
import { Failure, Shown } from '../../ui/src/asked.tsx';
import { Icon } from '../../ui/src/icons.tsx';
import { Emblem, PlainSelect, Question, Skeleton } from '../../ui/src/widgets.tsx';
import { Configuration, type Placed, partOf, placeTitle, Status, targetPath } from './parts.tsx';
import { addressOf, ask, at, go, type Items, place, session, useAsked } from './portal-api.ts';
import type { Words } from './words.ts';

interface Props {
  readonly words: Words;
}

export function Catalogue({ words }: Props) {
  const installations = useAsked<Items<Installation>>('/installations?limit=100');
  const integrations = useAsked<Items<Integration>>('/integrations?limit=100');
  const installed = installations.value?.items.map(({ integration }) => integration) ?? [];
  const others = (integrations.value?.items ?? [])
    .map(({ name }) => name)
    .filter((name) => !installed.includes(name));
  // Once for all of them: what is shown does not change its place meanwhile.
  const isRead = integrations.value !== undefined || integrations.failure !== undefined;
  const wholes = useWholes(isRead ? [...installed, ...others] : []);
  const isThere = (category: string) =>
    others.some((name) => wholes?.get(name)?.categories.includes(category));
  const categories = CATEGORIES.filter(isThere);
  const chosen = categories.find((category) => category === place.value.query['category']);
  const offered =
    chosen === undefined ? others : others.filter((name) => wholes?.get(name)?.categories.includes(chosen));
  return (
    <>
      <h1>{words.integrations}</h1>
      <Shown asked={installations} words={words} shape="tiles">
        {({ items }) => (
          <>
            <h2>{words.installed}</h2>
            {items.length === 0 && <p class="empty">{words.noneInstalled}</p>}
            <Cards
              {...{ items: items.map(({ integration: name, status }) => ({ name, status })), wholes, words }}
            />
            <div class="head">
              <h2>{words.available}</h2>
              {categories.length > 1 && (
                <div class="filter">
                  <PlainSelect
                    named={{ 'aria-label': words.category }}
                    choices={categories.map((id) => ({ id, label: words[id] }))}
                    value={chosen ?? ''}
                    placeholder={words.allCategories}
                    clearable
                    change={(category) => go(addressOf('integrations', { category }))}
                  />
                </div>
              )}
            </div>
            <Shown asked={integrations} words={words} shape="tiles">
              {() => (
                <>
                  {others.length === 0 && <p class="hint">{words.noneAvailable}</p>}
                  <Cards {...{ items: offered.map((name) => ({ name })), wholes, words }} />
                </>
              )}
            </Shown>
          </>
        )}
      </Shown>
    </>
  );
}

/** Those of a manifest, in the order in which they are offered. */
const CATEGORIES = [
  'analytics',
  'authenticated-access',
  'collaboration',
  'content',
  'marketing',
  'other',
] as const;

/** What is known of integrations, by name, as far as it could be read; undefined before. */
function useWholes(names: readonly string[]): ReadonlyMap<string, WholeIntegration> | undefined {
  const { value } = useAsked<ReadonlyMap<string, WholeIntegration>>(
    names.length === 0 ? undefined : names.join(' '),
    undefined,
    async (signal) => {
      const read = (name: string) =>
        ask<WholeIntegration>(`/${at('integrations', name)}`, { signal }).catch(() => undefined);
      const all = await Promise.all(names.map(read));
      return new Map(all.flatMap((whole) => (whole === undefined ? [] : [[whole.name, whole]])));
    },
  );
  return value;
}

interface CardsProps extends Props {
  readonly items: readonly { readonly name: string; readonly status?: Installation['status'] }[];
  readonly wholes: ReadonlyMap<string, WholeIntegration> | undefined;
}

function Cards({ items, wholes, words }: CardsProps) {
  if (items.length > 0 && wholes === undefined)
    return <Skeleton rows={items.length} shape="tiles" words={words.loading} />;
  return (
    <ul class="cards">
      {items.map((item, index) => (
        <Card key={index} {...item} words={words} whole={wholes?.get(item.name)} />
      ))}
    </ul>
  );
}

interface CardProps extends Props {
  readonly name: string;
  /** Undefined where it could not be read. */
  readonly whole: WholeIntegration | undefined;
  readonly status?: Installation['status'];
}

const Card = ({ name, whole, status, words }: CardProps) => (
  <li>
    <a class="card" href={addressOf(at('integrations', name))}>
      <Emblem title={whole?.title ?? name} url={webUrl(whole?.urls.icon)} />
      <span class="card-text">
        <strong dir="auto">{whole?.title ?? name}</strong>
        <span class="hint" dir="auto">
          {whole?.description}
        </span>
        {status && <Status status={status} words={words} />}
      </span>
    </a>
  </li>
);

export function IntegrationView({
  name,
  part,
  words,
}: Props & { readonly name: string; readonly part: readonly string[] }) {
  const integration = useAsked<WholeIntegration>(`/${at('integrations', name)}`);
  const installed = useAsked<Items<Installation>>(
    `/installations?limit=100&integration=${encodeURIComponent(name)}`,
  );
  return (
    <>
      <a class="up" href={addressOf('integrations')}>
        {words.integrations}
      </a>
      <Shown asked={integration} words={words}>
        {(whole) => (
          <>
            <div class="title">
              <Emblem title={whole.title} url={webUrl(whole.urls.icon)} />
              <div>
                <h1 dir="auto">{whole.title}</h1>
                <p class="hint" dir="auto">
                  {whole.description}
                </p>
              </div>
            </div>
            <Shown asked={installed} words={words}>
              {({ items: [own] }) =>
                own === undefined ? (
                  <Offer whole={whole} words={words} installed={installed.again} />
                ) : (
                  <Installed {...{ whole, own, part, words }} changed={installed.again} />
                )
              }
            </Shown>
          </>
        )}
      </Shown>
    </>
  );
}

/** Asks once at a time, and keeps why it was refused. */
function useOrder(done: () => void) {
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Error | undefined>(undefined);
  const order = (path: string, method: 'POST' | 'DELETE', body?: unknown) => {
    setBusy(true);
    setFailure(undefined);
    return ask(path, { method, ...(body !== undefined && { body }) })
      .then(done, setFailure)
      .finally(() => setBusy(false));
  };
  return { isBusy, failure, order };
}

function Offer({
  whole,
  words,
  installed,
}: Props & { readonly whole: WholeIntegration; readonly installed: () => void }) {
  const { isBusy, failure, order } = useOrder(installed);
  const organization = session.value?.organization ?? '';
  return (
    <>
      {failure && <Failure {...{ failure, words }} />}
      <div class="buttons">
        <button
          type="button"
          class="button primary"
          aria-busy={isBusy}
          disabled={isBusy}
          onClick={() =>
            void order(`/${at('integrations', whole.name, 'installations')}`, 'POST', { organization })
          }
        >
          {words.install}
        </button>
      </div>
      <About whole={whole} words={words} />
    </>
  );
}

/** Pictures of a text are other servers', which would learn who reads it: their words stand for them. */
const LOOKS: MarkdownLooks = {
  link: (url, children) =>
    url === undefined ? (
      <span dir="auto">{children}</span>
    ) : (
      <a href={url} target="_blank" rel="noopener noreferrer" dir="auto">
        {children}
      </a>
    ),
  image: (_, alt) => alt,
};

function About({ whole, words }: Props & { readonly whole: WholeIntegration }) {
  const { summary = '', scopes, egress = [], externalLinks } = whole;
  const drawn = useMemo(() => drawnMarkdown(summary, undefined, LOOKS).nodes, [summary]);
  const links = externalLinks.flatMap(({ label, url }) => {
    const checked = webUrl(url);
    return checked === undefined ? [] : [{ label, url: checked }];
  });
  return (
    <div class="about">
      <div class="markdown" dir="auto">
        {drawn}
      </div>
      <section>
        <h2>{words.mayDo}</h2>
        {scopes.length === 0 && <p>{words.mayNothing}</p>}
        <ul class="may">
          {scopes.map((scope) => (
            <li key={scope}>
              <Icon name="check" />
              <span>{Object.hasOwn(words, scope) ? (words[scope as keyof Words] as string) : scope}</span>
            </li>
          ))}
        </ul>
        {egress.length > 0 && (
          <p class="hint" dir="auto">
            {words.mayReach} {egress.join(', ')}
          </p>
        )}
        {links.length > 0 && (
          <>
            <h2>{words.links}</h2>
            <ul class="may">
              {links.map(({ label, url }) => (
                <li key={url}>
                  <Icon name="link-external" />
                  <a href={url} target="_blank" rel="noopener noreferrer" dir="auto">
                    {label}
                  </a>
                </li>
              ))}
            </ul>
          </>
        )}
      </section>
    </div>
  );
}

interface InstalledProps extends Props {
  readonly whole: WholeIntegration;
  readonly own: Installation;
  /** Of the place that is shown; empty for the installation itself. */
  readonly part: readonly string[];
  readonly changed: () => void;
}

function Installed({ whole, own, part, words, changed }: InstalledProps) {
  const target = targetPath(whole.name, own.id, part);
  const read = useAsked<Pick<Installation, 'status'>>(target);
  const [isAsked, setAsked] = useState(false);
  const home = addressOf(at('integrations', whole.name));
  const refresh = () => {
    read.again();
    changed();
  };
  const { isBusy, failure, order } = useOrder(refresh);
  const remove = () =>
    ask(target, { method: 'DELETE' }).then(() => {
      if (part.length > 0) go(home, true);
      changed();
    }, refresh);
  const isPaused = read.value?.status === 'paused';
  return (
    <>
      {part.length > 0 && (
        <p class="crumb" dir="auto">
          <a href={home}>{words.whole}</a> / {placeTitle(part, words)}
        </p>
      )}
      {failure && <Failure {...{ failure, words }} />}
      <div class="buttons bar">
        {read.value && <Status status={read.value.status} words={words} />}
        <button
          type="button"
          class="button"
          aria-busy={isBusy}
          onClick={() => void order(`${target}/${isPaused ? 'resume' : 'pause'}`, 'POST')}
        >
          {isPaused ? words.resume : words.pause}
        </button>
        <button type="button" class="button quiet" onClick={() => setAsked(true)}>
          {words.remove}
        </button>
      </div>
      <h2>{words.settings}</h2>
      <Configuration {...{ target, words }} saved={refresh} />
      {part.length === 0 && whole.target !== 'organization' && <Places {...{ whole, own, words }} />}
      {part.length === 0 && <About whole={whole} words={words} />}
      {isAsked && (
        <Question
          {...{ title: words.removeTitle, text: words.removeText, yes: words.removeYes, no: words.cancel }}
          style="button danger"
          answer={(confirmed) => {
            setAsked(false);
            if (confirmed) void remove();
          }}
        />
      )}
    </>
  );
}

/** The spaces and sites that an installation works in. */
function Places({ whole, own, words }: Omit<InstalledProps, 'part' | 'changed'>) {
  const levels = (['spaces', 'sites'] as const).filter(
    (level) => whole.target === 'all' || `${whole.target}s` === level,
  );
  return (
    <section>
      <h2>{words.places}</h2>
      {levels.map((level) => (
        <PlacesOf key={level} {...{ whole, own, words, level }} />
      ))}
    </section>
  );
}

function PlacesOf({
  whole,
  own,
  words,
  level,
}: Omit<InstalledProps, 'part' | 'changed'> & { readonly level: 'spaces' | 'sites' }) {
  const path = `${targetPath(whole.name, own.id)}/${level}`;
  const asked = useAsked<Items<Placed>>(`${path}?limit=100`);
  const [id, setId] = useState('');
  const noun = level === 'spaces' ? 'space' : 'site';
  const { isBusy, failure, order } = useOrder(() => {
    setId('');
    asked.again();
  });
  return (
    <>
      <Shown asked={asked} words={words}>
        {({ items }) => (
          <ul class="rows">
            {items.map((placed) => {
              const part = partOf(placed);
              return (
                <li key={part[1]}>
                  <a class="row" href={addressOf(at('integrations', whole.name, ...part))}>
                    <span dir="auto">{placeTitle(part, words)}</span>
                    <Status status={placed.status} words={words} />
                  </a>
                </li>
              );
            })}
          </ul>
        )}
      </Shown>
      {failure && <Failure {...{ failure, words }} />}
      <form
        class="add"
        onSubmit={(event) => {
          event.preventDefault();
          void order(path, 'POST', { [noun]: id.trim() });
        }}
      >
        <label>
          <span class="label">
            {words[noun]} <span class="optional">{words.addPlace}</span>
          </span>
          <input
            class="textinput"
            type="text"
            autocomplete="off"
            required
            dir="auto"
            value={id}
            onInput={(event) => setId(event.currentTarget.value)}
          />
        </label>
        <button type="submit" class="button" aria-busy={isBusy}>
          {words.add}
        </button>
      </form>
    </>
  );
}
