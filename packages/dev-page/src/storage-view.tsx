/** What the code has stored: keys and sizes. The values are for the code alone. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Time } from '../../ui/src/shown-values.tsx';
import { Skeleton } from '../../ui/src/widgets.tsx';
import { read, type StorageView, write } from './page-api.ts';
import { failed, type Outcome, Said } from './parts.tsx';

const AREAS = { own: 'Of the installation', shared: 'Of the integration' } as const;
type Area = keyof typeof AREAS;

export function StoredView() {
  const stored = useSignal<StorageView | undefined>(undefined);
  const failure = useSignal<Outcome>(undefined);
  const run = async (work: () => Promise<unknown>) => {
    failure.value = undefined;
    try {
      await work();
      stored.value = await read<StorageView>('storage');
    } catch (error) {
      failure.value = failed(error);
    }
  };
  const look = () => run(async () => undefined);
  const remove = (area: Area, key: string) => run(() => write('deleteStored', { area, key }));
  useEffect(() => void look(), []);
  return (
    <section aria-labelledby="storage">
      <h2 id="storage">Storage</h2>
      <p class="quiet-words">Keys that the code has stored. Their values are for the code alone.</p>
      <Said outcome={failure.value} />
      {stored.value === undefined && failure.value === undefined && <Skeleton rows={2} words="Loading…" />}
      {stored.value !== undefined &&
        (Object.keys(AREAS) as Area[]).map((area) => (
          <AreaTable key={area} area={area} stored={stored.value} onDelete={remove} />
        ))}
      <button type="button" class="button" onClick={() => void look()}>
        Read again
      </button>
    </section>
  );
}

interface AreaTableProps {
  readonly area: Area;
  readonly stored: StorageView | undefined;
  onDelete(area: Area, key: string): void;
}

function AreaTable({ area, stored, onDelete }: AreaTableProps) {
  const items = stored?.[area].items ?? [];
  const keys = stored?.[area].usage.keys ?? 0;
  return (
    <table>
      <caption>
        {AREAS[area]}: {keys} {keys === 1 ? 'key' : 'keys'}
        {keys > items.length && `, of which ${items.length} are shown`}
      </caption>
      {items.length > 0 && (
        <thead>
          <tr>
            <th scope="col">Key</th>
            <th scope="col">Kind</th>
            <th scope="col">Bytes</th>
            <th scope="col">Expires</th>
            <th scope="col">
              <span class="hidden-words">Delete</span>
            </th>
          </tr>
        </thead>
      )}
      <tbody>
        {items.map(({ key, kind, bytes, expiresAt }) => (
          <tr key={key}>
            <td>
              <code>{key}</code>
            </td>
            <td>{kind}</td>
            <td>{bytes.toLocaleString('en')}</td>
            <td>{expiresAt === undefined ? 'never' : <Time at={expiresAt} />}</td>
            <td>
              <button
                type="button"
                class="button"
                aria-label={`Delete ${key}`}
                onClick={() => onDelete(area, key)}
              >
                Delete
              </button>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
