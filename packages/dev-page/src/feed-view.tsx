/** What happens in the session: versions, problems, log lines, deliveries. The latest is first. */
import { JsonText } from './json-text.tsx';
import type { FeedEvent, JsonObject } from './page-api.ts';
import { feed } from './page-state.ts';

export function FeedView() {
  const latestFirst = feed.value.toReversed();
  return (
    <aside aria-labelledby="feed">
      <h2 id="feed">What happens</h2>
      <ol>
        {latestFirst.map((event, at) => (
          <li key={feed.value.length - at} class={kindOf(event)}>
            <Entry event={event} />
          </li>
        ))}
      </ol>
    </aside>
  );
}

function kindOf({ event, line }: FeedEvent): string {
  if (event === 'refused' || event === 'failed') return 'bad';
  return event === 'log' && (line as JsonObject)['level'] === 'error' ? 'bad' : '';
}

function Entry({ event }: { event: FeedEvent }) {
  switch (event.event) {
    case 'started':
      return <>The session has started.</>;
    case 'live':
      return <>{`Version ${event['version']} is live, after ${event['durationMs']} ms.`}</>;
    case 'refused':
      return <Problems event={event} />;
    case 'failed':
      return <>{`${event['message']}`}</>;
    case 'log': {
      const { level, text } = event['line'] as JsonObject;
      return <pre>{`${level}  ${text}`}</pre>;
    }
    case 'delivery': {
      const { change, delivery } = event['change'] as JsonObject;
      return <JsonText name={`${(delivery as JsonObject)['type']}: ${change}`} value={event['change']} />;
    }
    case 'rendered':
      return <JsonText name={`drawn: ${event['component']}`} value={event['rendering']} />;
    case 'triggered':
      return <>{`Posted ${event['type']}, ${event['eventId']}.`}</>;
  }
}

interface ProblemView {
  readonly message: string;
  readonly file?: string;
  readonly line?: number;
  readonly column?: number;
  readonly hint?: string;
}

function Problems({ event }: { event: FeedEvent }) {
  const problems = event['problems'] as readonly ProblemView[];
  return (
    <>
      <p>{event['version'] === null ? 'Nothing is live yet.' : `Version ${event['version']} goes on.`}</p>
      <ul>
        {problems.map(({ message, file, line, column, hint }) => (
          <li key={`${file} ${line} ${column} ${message}`}>
            {file !== undefined && <code>{[file, line, column].filter(Boolean).join(':')}</code>} {message}{' '}
            {hint}
          </li>
        ))}
      </ul>
    </>
  );
}
