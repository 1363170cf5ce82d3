/** What the code has stored: keys and sizes. The values are for the code alone. */
import { useSignal } from '@preact/signals';
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
  const remove = (area: Area, key: string) => run(() => write('deleteStored', { area, key }));
  return (
    <section aria-labelledby="storage">
      <h2 id="storage">Storage</h2>
      <button type="button" class="button" onClick={() => run(async () => undefined)}>
        Show keys
      </button>
      <Said outcome={failure.value} />
      {stored.value !== undefined &&
        (Object.keys(AREAS) as Area[]).map((area) => (
          <AreaTable key={area} area={area} stored={stored.value} onDelete={remove} />
        ))}
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
      <tbody>
        {items.map(({ key, kind, bytes, expiresAt }) => (
          <tr key={key}>
            <td>
              <code>{key}</code>
            </td>
            <td>{kind}</td>
            <td>{bytes} bytes</td>
            <td>{expiresAt && `until ${expiresAt}`}</td>
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
