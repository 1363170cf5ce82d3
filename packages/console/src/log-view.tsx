/** The log of an installation: its newest lines, filtered by level. */
import { useState } from 'preact/hooks';
import type { LogLine } from '../../client/src/generated.ts';
import { type Items, withQuery } from './api.ts';
import { Shown, useAsked } from './asked.tsx';
import { State, Time } from './parts.tsx';

const LEVELS = ['debug', 'info', 'warn', 'error'];
const LINES = '100';

export function LogLines({ installation }: { readonly installation: string }) {
  const [level, setLevel] = useState('debug');
  const asked = useAsked<Items<LogLine>>(withQuery('/v1/logs', { installation, level, limit: LINES }));
  return (
    <>
      <div class="filters">
        <label>
          <span>Level, and above</span>
          <select class="select" value={level} onChange={(event) => setLevel(event.currentTarget.value)}>
            {LEVELS.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
        <button type="button" class="button" aria-busy={asked.isAsking} onClick={asked.again}>
          <span>Refresh</span>
        </button>
      </div>
      <Shown asked={asked}>
        {({ items }) =>
          items.length === 0 ? (
            <p class="hint">No lines. What the code writes with console, and what fails in it, is here.</p>
          ) : (
            <ol class="log">
              {items.map(({ id, at, level: own, text, requestId }) => (
                <li key={id}>
                  <Time at={at} />
                  <State state={own} />
                  <pre dir="auto" title={`Request ${requestId}`}>
                    {text}
                  </pre>
                </li>
              ))}
            </ol>
          )
        }
      </Shown>
    </>
  );
}
