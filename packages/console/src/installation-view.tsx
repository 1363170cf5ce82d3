/** One installation: what it misses, its form, its places, what it keeps, and its log. */
import { useEffect, useRef } from 'preact/hooks';
import type {
  Delivery,
  Installation,
  InstallationInSite,
  InstallationInSpace,
  LogLine,
  StorageUsage,
  WholeIntegration,
} from '../../client/src/generated.ts';
import { AnnexConfiguration } from '../../components/src/configuration.ts';
import { AnnexComponent } from '../../components/src/index.ts';
import { Callout, Picked } from '../../ui/src/widgets.tsx';
import { ask, at, type Items, withQuery } from './api.ts';
import { type Asked, Shown, useAsked } from './asked.tsx';
import { Action, Detail, order, Parts, Removal, ShortForm } from './detail.tsx';
import { DELIVERIES, integrationAddress } from './listings.tsx';
import { LogExplorer } from './log-view.tsx';
import { Facts, Id, State, Time } from './parts.tsx';
import { addressOf, go, place } from './place.ts';
import { ScheduleRows } from './schedule-rows.tsx';
import { StoredKeys } from './stored-keys.tsx';
import { Table } from './table.tsx';

const SOME = 100;
const many = ({ items, next }: Items<unknown>): string => `${items.length}${next === undefined ? '' : '+'}`;

interface Loaded {
  readonly one: Installation;
  readonly path: string;
  readonly spaces: Asked<Items<InstallationInSpace>>;
  readonly sites: Asked<Items<InstallationInSite>>;
  readonly changed: () => void;
}

export function InstallationView({ integration, id }: { readonly integration: string; readonly id: string }) {
  const path = `/v1/integrations/${at(integration)}/installations/${at(id)}`;
  const asked = useAsked<Installation>(path);
  const spaces = useAsked<Items<InstallationInSpace>>(`${path}/spaces`);
  const sites = useAsked<Items<InstallationInSite>>(`${path}/sites`);
  const { status } = asked.value ?? {};
  const changed = () => {
    for (const one of [asked, spaces, sites]) one.again();
  };
  return (
    <Detail
      list={['Installations', 'installations']}
      title={asked.value ? `${integration} at ${asked.value.organization}` : integration}
      actions={
        status && (
          <>
            {status === 'paused' ? (
              <Action words="Resume" act={order(`${path}/resume`)} done={asked.again} />
            ) : (
              <Action
                words="Pause"
                question="Its endpoint answers 503, and it gets no events until it is resumed."
                act={order(`${path}/pause`)}
                done={asked.again}
              />
            )}
            <Removal
              words="Remove"
              name={asked.value?.organization ?? id}
              consequences={() => removed({ path, id, spaces, sites })}
              act={() => ask(path, { method: 'DELETE' })}
              done={() => go(addressOf('installations'))}
            />
          </>
        )
      }
    >
      <Shown asked={asked}>
        {(one) => {
          const loaded = { one, path, spaces, sites, changed };
          return (
            <>
              <Containment id={id} />
              <Problems of={one} />
              <Parts
                label={integration}
                parts={[
                  { name: 'about', title: 'About', view: () => <About {...loaded} /> },
                  {
                    name: 'configuration',
                    title: 'Configuration',
                    view: () => <Configuration {...loaded} />,
                  },
                  { name: 'components', title: 'Components', view: () => <Components {...loaded} /> },
                  { name: 'deliveries', title: 'Deliveries', view: () => <Newest id={id} /> },
                  { name: 'schedules', title: 'Schedules', view: () => <ScheduleRows path={path} /> },
                  { name: 'storage', title: 'Storage', view: () => <StoredKeys path={`${path}/storage`} /> },
                  {
                    name: 'log',
                    title: 'Log',
                    view: () => <LogExplorer of={{ installation: id }} integration={integration} />,
                  },
                ]}
              />
            </>
          );
        }}
      </Shown>
    </Detail>
  );
}

interface RemovedFrom extends Pick<Loaded, 'path' | 'spaces' | 'sites'> {
  readonly id: string;
}

/** What a removal deletes, in numbers. */
async function removed({ path, id, spaces, sites }: RemovedFrom): Promise<readonly string[]> {
  const [pending, stored] = await Promise.all([
    ask<Items<Delivery>>(
      withQuery('/v1/deliveries', { installation: id, state: 'pending', limit: String(SOME) }),
    ),
    // Code of an organization's own may be read by its author alone.
    ask<{ usage: StorageUsage }>(`${path}/storage?limit=1`).catch(() => undefined),
  ]);
  const places = [
    spaces.value && `${many(spaces.value)} spaces`,
    sites.value && `${many(sites.value)} sites`,
  ].filter(Boolean);
  return [
    `Deletes its configuration, its log and its endpoint, and removes it from ${places.join(' and ')}.`,
    `Cancels ${many(pending)} pending deliveries.`,
    ...(stored === undefined
      ? []
      : [`Deletes ${stored.usage.keys} stored keys of ${stored.usage.bytes} bytes.`]),
  ];
}

function About({ one, spaces, sites, path, changed }: Loaded) {
  const target = useAsked<WholeIntegration>(`/v1/integrations/${at(one.integration)}`).value?.target;
  return (
    <>
      <Facts
        facts={[
          ['Status', <State key="" state={one.status} />],
          [
            'Integration',
            <a key="" href={integrationAddress(one.integration)}>
              {one.integration}
            </a>,
          ],
          ['Organization', one.organization],
          ['External ids', one.externalIds.join(', ')],
          ['Endpoint', <code key="">{one.urls.publicEndpoint}</code>],
          ['Changed', <Time key="" at={one.updatedAt} />],
          ['Id', <Id key="" id={one.id} />],
        ]}
      />
      <Places asked={spaces} title="Spaces" nameOf={({ space }) => space} level="space" />
      <Places asked={sites} title="Sites" nameOf={({ site }) => site} level="site" />
      {target !== undefined && target !== 'organization' && (
        <ShortForm
          words="Add"
          fields={[
            {
              name: 'level',
              label: 'Into a',
              choices: target === 'all' ? ['space', 'site'] : [target],
            },
            { name: 'id', label: 'With the id' },
          ]}
          act={({ level = '', id: own }) =>
            ask(`${path}/${level}s`, { method: 'POST', body: { [level]: own } })
          }
          done={changed}
        />
      )}
    </>
  );
}

/** The path of a place below the installation, for its form and its components. */
function chosenPlace({ path }: Loaded): string {
  const { space, site } = place.value.query;
  if (space !== undefined) return `${path}/spaces/${at(space)}`;
  return site === undefined ? path : `${path}/sites/${at(site)}`;
}

/** At which of its levels: in the address. */
function Level({ one, spaces, sites }: Loaded) {
  const { path, query } = place.value;
  const choices = [
    ['', 'The organization'],
    ...(spaces.value?.items ?? []).map(({ space }) => [`space ${space}`, `Space ${space}`] as const),
    ...(sites.value?.items ?? []).map(({ site }) => [`site ${site}`, `Site ${site}`] as const),
  ] as const;
  if (choices.length === 1) return null;
  const { space, site, ...rest } = query;
  const chosen = space === undefined ? (site === undefined ? '' : `site ${site}`) : `space ${space}`;
  const change = (value: string) => {
    const [level = '', id = ''] = value.split(' ');
    go(
      addressOf(path.map(encodeURIComponent).join('/'), { ...rest, ...(level !== '' && { [level]: id }) }),
      true,
    );
  };
  return (
    <div class="filters">
      <label>
        <span>At</span>
        <Picked>
          <select
            class="select"
            aria-label={`Level of ${one.integration}`}
            value={chosen}
            onChange={(event) => change(event.currentTarget.value)}
          >
            {choices.map(([value, title]) => (
              <option key={value} value={value}>
                {title}
              </option>
            ))}
          </select>
        </Picked>
      </label>
    </div>
  );
}

/** Sends what an element asks for with the session of the page. @param target path in the API */
const transportTo = (target: string) => ({
  async send(path: string, method: string, body: unknown, signal: AbortSignal, ifMatch?: string) {
    const answer = await fetch(`${target}${path}`, {
      ...{ method, signal, credentials: 'same-origin', redirect: 'error' },
      headers: {
        'annex-console': '1',
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(ifMatch !== undefined && { 'if-match': ifMatch }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return {
      status: answer.status,
      body: await answer.json().catch(() => undefined),
      etag: answer.headers.get('etag'),
      cacheControl: answer.headers.get('cache-control'),
    };
  },
});

function Configuration(loaded: Loaded) {
  const host = useRef<HTMLDivElement>(null);
  const target = chosenPlace(loaded);
  const { changed } = loaded;
  const latest = useRef(changed);
  latest.current = changed;
  useEffect(() => {
    const element = new AnnexConfiguration();
    const { send } = transportTo(target);
    element.transport = ({ method, path, body, ifMatch }, signal) =>
      send(path, method, body, signal, ifMatch);
    element.addEventListener('annex-saved', () => latest.current());
    host.current?.append(element);
    return () => element.remove();
  }, [target]);
  return (
    <>
      <Level {...loaded} />
      <div ref={host} />
    </>
  );
}

/** The components that its blocks name, and one that is named in the address. */
function Components(loaded: Loaded) {
  const { integration } = loaded.one;
  const asked = useAsked<WholeIntegration>(`/v1/integrations/${at(integration)}`);
  const target = chosenPlace(loaded);
  return (
    <>
      <Level {...loaded} />
      <Shown asked={asked}>
        {({ blocks }) =>
          blocks.length === 0 ? (
            <p class="hint">The manifest declares no blocks.</p>
          ) : (
            blocks.map(({ id, title }) => (
              <section key={`${id} ${target}`} aria-label={title}>
                <h2 dir="auto">{title}</h2>
                <Component id={id} target={target} />
              </section>
            ))
          )
        }
      </Shown>
    </>
  );
}

function Component({ id, target }: { readonly id: string; readonly target: string }) {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = new AnnexComponent();
    element.componentId = id;
    const { send } = transportTo(target);
    element.transport = (request, signal) => send('/render', 'POST', request, signal);
    host.current?.append(element);
    return () => element.remove();
  }, [id, target]);
  return <div class="drawn" ref={host} />;
}

function Newest({ id }: { readonly id: string }) {
  const asked = useAsked<Items<Delivery>>(withQuery('/v1/deliveries', { installation: id, limit: '20' }));
  return (
    <Shown asked={asked}>
      {({ items }) =>
        items.length === 0 ? (
          <p class="hint">It was sent nothing yet.</p>
        ) : (
          <>
            <Table listing={DELIVERIES} items={items} />
            <a href={addressOf('deliveries', { installation: id })}>All deliveries to it</a>
          </>
        )
      }
    </Shown>
  );
}

/** Why its code is kept apart or refused, and until when: the last that was said of it in its log. */
function Containment({ id }: { readonly id: string }) {
  const { value } = useAsked<Items<LogLine>>(
    withQuery('/v1/logs', { installation: id, limit: String(SOME) }),
  );
  const last = value?.items.find(({ requestId }) => requestId === '');
  if (last === undefined || last.level === 'info') return null;
  return (
    <Callout tone={last.level === 'error' ? 'bad' : 'warn'}>
      <p dir="auto">{last.text}</p>
      <p class="hint">
        <Time at={last.at} />
      </p>
    </Callout>
  );
}

interface PlacesProps<T> {
  readonly asked: Asked<Items<T>>;
  readonly title: string;
  readonly level: 'space' | 'site';
  readonly nameOf: (place: T) => string;
}

/** Where else it is installed; nothing where it is nowhere else. */
function Places<T extends InstallationInSpace | InstallationInSite>({
  asked,
  title,
  level,
  nameOf,
}: PlacesProps<T>) {
  if (asked.value?.items.length === 0 && asked.failure === undefined) return null;
  const { path } = place.value;
  const here = path.map(encodeURIComponent).join('/');
  return (
    <>
      <h2>{title}</h2>
      <Shown asked={asked}>
        {({ items }) => (
          <ul class="places">
            {items.map((one) => (
              <li key={nameOf(one)}>
                <strong dir="auto">{nameOf(one)}</strong> <State state={one.status} />
                {one.webhook && one.webhook.state !== 'healthy' && (
                  <span>
                    webhook <State state={one.webhook.state} /> {one.webhook.failing?.outcome}
                  </span>
                )}
                <a href={addressOf(here, { part: 'configuration', [level]: nameOf(one) })}>Configure</a>
                <Problems of={one} />
              </li>
            ))}
          </ul>
        )}
      </Shown>
    </>
  );
}

/** What is missing, in the words of its field. */
function Problems({ of: { problems = [] } }: { readonly of: Pick<Installation, 'problems'> }) {
  if (problems.length === 0) return null;
  return (
    <Callout tone="warn">
      {problems.map(({ property, message, hint }) => (
        <p key={property} dir="auto">
          {message} {hint}
        </p>
      ))}
    </Callout>
  );
}
