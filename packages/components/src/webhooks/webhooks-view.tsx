/**
 * Draws the webhook of a target: whether it is well, where it sends, its secret, a test, and what was
 * delivered, with each attempt's request and response. Every text is another's, and a text node.
 */
import type { ComponentChild } from 'preact';
import { useId, useState } from 'preact/hooks';
import { Icon } from '../../../ui/src/icons.tsx';
import { Payload, State, Time } from '../../../ui/src/shown-values.tsx';
import {
  Callout,
  CopyButton,
  Field,
  PlainSelect,
  Question,
  Skeleton,
  Tabs,
  useFieldAttributes,
} from '../../../ui/src/widgets.tsx';
import type { Attempt, Delivery, Webhook, WebhookSession, WholeDelivery } from './webhook-session.ts';
import type { WebhookWords } from './words.ts';

export interface WebhooksProps {
  readonly session: WebhookSession;
  readonly words: WebhookWords;
  /** Language of its times. */
  readonly locale: string;
  /** The form of the target's settings. */
  readonly form: ComponentChild;
}

type WordName = Exclude<keyof WebhookWords, 'form'>;
type Props = Omit<WebhooksProps, 'form'>;

const TONES: Readonly<Record<Webhook['state'] | Delivery['state'], 'good' | 'warn' | 'bad' | 'info'>> = {
  ...{ delivered: 'good', healthy: 'good', pending: 'info', unhandled: 'info', canceled: 'info' },
  ...{ held: 'warn', failed: 'bad', failing: 'bad', disabled: 'warn' },
};
const STATES: Readonly<Record<Delivery['state'], WordName>> = {
  ...{ pending: 'pending', delivered: 'delivered', failed: 'failedState' },
  ...{ unhandled: 'unhandledState', canceled: 'canceled', held: 'held' },
};

export function WebhooksView(props: WebhooksProps) {
  const { session, words, form } = props;
  const webhook = session.webhook.value;
  if (webhook === 'none') return <p class="quiet-words">{words.none}</p>;
  if (webhook === undefined)
    return (
      <div class="webhooks">
        {session.failure.value === undefined && <Skeleton rows={3} words={words.loading} />}
        <FailureNote {...props} />
      </div>
    );
  return (
    <div class="webhooks">
      <FailureNote {...props} />
      <section class="part" aria-labelledby="endpoint">
        <Health {...props} />
        {form}
      </section>
      <div class="parts">
        <Test {...props} />
        <SecretPart {...props} />
      </div>
      <Deliveries {...props} />
    </div>
  );
}

function FailureNote({ session, words }: Props) {
  const failure = session.failure.value;
  if (failure === undefined) return null;
  const { message = words.unreachable, requestId } = failure;
  return (
    <Callout tone="bad" role="alert">
      <span dir="auto">{message || words.failed}</span>
      {requestId !== undefined && (
        <span class="quiet-words">
          {words.request} <code>{requestId}</code>
        </span>
      )}
      <button type="button" class="button" onClick={() => void session.load()}>
        {words.retry}
      </button>
    </Callout>
  );
}

function Health({ session, words, locale }: Props) {
  const webhook = session.webhook.value;
  if (webhook === undefined || webhook === 'none') return null;
  const { state, failing, disabled, held, types } = webhook;
  const isUnset = state === 'healthy' && types.length === 0;
  return (
    <>
      <div class="part-head">
        <h3 id="endpoint">{words.endpoint}</h3>
        <State tone={isUnset ? 'info' : TONES[state]}>{isUnset ? words.unset : words[state]}</State>
      </div>
      {isUnset && <p class="hint">{words.unsetText}</p>}
      {failing && state === 'failing' && (
        <Callout tone="bad">
          <span>
            {words.failingText} <Time at={failing.since} locale={locale} />
            {': '}
            <span dir="auto">{outcomeOf(failing.outcome, words)}</span>
          </span>
        </Callout>
      )}
      {disabled && (
        <Callout tone="warn">
          <span>
            {disabled.reason === 'gone' && `${words.gone} `}
            {disabled.reason === 'failing' && `${words.tooLong} `}
            {disabled.note !== undefined && <q dir="auto">{disabled.note}</q>} {words.disabledText}{' '}
            {new Intl.NumberFormat(locale).format(held)}
          </span>
          <span class="buttons">
            <button type="button" class="button" onClick={() => void session.enable(false)}>
              {words.enable}
            </button>
            {held > 0 && (
              <button type="button" class="button" onClick={() => void session.enable(true)}>
                {words.enableAndDeliver}
              </button>
            )}
          </span>
        </Callout>
      )}
    </>
  );
}

function SecretPart({ session, words, locale }: Props) {
  const [isAsked, setAsked] = useState(false);
  const headId = useId();
  const shown = session.secret.value;
  return (
    <section class="part" aria-labelledby={headId}>
      <h3 id={headId}>{words.secret}</h3>
      <p class="hint">{words.secretText}</p>
      {shown === undefined ? (
        <code class="secret" aria-hidden="true">
          ••••••••••••••••
        </code>
      ) : (
        <SecretText value={shown.secret} words={words} />
      )}
      {shown?.standardSecret !== undefined && (
        <>
          <p class="hint">{words.standard}</p>
          <SecretText value={shown.standardSecret} words={words} />
        </>
      )}
      {shown?.previous && (
        <p class="hint">
          {words.bothUntil} <Time at={shown.previous.until} locale={locale} />
        </p>
      )}
      <div class="buttons">
        <button
          type="button"
          class="button"
          onClick={() => void (shown === undefined ? session.reveal() : session.hide())}
        >
          <Icon name={shown === undefined ? 'eye' : 'eye-off'} />
          {shown === undefined ? words.reveal : words.hide}
        </button>
        <button type="button" class="button quiet" onClick={() => setAsked(true)}>
          {words.rotate}
        </button>
      </div>
      {isAsked && (
        <Question
          {...{ title: words.rotateTitle, text: words.rotateText, yes: words.rotateYes, no: words.cancel }}
          style="button danger"
          answer={(confirmed) => {
            setAsked(false);
            if (confirmed) void session.rotate();
          }}
        />
      )}
    </section>
  );
}

const SecretText = ({ value, words }: { readonly value: string; readonly words: WebhookWords }) => (
  <div class="secret-line">
    <code class="secret">{value}</code>
    <CopyButton value={value} words={words} />
  </div>
);

function Test({ session, words }: Props) {
  const [asked, setAsked] = useState<string | undefined>(undefined);
  const headId = useId();
  const webhook = session.webhook.value;
  const types = webhook === undefined || webhook === 'none' ? [] : webhook.types;
  const chosen = types.find(({ type }) => type === asked)?.type ?? types[0]?.type;
  const said = { sent: words.sent, unhandled: words.unhandled };
  const isOff = chosen === undefined || (typeof webhook === 'object' && webhook.state === 'disabled');
  return (
    <section class="part" aria-labelledby={headId}>
      <h3 id={headId}>{words.test}</h3>
      <p class="hint">{words.testText}</p>
      {types.length > 0 && (
        <Field label={words.type}>
          <TypeSelect {...{ session, words }} value={chosen ?? ''} change={setAsked} />
        </Field>
      )}
      <div class="buttons">
        <button
          type="button"
          class="button"
          disabled={isOff}
          aria-busy={session.isBusy.value}
          onClick={() => chosen !== undefined && void session.test(chosen)}
        >
          <span>{words.send}</span>
        </button>
      </div>
      <p class="hint said" role="status">
        {session.tested.value && said[session.tested.value]}
      </p>
    </section>
  );
}

function TypeSelect({
  session,
  words,
  value,
  change,
}: Omit<Props, 'locale'> & { readonly value: string; readonly change: (type: string | undefined) => void }) {
  const named = useFieldAttributes(words.type);
  const webhook = session.webhook.value;
  const types = webhook === undefined || webhook === 'none' ? [] : webhook.types;
  const choices = types.map(({ type }) => ({ id: type, label: titleOf(type, session, words) }));
  return <PlainSelect {...{ named, choices, value, change }} placeholder={words.type} />;
}

function Deliveries(props: Props) {
  const { session, words } = props;
  const headId = useId();
  const items = session.deliveries.value;
  return (
    <section class="part wide" aria-labelledby={headId}>
      <h3 id={headId}>{words.deliveries}</h3>
      {items === undefined && <Skeleton rows={2} words={words.loading} />}
      {items?.length === 0 && <p class="hint">{words.noDeliveries}</p>}
      {items !== undefined && items.length > 0 && (
        <ol class="deliveries">
          {items.map((delivery) => (
            <DeliveryRow key={delivery.id} {...props} delivery={delivery} />
          ))}
        </ol>
      )}
      {session.next.value !== undefined && (
        <button type="button" class="button quiet" onClick={() => void session.more()}>
          {words.more}
        </button>
      )}
    </section>
  );
}

function DeliveryRow(props: Props & { readonly delivery: Delivery }) {
  const { session, words, locale, delivery } = props;
  const { id, type, state, outcome, createdAt } = delivery;
  const opened = session.opened.value;
  const isOpen = opened?.id === id;
  return (
    <li>
      <button type="button" class="delivery" aria-expanded={isOpen} onClick={() => void session.toggle(id)}>
        <Icon name="chevron" />
        <State tone={TONES[state]}>{words[STATES[state]]}</State>
        <span class="what" dir="auto">
          {titleOf(type, session, words)}
        </span>
        <span class="hint" dir="auto">
          {outcome !== undefined && state !== 'pending' && outcomeOf(outcome, words)}
        </span>
        <Time at={createdAt} locale={locale} />
      </button>
      {isOpen &&
        (opened.whole === undefined ? (
          <Skeleton rows={1} words={words.loading} />
        ) : (
          <Opened {...props} whole={opened.whole} />
        ))}
    </li>
  );
}

function Opened({ session, words, locale, whole }: Props & { readonly whole: WholeDelivery }) {
  return (
    <div class="opened">
      <div class="buttons">
        <button
          type="button"
          class="button"
          disabled={whole.state === 'pending'}
          aria-busy={session.isBusy.value}
          onClick={() => void session.redeliver(whole.id)}
        >
          {words.redeliver}
        </button>
      </div>
      {whole.history.length === 0 && <p class="hint">{words.noPayload}</p>}
      {whole.history.toReversed().map((attempt, at) => (
        <details key={attempt.number} open={at === 0}>
          <summary>
            <State tone={attempt.result === 'succeeded' ? 'good' : 'bad'}>
              {`${words.attempt} ${attempt.number}`}
            </State>{' '}
            <span class="hint">
              <Time at={attempt.at} locale={locale} />
              {`, ${outcomeOf(attempt.outcome, words)}, ${new Intl.NumberFormat(locale).format(attempt.durationMs)}\u00a0ms`}
            </span>
          </summary>
          <Exchange {...{ words, whole, attempt }} />
        </details>
      ))}
    </div>
  );
}

interface ExchangeProps {
  readonly words: WebhookWords;
  readonly whole: WholeDelivery;
  readonly attempt: Attempt;
}

/** What was sent, and what came back. */
function Exchange({ words, whole, attempt }: ExchangeProps) {
  const { destination = whole.destination, status, response, truncated, reason } = attempt;
  const request = (
    <>
      {destination !== undefined && (
        <p class="line">
          <code>POST {destination}</code>
        </p>
      )}
      {whole.payload === undefined ? (
        <p class="hint">{words.noPayload}</p>
      ) : (
        <Payload value={whole.payload} label={words.body} />
      )}
    </>
  );
  const answer = (
    <>
      <p class="line">
        {status === undefined ? words.noAnswer : <code>HTTP {status}</code>}{' '}
        {reason !== undefined && <span dir="auto">{reason}</span>}
      </p>
      {status !== undefined && (response ?? '') === '' && <p class="hint">{words.noBody}</p>}
      {response !== undefined && response !== '' && <Payload value={response} label={words.body} />}
      {truncated && <p class="hint">{words.truncated}</p>}
    </>
  );
  return (
    <Tabs
      label={`${words.attempt} ${attempt.number}`}
      tabs={[
        [words.response, answer],
        [words.request, request],
      ]}
    />
  );
}

/** The title of a type; without one, its name in words. */
function titleOf(type: string, { webhook: { value } }: WebhookSession, words: WebhookWords): string {
  const known = value === undefined || value === 'none' ? [] : value.types;
  const title = known.find((one) => one.type === type)?.title;
  const own = Object.hasOwn(words, type) ? words[type as keyof WebhookWords] : undefined;
  return title ?? (typeof own === 'string' ? own : type.replaceAll(/[._-]+/g, ' ')).slice(0, 200);
}

/** An outcome in words: `answered 500` keeps its number. */
export function outcomeOf(outcome: string, words: WebhookWords): string {
  const [, first = outcome, rest = ''] = /^(\w+)(.*)$/.exec(outcome) ?? [];
  const own = Object.hasOwn(words, first) ? words[first as keyof WebhookWords] : undefined;
  return `${typeof own === 'string' ? own : first}${rest}`.slice(0, 200);
}
