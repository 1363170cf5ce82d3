/** Errors in the logs of installations, those of one message as one row. */
import type { Installation, LogLine } from '../../client/src/generated.ts';
import { ask, type Items, withQuery } from './api.ts';
import { Shown, useAsked } from './asked.tsx';
import { installationAddress } from './listings.tsx';
import { Time } from './parts.tsx';
import { addressOf, place } from './place.ts';

/** The errors of all installations, or of those of the organization that was chosen. */
export function ErrorsView() {
  const { organization } = place.value.query;
  return (
    <section aria-labelledby="title">
      <header class="head">
        <h1 id="title">Errors</h1>
      </header>
      <Errors key={organization} organization={organization} />
    </section>
  );
}

/** Installations whose logs are read, and how many at a time. */
const READ_MAX = 100;
const AT_ONCE = 8;
/** Lines that are read of each. */
const LINES = 50;

interface ErrorGroup {
  readonly message: string;
  readonly count: number;
  readonly last: LogLine;
  /** Where the last one was. */
  readonly where: Installation | undefined;
  readonly versions: ReadonlySet<number>;
}

interface ErrorsProps {
  readonly integration?: string | undefined;
  readonly organization?: string | undefined;
}

/** The errors in the logs of installations, by their first line. */
export function Errors(of: ErrorsProps) {
  const path = withQuery('/v1/installations', { ...of, limit: String(READ_MAX) });
  const asked = useAsked<readonly ErrorGroup[]>(`errors ${path}`, undefined, async (signal) => {
    const { items } = await ask<Items<Installation>>(path, { signal });
    const left = items.values();
    const found: LogLine[] = [];
    const read = async () => {
      for (const { id } of left) {
        const query = { installation: id, level: 'error', limit: String(LINES) };
        found.push(...(await ask<Items<LogLine>>(withQuery('/v1/logs', query), { signal })).items);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, read));
    return grouped(found, new Map(items.map((one) => [one.id, one])));
  });
  return (
    <Shown asked={asked}>
      {(groups) =>
        groups.length === 0 ? (
          <p class="hint">No errors in the logs of the first {READ_MAX} installations.</p>
        ) : (
          <div class="table" role="region" aria-label="Errors" tabIndex={0}>
            <table>
              <thead>
                <tr>
                  <th scope="col">Message</th>
                  <th scope="col" class="number">
                    Times
                  </th>
                  <th scope="col">Versions</th>
                  <th scope="col">Last in</th>
                  <th scope="col">Last</th>
                </tr>
              </thead>
              <tbody>
                {groups.map(({ message, count, last, where, versions }) => (
                  <tr key={message}>
                    <td dir="auto">
                      <a
                        href={addressOf('logs', {
                          installation: last.installation,
                          level: 'error',
                          request: last.requestId,
                        })}
                      >
                        {message}
                      </a>
                    </td>
                    <td class="number">{count}</td>
                    <td>{[...versions].join(', ')}</td>
                    <td dir="auto">
                      {where && (
                        <a href={installationAddress(where.integration, where.id)}>
                          {where.integration} at {where.organization}
                        </a>
                      )}
                    </td>
                    <td>
                      <Time at={last.at} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )
      }
    </Shown>
  );
}

function grouped(
  lines: readonly LogLine[],
  installed: ReadonlyMap<string, Installation>,
): readonly ErrorGroup[] {
  const groups = new Map<string, ErrorGroup>();
  for (const line of lines) {
    const [first = ''] = line.text.split('\n', 1);
    // Numbers and ids differ from call to call; those of an address do not.
    const message = first
      .slice(0, 300)
      .replaceAll(/\b[a-z]{3}_\w{8,64}\b|\b[\da-f-]{6,40}\b|(?<![.:\d])\b\d{1,20}\b(?![.:\d])/gi, '…');
    const { count = 0, last: before = line, versions = [] } = groups.get(message) ?? {};
    const last = line.at > before.at ? line : before;
    const where = installed.get(last.installation ?? '');
    groups.set(message, {
      message,
      count: count + 1,
      last,
      where,
      versions: new Set([...versions, line.version]),
    });
  }
  return [...groups.values()].toSorted((one, other) => other.count - one.count);
}
