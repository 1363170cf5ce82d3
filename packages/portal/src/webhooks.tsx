/** The webhooks of an organization: each target that has one, and its set-up. */

import type { Installation, WholeIntegration } from '../../client/src/generated.ts';
import { Failure, Shown } from '../../ui/src/asked.tsx';
import { type Placed, partOf, placeTitle, Status, targetPath, Webhooks } from './parts.tsx';
import { addressOf, at, type Items, session, useAsked } from './portal-api.ts';
import type { Words } from './words.ts';

export function WebhookList({ words }: { readonly words: Words }) {
  const asked = useAsked<Items<Installation>>('/installations?limit=100');
  return (
    <>
      <h1>{words.webhooks}</h1>
      <Shown asked={asked} words={words} shape="lines">
        {({ items }) => (
          <>
            <ul class="rows">
              {items.map((own) => (
                <OfInstallation key={own.id} {...{ own, words }} />
              ))}
            </ul>
            <div class="empty only">
              <p>{words.noWebhooks}</p>
              {session.value?.views.includes('integrations') && (
                <a class="button" href={addressOf('integrations')}>
                  {words.integrations}
                </a>
              )}
            </div>
          </>
        )}
      </Shown>
    </>
  );
}

interface OfProps {
  readonly own: Installation;
  readonly words: Words;
}

/** The rows of one installation: none where its integration posts no webhooks. */
function OfInstallation({ own, words }: OfProps) {
  const { value, failure, again } = useAsked<WholeIntegration>(`/${at('integrations', own.integration)}`);
  // Else the list would read as if there were none.
  if (value === undefined && failure !== undefined)
    return (
      <li>
        <Failure {...{ failure, words, again }} />
      </li>
    );
  if (value?.webhook === undefined) return null;
  return <WithWebhooks {...{ own, words }} title={value.title} />;
}

function WithWebhooks({ own, words, title }: OfProps & { readonly title: string }) {
  const path = targetPath(own.integration, own.id);
  const whole = useAsked(`${path}/webhook`);
  const spaces = useAsked<Items<Placed>>(`${path}/spaces?limit=100`);
  const sites = useAsked<Items<Placed>>(`${path}/sites?limit=100`);
  const places = [...(spaces.value?.items ?? []), ...(sites.value?.items ?? [])];
  const targets = [
    ...(whole.value === undefined ? [] : [{ part: [] as readonly string[], status: own.status }]),
    ...places.map((placed) => ({ part: partOf(placed), status: placed.status })),
  ];
  return targets.map(({ part, status }) => (
    <li key={part.join('/')}>
      <a class="row" href={addressOf(at('webhooks', own.integration, own.id, ...part))}>
        <span class="card-text">
          <strong dir="auto">{title}</strong>
          <span class="hint" dir="auto">
            {placeTitle(part, words)}
          </span>
        </span>
        <Status status={status} words={words} />
      </a>
    </li>
  ));
}

interface WebhookViewProps {
  readonly integration: string;
  readonly installation: string;
  readonly part: readonly string[];
  readonly words: Words;
}

export function WebhookView({ integration, installation, part, words }: WebhookViewProps) {
  const { value } = useAsked<WholeIntegration>(`/${at('integrations', integration)}`);
  return (
    <>
      <a class="up" href={addressOf('webhooks')}>
        {words.webhooks}
      </a>
      <h1 dir="auto">{value?.title ?? words.webhooks}</h1>
      <p class="hint" dir="auto">
        {placeTitle(part, words)}
      </p>
      <Webhooks target={targetPath(integration, installation, part)} words={words} />
    </>
  );
}
