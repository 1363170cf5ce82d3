/** The views of one: an integration, an installation, an event with its trace, a delivery. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type {
  DeliveryAttempt,
  Installation,
  InstallationInSite,
  InstallationInSpace,
  TracedEvent,
  Version,
  WholeDelivery,
  WholeIntegration,
} from '../../client/src/generated.ts';
import { Callout, Question } from '../../ui/src/widgets.tsx';
import { ask, at, type Items } from './api.ts';
import { Failure, Shown, useAsked } from './asked.tsx';
import { Table } from './list-view.tsx';
import { DELIVERIES, eventAddress, installationAddress, integrationAddress } from './listings.tsx';
import { LogLines } from './log-view.tsx';
import { Facts, Id, Payload, State, Time } from './parts.tsx';
import { addressOf } from './place.ts';

interface DetailProps {
  readonly list: readonly [title: string, path: string];
  readonly title: string;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** One thing: where it belongs, its name, what can be done with it. */
const Detail = ({ list: [title, path], title: own, actions, children }: DetailProps) => (
  <article aria-labelledby="title">
    <nav aria-label="Breadcrumbs" class="crumbs">
      <a href={addressOf(path)}>{title}</a>
    </nav>
    <header class="head">
      <h1 id="title" dir="auto">
        {own}
      </h1>
      <div class="buttons">{actions}</div>
    </header>
    {children}
  </article>
);

interface ActionProps {
  readonly words: string;
  /** What it will do, where it is asked about first. */
  readonly question?: string;
  readonly act: () => Promise<unknown>;
  readonly done: () => void;
}

/** A button that asks the service for something, and says why it was refused. */
function Action({ words, question, act, done }: ActionProps) {
  const [state, setState] = useState<{ isBusy?: true; isOpen?: true; failure?: Error }>({});
  const run = async () => {
    setState({ isBusy: true });
    await act().then(
      () => {
        setState({});
        done();
      },
      (failure: Error) => setState({ failure }),
    );
  };
  return (
    <>
      <button
        type="button"
        class="button steady"
        aria-busy={state.isBusy}
        disabled={state.isBusy}
        onClick={() => (question === undefined ? void run() : setState({ isOpen: true }))}
      >
        <span>{words}</span>
      </button>
      {state.isOpen && question !== undefined && (
        <Question
          {...{ title: words, text: question, yes: words, no: 'Leave it', style: 'button danger' }}
          answer={(confirmed) => (confirmed ? void run() : setState({}))}
        />
      )}
      {state.failure && <Failure failure={state.failure} />}
    </>
  );
}

const order = (path: string, body?: unknown) => () =>
  ask(path, { method: 'POST', ...(body !== undefined && { body }) });

export function DeliveryView({ id }: { readonly id: string }) {
  const path = `/v1/deliveries/${at(id)}`;
  const asked = useAsked<WholeDelivery>(path);
  const { state, kind } = asked.value ?? {};
  return (
    <Detail
      list={[DELIVERIES.title, DELIVERIES.path]}
      title={asked.value?.type ?? 'Delivery'}
      actions={
        <>
          {state === 'pending' && (
            <Action
              words="Cancel"
              question="It will not be attempted again. It can be delivered again later."
              act={order(`${path}/cancel`)}
              done={asked.again}
            />
          )}
          {state !== undefined && state !== 'pending' && kind !== 'notice' && (
            <Action words="Deliver again" act={order(`${path}/redeliver`)} done={asked.again} />
          )}
          <button type="button" class="button" onClick={asked.again} aria-busy={asked.isAsking}>
            <span>Refresh</span>
          </button>
        </>
      }
    >
      <Shown asked={asked}>
        {(delivery) => (
          <>
            <Facts
              facts={[
                ['State', <State key="" state={delivery.state} />],
                ['Outcome', delivery.outcome],
                ['Destination', delivery.destination],
                [
                  'Integration',
                  <a key="" href={integrationAddress(delivery.integration)}>
                    {delivery.integration}
                  </a>,
                ],
                ['Installation', delivery.installation && <InstallationLink {...delivery} />],
                ['Organization', delivery.organization],
                [
                  'Event',
                  <a key="" href={eventAddress(delivery.eventId)}>
                    {delivery.eventId}
                  </a>,
                ],
                ['Made', <Time key="" at={delivery.createdAt} />],
                ['Next attempt', delivery.dueAt && <Time at={delivery.dueAt} />],
                ['Delivery', <Id key="" id={delivery.id} />],
              ]}
            />
            <h2>Attempts</h2>
            <Attempts history={delivery.history} />
            {delivery.payload !== undefined && (
              <>
                <h2>Payload</h2>
                <Payload value={delivery.payload} label="Payload" />
              </>
            )}
          </>
        )}
      </Shown>
    </Detail>
  );
}

const InstallationLink = ({
  integration,
  installation,
}: {
  integration: string;
  installation?: string | undefined;
}) =>
  installation === undefined ? null : (
    <a href={installationAddress(integration, installation)}>{installation}</a>
  );

/** Each attempt, with how long it took beside the longest. */
function Attempts({ history }: { readonly history: readonly DeliveryAttempt[] }) {
  if (history.length === 0) return <p class="hint">None yet.</p>;
  const longest = Math.max(1, ...history.map(({ durationMs }) => durationMs));
  return (
    <ol class="attempts">
      {history.map(({ number, at: began, durationMs, result, outcome, response, truncated, reason }) => (
        <li key={number}>
          <div class="attempt">
            <span class="number">{number}</span>
            <State state={result} />
            <span dir="auto">
              {outcome}
              {reason !== undefined && `: ${reason}`}
            </span>
            <meter aria-label="Duration" min={0} max={longest} value={durationMs} />
            <span class="number">{durationMs} ms</span>
            <Time at={began} />
          </div>
          {response !== undefined && response !== '' && (
            <details>
              <summary>Answer{truncated && ' (its beginning)'}</summary>
              <Payload value={response} label={`Answer to attempt ${number}`} />
            </details>
          )}
        </li>
      ))}
    </ol>
  );
}

export function EventView({ id }: { readonly id: string }) {
  const asked = useAsked<TracedEvent>(`/v1/events/${at(id)}`);
  return (
    <Detail list={['Events', 'events']} title={asked.value?.type ?? 'Event'}>
      <Shown asked={asked}>
        {(event) => (
          <>
            <Facts
              facts={[
                ['Organization', event.organization],
                ['Space', event.space],
                ['Site', event.site],
                ['Posted', <Time key="" at={event.createdAt} />],
                ['Id', <Id key="" id={event.id} />],
              ]}
            />
            <h2>Deliveries</h2>
            {event.trace.length === 0 ? (
              <p class="hint">No installation takes events of this type there.</p>
            ) : (
              <Table listing={DELIVERIES} items={event.trace} />
            )}
            <h2>Event</h2>
            <Payload value={event.event} label="Event" />
          </>
        )}
      </Shown>
    </Detail>
  );
}

export function IntegrationView({ name }: { readonly name: string }) {
  const path = `/v1/integrations/${at(name)}`;
  const asked = useAsked<WholeIntegration>(path);
  const versions = useAsked<Items<Version>>(`${path}/versions`);
  return (
    <Detail list={['Integrations', 'integrations']} title={asked.value?.title ?? name}>
      <Shown asked={asked}>
        {(one) => (
          <>
            <p dir="auto">{one.description}</p>
            <Facts
              facts={[
                ['Name', <Id key="" id={one.name} />],
                ['Organization', one.organization],
                ['Visibility', one.visibility],
                ['Active version', one.version],
                ['Installed into', one.target],
                ['May', one.scopes.join(', ') || 'nothing of the product'],
                ['Fetches from', one.egress?.join(', ')],
                ['Published', <Time key="" at={one.updatedAt} />],
                [
                  'Who has it',
                  <a key="" href={addressOf('installations', { integration: name })}>
                    Installations
                  </a>,
                ],
                [
                  'What it was sent',
                  <a key="" href={addressOf('deliveries', { integration: name })}>
                    Deliveries
                  </a>,
                ],
              ]}
            />
          </>
        )}
      </Shown>
      <h2>Versions</h2>
      <Shown asked={versions}>
        {({ items }) => (
          <ol class="versions">
            {items.map(({ version, active, createdAt }) => (
              <li key={version}>
                <span class="number">{version}</span>
                <Time at={createdAt} />
                {active ? (
                  <State state="active" />
                ) : (
                  <Action
                    words={`Activate version ${version}`}
                    question={`Version ${version} answers from now on, for every installation of ${name}.`}
                    act={order(`${path}/versions/${version}/activate`)}
                    done={() => {
                      versions.again();
                      asked.again();
                    }}
                  />
                )}
              </li>
            ))}
          </ol>
        )}
      </Shown>
    </Detail>
  );
}

export function InstallationView({ integration, id }: { readonly integration: string; readonly id: string }) {
  const path = `/v1/integrations/${at(integration)}/installations/${at(id)}`;
  const asked = useAsked<Installation>(path);
  const spaces = useAsked<Items<InstallationInSpace>>(`${path}/spaces`);
  const sites = useAsked<Items<InstallationInSite>>(`${path}/sites`);
  const { status } = asked.value ?? {};
  return (
    <Detail
      list={['Installations', 'installations']}
      title={asked.value ? `${integration} at ${asked.value.organization}` : integration}
      actions={
        <>
          {status === 'active' && (
            <Action
              words="Pause"
              question="Its endpoint answers 503, and it gets no events until it is resumed."
              act={order(`${path}/pause`)}
              done={asked.again}
            />
          )}
          {status === 'paused' && <Action words="Resume" act={order(`${path}/resume`)} done={asked.again} />}
        </>
      }
    >
      <Shown asked={asked}>
        {(one) => (
          <>
            <Problems of={one} />
            <Facts
              facts={[
                ['Status', <State key="" state={one.status} />],
                [
                  'Integration',
                  <a key="" href={integrationAddress(integration)}>
                    {integration}
                  </a>,
                ],
                ['Organization', one.organization],
                ['External ids', one.externalIds.join(', ')],
                ['Endpoint', <code key="">{one.urls.publicEndpoint}</code>],
                ['Changed', <Time key="" at={one.updatedAt} />],
                ['Id', <Id key="" id={one.id} />],
                [
                  'What it was sent',
                  <a key="" href={addressOf('deliveries', { installation: id })}>
                    Deliveries
                  </a>,
                ],
              ]}
            />
            {one.configuration !== undefined && (
              <>
                <h2>Configuration</h2>
                <Payload value={one.configuration} label="Configuration" />
              </>
            )}
          </>
        )}
      </Shown>
      <Places asked={spaces} title="Spaces" nameOf={({ space }) => space} />
      <Places asked={sites} title="Sites" nameOf={({ site }) => site} />
      <h2>Log</h2>
      <LogLines installation={id} />
    </Detail>
  );
}

interface PlacesProps<T> {
  readonly asked: ReturnType<typeof useAsked<Items<T>>>;
  readonly title: string;
  readonly nameOf: (place: T) => string;
}

/** Where else it is installed; nothing where it is nowhere else. */
function Places<T extends InstallationInSpace | InstallationInSite>({
  asked,
  title,
  nameOf,
}: PlacesProps<T>) {
  if (asked.value?.items.length === 0 && asked.failure === undefined) return null;
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
