/** What is done with tokens: one is made, and shown once; one is revoked. */
import { useState } from 'preact/hooks';
import type { NewToken, Token } from '../../client/src/generated.ts';
import { Callout, CopyButton } from '../../ui/src/widgets.tsx';
import { ask, at } from './api.ts';
import { Action, ShortForm } from './detail.tsx';

/** Seconds, by what they are called. */
const ENDS: Readonly<Record<string, number | undefined>> = {
  'in a day': 86_400,
  'in 30 days': 2_592_000,
  'in a year': 31_536_000,
  never: undefined,
};

export function TokenMaker({ again }: { readonly again: () => void }) {
  const [made, setMade] = useState<NewToken>();
  return (
    <details class="maker">
      <summary>Make a token</summary>
      <ShortForm
        words="Make it"
        fields={[
          { name: 'name', label: 'Name', hint: 'what it is for' },
          { name: 'kind', label: 'Kind', choices: ['platform', 'organization', 'admin'] },
          { name: 'organization', label: 'Organization', required: false, hint: 'of the kind organization' },
          { name: 'rights', label: 'Rights', required: false, hint: 'read, deliveries … or all' },
          { name: 'ends', label: 'Ends', choices: Object.keys(ENDS) },
        ]}
        act={async ({ name, kind, organization, rights = '', ends = '' }) => {
          const named = rights.split(/[\s,]/).filter(Boolean);
          const body = {
            ...{ name, kind, expiresIn: ENDS[ends] },
            ...(organization && { organization }),
            ...(named.length > 0 && { rights: named }),
          };
          setMade(await ask<NewToken>('/v1/tokens', { method: 'POST', body }));
        }}
        done={again}
      />
      {made && (
        <Callout tone="good" role="status">
          <p>
            <code>{made.token}</code>{' '}
            <CopyButton value={made.token} words={{ copy: 'Copy', copied: 'Copied' }} />
          </p>
          <p class="hint">It is shown only now.</p>
        </Callout>
      )}
    </details>
  );
}

export const Revoke = ({
  token: { id, name },
  again,
}: {
  readonly token: Token;
  readonly again: () => void;
}) => (
  <Action
    words="Revoke"
    question={`What uses ${name ?? 'it'} is refused from now on, and so are the console sessions that it signed in.`}
    act={() => ask(`/v1/tokens/${at(id)}`, { method: 'DELETE' })}
    done={again}
  />
);
