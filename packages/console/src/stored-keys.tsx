/** What code keeps: its keys with their sizes. A value is shown to nobody. */
import type { StorageUsage, StoredKey } from '../../client/src/generated.ts';
import { ask, at, type Items } from './api.ts';
import { Shown, useAsked } from './asked.tsx';
import { Action } from './detail.tsx';
import { numberText, Time } from './parts.tsx';

interface StoredPage extends Items<StoredKey> {
  readonly usage: StorageUsage;
}

const SOME = 100;

/** @param path of the storage, in the API */
export function StoredKeys({ path }: { readonly path: string }) {
  const asked = useAsked<StoredPage>(`${path}?limit=${SOME}`);
  return (
    <Shown asked={asked}>
      {({ items, next, usage }) => (
        <>
          <p class="hint">
            {usage.keys} of {numberText(usage.keysMax)} keys, {numberText(usage.bytes)} of{' '}
            {numberText(usage.bytesMax)} bytes
          </p>
          {items.length > 0 && (
            <ul class="places">
              {items.map(({ key, kind, bytes, expiresAt, updatedAt }) => (
                <li key={key}>
                  <code dir="auto">{key}</code>
                  <span class="hint">{kind}</span>
                  <span class="number">{numberText(bytes)} bytes</span>
                  <Time at={updatedAt} />
                  {expiresAt !== undefined && (
                    <span class="hint">
                      ends <Time at={expiresAt} />
                    </span>
                  )}
                  <Action
                    words="Delete"
                    question={`The value of ${key} is deleted. The code is not told.`}
                    act={() => ask(`${path}/${at(key)}`, { method: 'DELETE' })}
                    done={asked.again}
                  />
                </li>
              ))}
            </ul>
          )}
          {next !== undefined && <p class="hint">The first {SOME} keys.</p>}
        </>
      )}
    </Shown>
  );
}
