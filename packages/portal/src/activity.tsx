/** What has reached an organization's integrations: calls of their code, and webhooks. */
import { useEffect, useState } from 'preact/hooks';
import type { Delivery, EventType, WholeDelivery, WholeIntegration } from '../../client/src/generated.ts';
import { outcomeOf } from '../../components/src/webhooks/webhooks-view.tsx';
import { Failure, Shown } from '../../ui/src/asked.tsx';
import { Icon } from '../../ui/src/icons.tsx';
import { Payload, State, Time } from '../../ui/src/shown-values.tsx';
import { PlainSelect, Skeleton } from '../../ui/src/widgets.tsx';
import { placeTitle } from './parts.tsx';
import { addressOf, ask, at, go, type Items, place, useAsked, withQuery } from './portal-api.ts';
import type { Words } from './words.ts';

const STATES = {
  ...{ delivered: ['good', 'delivered'], failed: ['bad', 'failed'], pending: ['info', 'waiting'] },
  ...{ unhandled: ['info', 'unhandled'], canceled: ['info', 'canceled'], held: ['warn', 'held'] },
} as Readonly<Record<Delivery['state'], readonly ['good' | 'bad' | 'info' | 'warn', keyof Words]>>;

const stateWord = (state: Delivery['state'], words: Words): string => String(words[STATES[state][1]]);

export function Activity({ words }: { readonly words: Words }) {
  const { state, open } = place.value.query;
  const asked = useAsked<Items<Delivery>>(withQuery('/deliveries', { limit: '30', state }));
  const types = useAsked<{ items: readonly EventType[] }>('/event-types');
  const [more, setMore] = useState<Items<Delivery>>({ items: [] });
  const [failure, setFailure] = useState<Error | undefined>(undefined);
  useEffect(() => setMore({ items: [] }), [asked.value]);
  const next = more.next ?? (more.items.length === 0 ? asked.value?.next : undefined);
  const readMore = () =>
    ask<Items<Delivery>>(withQuery('/deliveries', { limit: '30', state, cursor: next })).then(
      (page) => setMore((before) => ({ ...page, items: [...before.items, ...page.items] })),
      setFailure,
    );
  const titleOf = (type: string): string =>
    types.value?.items.find((one) => one.type === type)?.title ?? wordsOfType(type, words);
  return (
    <>
      <div class="head">
        <h1>{words.activity}</h1>
        <div class="filter">
          <PlainSelect
            named={{ 'aria-label': words.state }}
            choices={Object.keys(STATES).map((id) => ({
              id,
              label: stateWord(id as Delivery['state'], words),
            }))}
            value={state ?? ''}
            placeholder={words.all}
            clearable
            change={(id) => go(addressOf('activity', { state: id }))}
          />
        </div>
      </div>
      <Shown asked={asked} words={words} shape="lines">
        {({ items }) =>
          items.length === 0 ? (
            <p class="empty">{words.noActivity}</p>
          ) : (
            <ol class="rows">
              {[...items, ...more.items].map((delivery) => (
                <Row
                  key={delivery.id}
                  {...{ delivery, words }}
                  title={titleOf(delivery.type)}
                  isOpen={open === delivery.id}
                  toggle={() =>
                    go(
                      addressOf('activity', { state, open: open === delivery.id ? undefined : delivery.id }),
                      true,
                    )
                  }
                  changed={asked.again}
                />
              ))}
            </ol>
          )
        }
      </Shown>
      {failure && <Failure {...{ failure, words }} />}
      {next !== undefined && (
        <button type="button" class="button quiet" onClick={() => void readMore()}>
          {words.more}
        </button>
      )}
    </>
  );
}

function wordsOfType(type: string, { tag }: Words): string {
  const own = Object.hasOwn(tag, type) ? tag[type as keyof typeof tag] : undefined;
  return typeof own === 'string' ? own : type.replaceAll(/[._-]+/g, ' ');
}

interface RowProps {
  readonly delivery: Delivery;
  readonly title: string;
  readonly words: Words;
  readonly isOpen: boolean;
  readonly toggle: () => void;
  readonly changed: () => void;
}

function Row({ delivery, title, words, isOpen, toggle, changed }: RowProps) {
  const { integration, space, site, state, createdAt } = delivery;
  const { value, failure } = useAsked<WholeIntegration>(`/${at('integrations', integration)}`);
  const part = space !== undefined ? ['spaces', space] : site !== undefined ? ['sites', site] : [];
  return (
    <li>
      <button type="button" class="row event" aria-expanded={isOpen} onClick={toggle}>
        <Icon name="chevron" />
        <State tone={STATES[state][0]}>{stateWord(state, words)}</State>
        <strong dir="auto">{title}</strong>
        <span class="hint" dir="auto">
          {value?.title ?? (failure === undefined ? '' : integration)}
          {part.length > 0 && `, ${placeTitle(part, words)}`}
        </span>
        <Time at={createdAt} locale={words.locale} />
      </button>
      {isOpen && <Opened id={delivery.id} {...{ words, changed }} />}
    </li>
  );
}

function Opened({ id, words, changed }: { readonly id: string } & Pick<RowProps, 'words' | 'changed'>) {
  const asked = useAsked<WholeDelivery>(`/${at('deliveries', id)}`);
  const [failure, setFailure] = useState<Error | undefined>(undefined);
  const again = () =>
    ask(`/${at('deliveries', id, 'redeliver')}`, { method: 'POST' }).then(() => {
      asked.again();
      changed();
    }, setFailure);
  const whole = asked.value;
  if (whole === undefined)
    return asked.failure ? (
      <Failure failure={asked.failure} words={words} />
    ) : (
      <Skeleton rows={1} words={words.loading} />
    );
  return (
    <div class="opened">
      {failure && <Failure {...{ failure, words }} />}
      <div class="buttons">
        <button
          type="button"
          class="button"
          disabled={whole.state === 'pending'}
          onClick={() => void again()}
        >
          {words.again}
        </button>
      </div>
      {whole.history.length === 0 && <p class="hint">{words.noAttempts}</p>}
      <ol class="attempts" aria-label={words.attempts}>
        {whole.history.toReversed().map(({ number, at: when, outcome, result, response, durationMs }) => (
          <li key={number}>
            <State tone={result === 'succeeded' ? 'good' : 'bad'}>{outcomeOf(outcome, words.tag)}</State>
            <span class="hint">
              <Time at={when} locale={words.locale} />,{' '}
              {new Intl.NumberFormat(words.locale).format(durationMs)}
              {'\u00a0'}ms
            </span>
            {response !== undefined && response !== '' && (
              <Payload value={response} label={words.tag.response} />
            )}
          </li>
        ))}
      </ol>
    </div>
  );
}
