/** One delivery with its attempts, one event with its trace, and deliveries made again. */
import type {
  Delivery,
  DeliveryAttempt,
  LogLine,
  TracedEvent,
  WholeDelivery,
} from '../../client/src/generated.ts';
import { ask, at, type Items, withQuery } from './api.ts';
import { Shown, useAsked } from './asked.tsx';
import { Action, Detail, order } from './detail.tsx';
import {
  DELIVERIES,
  deliveryAddress,
  eventAddress,
  installationAddress,
  integrationAddress,
} from './listings.tsx';
import { LogRows } from './log-view.tsx';
import { Facts, Id, Payload, State, Time } from './parts.tsx';
import { addressOf, place } from './place.ts';

/** How often a delivery is asked for while it is under way. */
const UNDER_WAY_MS = 1_000;

export function DeliveryView({ id }: { readonly id: string }) {
  const path = `/v1/deliveries/${at(id)}`;
  const asked = useAsked<WholeDelivery>(path, (known) =>
    known?.state === 'pending' ? UNDER_WAY_MS : undefined,
  );
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
                [
                  'Installation',
                  delivery.installation && (
                    <a href={installationAddress(delivery.integration, delivery.installation)}>
                      {delivery.installation}
                    </a>
                  ),
                ],
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
            {delivery.installation !== undefined && <Lines delivery={delivery} />}
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

/** What the code has logged for a delivery, among the newest lines. Nothing where there is nothing. */
function Lines({ delivery: { id, installation, integration } }: { readonly delivery: Delivery }) {
  const { value } = useAsked<Items<LogLine>>(withQuery('/v1/logs', { installation, limit: '100' }));
  const lines = value?.items.filter(({ requestId }) => requestId === id) ?? [];
  if (lines.length === 0) return null;
  return (
    <>
      <h2>Log</h2>
      <LogRows lines={lines.toReversed()} integration={integration} />
    </>
  );
}

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

/** Deliveries whose attempts are drawn; the others are in the list of the event's deliveries. */
const TRACED_MAX = 25;

export function EventView({ id }: { readonly id: string }) {
  const asked = useAsked<TracedEvent>(`/v1/events/${at(id)}`);
  return (
    <Detail
      list={['Events', 'events']}
      title={asked.value?.type ?? 'Event'}
      actions={
        <button type="button" class="button" onClick={asked.again} aria-busy={asked.isAsking}>
          <span>Refresh</span>
        </button>
      }
    >
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
            <h2>Trace</h2>
            {event.trace.length === 0 ? (
              <p class="hint">No installation takes events of this type there.</p>
            ) : (
              <Waterfall event={event} />
            )}
            <h2>Event</h2>
            <Payload value={event.event} label="Event" />
          </>
        )}
      </Shown>
    </Detail>
  );
}

/** The attempts at each delivery of an event, over the time since it was posted. */
function Waterfall({ event }: { readonly event: TracedEvent }) {
  const traced = event.trace.slice(0, TRACED_MAX);
  // Asked again when a delivery has gone on.
  const key = traced.map(({ id, state, attempts }) => `${id} ${state} ${attempts}`).join();
  const asked = useAsked<WholeDelivery[]>(key, undefined, (signal) =>
    Promise.all(traced.map(({ id }) => ask<WholeDelivery>(`/v1/deliveries/${at(id)}`, { signal }))),
  );
  const begin = Date.parse(event.createdAt);
  return (
    <Shown asked={asked} rows={traced.length}>
      {(deliveries) => {
        const ends = deliveries.flatMap(({ history }) =>
          history.map((one) => Date.parse(one.at) + one.durationMs),
        );
        const totalMs = Math.max(1, ...ends.map((end) => end - begin));
        return (
          <>
            <div class="waterfall" role="table" aria-label="Attempts over time">
              <div role="row" class="scale">
                <span role="columnheader">To</span>
                <span role="columnheader">{`Since it was posted: 0 to ${duration(totalMs)}`}</span>
                <span role="columnheader">State</span>
              </div>
              {deliveries.map((delivery) => (
                <Traced key={delivery.id} {...{ delivery, begin, totalMs }} />
              ))}
            </div>
            {event.trace.length > TRACED_MAX && (
              <a href={addressOf('deliveries', { event: event.id })}>All {event.trace.length} deliveries</a>
            )}
          </>
        );
      }}
    </Shown>
  );
}

interface TracedProps {
  readonly delivery: WholeDelivery;
  readonly begin: number;
  readonly totalMs: number;
}

function Traced({ delivery, begin, totalMs }: TracedProps) {
  const { id, integration, organization, space, site, kind, state, history } = delivery;
  const share = (ms: number) => `${Math.min(100, Math.max(0, (ms / totalMs) * 100))}%`;
  return (
    <div role="row">
      <span role="rowheader">
        <a href={deliveryAddress(id)} dir="auto">
          {integration}
        </a>{' '}
        <span dir="auto">
          {kind === 'webhook' ? 'webhook of' : 'at'} {space ?? site ?? organization}
        </span>
      </span>
      <span role="cell" class="track">
        {history.map((attempt) => {
          const words = `Attempt ${attempt.number}: ${attempt.outcome}, ${duration(attempt.durationMs)}, ${duration(Date.parse(attempt.at) - begin)} after the event`;
          return (
            <i
              key={attempt.number}
              class={attempt.result}
              title={words}
              style={{
                insetInlineStart: share(Date.parse(attempt.at) - begin),
                inlineSize: share(attempt.durationMs),
              }}
            >
              <span class="hidden-words">{words}</span>
            </i>
          );
        })}
      </span>
      <span role="cell">
        <State state={state} />
      </span>
    </div>
  );
}

function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  return ms < 3_600_000 ? `${Math.round(ms / 60_000)} min` : `${(ms / 3_600_000).toFixed(1)} h`;
}

interface Replayed {
  readonly replayed: number;
  readonly next?: string;
}

/** Delivers again what the filters of the list select, after it was counted. */
export function Replay({ again }: { readonly again: () => void }) {
  const { installation, type, state = 'failed', from, to } = place.value.query;
  if (installation === undefined || state === 'pending') return null;
  const send = (cursor?: string, dryRun?: true) => {
    const body = Object.fromEntries(
      Object.entries({ installation, type, state, from, to, cursor }).filter(([, value]) => value),
    );
    return ask<Replayed>(`/v1/deliveries/replay${dryRun ? '?dryRun=true' : ''}`, { method: 'POST', body });
  };
  const count = async () => {
    const { replayed, next } = await send(undefined, true);
    const many = next === undefined ? String(replayed) : `${replayed} or more`;
    return `${many} ${state} ${replayed === 1 ? 'delivery' : 'deliveries'} of these filters will be delivered again, oldest first. Receivers know a repeated event by its id.`;
  };
  const act = async () => {
    let { next } = await send();
    while (next !== undefined) ({ next } = await send(next));
  };
  return <Action words="Deliver all again" question={count} act={act} done={again} />;
}
