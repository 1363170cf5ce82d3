/** One integration: what it is, its versions, what it needs, who has it, and what fails in it. */
import { useState } from 'preact/hooks';
import type {
  Installation,
  IntegrationLimits,
  IntegrationSecrets,
  NewInstallLink,
  Version,
  WholeIntegration,
  WholeVersion,
} from '../../client/src/generated.ts';
import { Callout, CopyButton } from '../../ui/src/widgets.tsx';
import { ask, at, type Items } from './api.ts';
import { Shown, useAsked } from './asked.tsx';
import { Action, Detail, order, Parts, Removal, ShortForm } from './detail.tsx';
import { Errors } from './errors-view.tsx';
import { INSTALLATIONS, installationAddress } from './listings.tsx';
import { LogExplorer } from './log-view.tsx';
import { Facts, Id, numberText, State, Time } from './parts.tsx';
import { addressOf, go } from './place.ts';
import { ScheduleRows } from './schedule-rows.tsx';
import { session } from './session.ts';
import { StoredKeys } from './stored-keys.tsx';
import { Table } from './table.tsx';

const SOME = 100;
const many = ({ items, next }: Items<unknown>): string => `${items.length}${next === undefined ? '' : '+'}`;

export function IntegrationView({ name }: { readonly name: string }) {
  const path = `/v1/integrations/${at(name)}`;
  const asked = useAsked<WholeIntegration>(path);
  const isOperator = session.value?.kind === 'admin';
  const isOwner = isOperator || session.value?.organization === asked.value?.organization;
  const own = [
    { name: 'errors', title: 'Errors', view: () => <Errors integration={name} /> },
    { name: 'secrets', title: 'Secrets', view: () => <Secrets path={path} /> },
    { name: 'limits', title: 'Limits', view: () => <LimitsView path={path} mayChange={isOperator} /> },
    { name: 'schedules', title: 'Schedules', view: () => <ScheduleRows path={path} /> },
    { name: 'storage', title: 'Storage', view: () => <StoredKeys path={`${path}/storage`} /> },
    { name: 'log', title: 'Log', view: () => <LogExplorer of={{ integration: name }} integration={name} /> },
  ];
  return (
    <Detail
      list={['Integrations', 'integrations']}
      title={asked.value?.title ?? name}
      actions={
        isOwner && (
          <>
            <a class="button" href={addressOf('publish')}>
              Publish a version
            </a>
            <Removal
              words="Delete"
              name={name}
              consequences={async () => {
                const installed = await ask<Items<Installation>>(
                  `/v1/installations?integration=${at(name)}&limit=${SOME}`,
                );
                return [
                  `Deletes ${many(installed)} installations, with their configuration, storage and log.`,
                  'Cancels what is on its way to them.',
                  'Deletes all versions and secrets. The name is free again.',
                ];
              }}
              act={() => ask(`${path}?cascade=true`, { method: 'DELETE' })}
              done={() => go(addressOf('integrations'))}
            />
          </>
        )
      }
    >
      <Shown asked={asked}>
        {(one) => (
          <Parts
            label={one.title}
            parts={[
              {
                name: 'about',
                title: 'About',
                view: () => <About one={one} isOwner={isOwner} path={path} />,
              },
              ...(isOwner
                ? [
                    {
                      name: 'versions',
                      title: 'Versions',
                      view: () => <Versions {...{ path, one, isOperator }} changed={asked.again} />,
                    },
                    ...own,
                  ]
                : []),
            ]}
          />
        )}
      </Shown>
    </Detail>
  );
}

interface AboutProps {
  readonly one: WholeIntegration;
  readonly isOwner: boolean;
  readonly path: string;
}

function About({ one, isOwner, path }: AboutProps) {
  const { name } = one;
  const installed = useAsked<Items<Installation>>(`/v1/installations?integration=${at(name)}&limit=5`);
  const own = session.value?.organization;
  return (
    <>
      <p dir="auto">{one.description}</p>
      <Facts
        facts={[
          ['Name', <Id key="" id={one.name} />],
          ['Organization', one.organization],
          ['Visibility', one.visibility],
          ['Active version', one.version],
          [
            'Waits for approval',
            one.waitingVersion && (
              <a href={addressOf(`integrations/${at(name)}`, { part: 'versions' })}>
                version {one.waitingVersion}
              </a>
            ),
          ],
          ['Installed into', one.target],
          ['May', one.scopes.join(', ') || 'nothing of the product'],
          ['Fetches from', one.egress?.join(', ')],
          ['Webhooks', one.webhook && 'It posts events to receivers'],
          ['Published', <Time key="" at={one.updatedAt} />],
        ]}
      />
      <h2>Installations</h2>
      <Shown asked={installed}>
        {({ items, next }) => (
          <>
            {items.length === 0 ? (
              <p class="hint">Nobody has installed it yet.</p>
            ) : (
              <Table listing={INSTALLATIONS} items={items} />
            )}
            {next !== undefined && (
              <a href={addressOf('installations', { integration: name })}>All installations</a>
            )}
          </>
        )}
      </Shown>
      <ShortForm
        words="Install"
        fields={own === undefined ? [{ name: 'organization', label: 'For the organization' }] : []}
        act={async ({ organization = own }) => {
          const { id } = await ask<Installation>(`${path}/installations`, {
            method: 'POST',
            body: { organization },
          });
          go(installationAddress(name, id));
        }}
        done={installed.again}
      />
      {isOwner && one.visibility === 'unlisted' && <InstallLink path={path} />}
    </>
  );
}

/** The link by which others install it. It is shown once. */
function InstallLink({ path }: { readonly path: string }) {
  const [link, setLink] = useState<NewInstallLink>();
  return (
    <>
      <h2>Install link</h2>
      <p class="hint">Who has its token may install this integration. A new one replaces the one before.</p>
      {link && (
        <Callout tone="good" role="status">
          <p>
            <code>{link.token}</code>{' '}
            <CopyButton value={link.token} words={{ copy: 'Copy', copied: 'Copied' }} />
          </p>
          <p class="hint">It is shown only now.</p>
        </Callout>
      )}
      <div class="buttons">
        <Action
          words="Make a link"
          act={() => ask<NewInstallLink>(`${path}/install-link`, { method: 'POST' }).then(setLink)}
        />
        <Action
          words="Remove the link"
          question="The token installs nothing from now on. What was installed with it stays."
          act={() => ask(`${path}/install-link`, { method: 'DELETE' }).then(() => setLink(undefined))}
        />
      </div>
    </>
  );
}

interface VersionsProps {
  readonly path: string;
  readonly one: WholeIntegration;
  readonly isOperator: boolean;
  readonly changed: () => void;
}

function Versions({ changed, ...of }: VersionsProps) {
  const versions = useAsked<Items<Version>>(`${of.path}/versions`);
  const done = () => {
    versions.again();
    changed();
  };
  return (
    <Shown asked={versions}>
      {({ items }) => (
        <ol class="versions">
          {items.map((row) => (
            <VersionRow key={row.version} {...of} {...{ row, done }} />
          ))}
        </ol>
      )}
    </Shown>
  );
}

interface RowProps extends Omit<VersionsProps, 'changed'> {
  readonly row: Version;
  readonly done: () => void;
}

function VersionRow({ path, one: { name, visibility, version: active }, row, isOperator, done }: RowProps) {
  const [isCompared, setCompared] = useState(false);
  const [isRefusing, setRefusing] = useState(false);
  const { version, active: isActive, createdAt, review } = row;
  const state = review?.state ?? 'approved';
  const ordered = (what: 'activate' | 'approve') => order(`${path}/versions/${version}/${what}`);
  const answers = `Version ${version} answers from now on, for every installation of ${name}`;
  return (
    <li>
      <div class="version">
        <span class="number">{version}</span>
        <Time at={createdAt} />
        <div class="buttons">
          {isActive && <State state="active" />}
          {state !== 'approved' && <State state={REVIEWS[state]} />}
          {!isActive && (state === 'approved' || visibility !== 'public') && (
            <Action
              words={`${version < active ? 'Roll back to' : 'Activate'} version ${version}`}
              question={`${answers}.`}
              act={ordered('activate')}
              done={done}
            />
          )}
          {!isActive && (
            <Opener words="Compare with the active one" isOpen={isCompared} change={setCompared} />
          )}
          {isOperator && state !== 'approved' && (
            <Action
              words={`Approve version ${version}`}
              question={`${answers}, with the visibility of its manifest.`}
              act={ordered('approve')}
              done={done}
            />
          )}
          {isOperator && state === 'waiting' && (
            <Opener words="Refuse…" isOpen={isRefusing} change={setRefusing} />
          )}
        </div>
      </div>
      {review?.reason !== undefined && (
        <p class="hint" dir="auto">
          {review.reason}
        </p>
      )}
      {isRefusing && state === 'waiting' && (
        <ShortForm
          words="Refuse"
          fields={[{ name: 'reason', label: 'Reason, for its author' }]}
          act={(body) => ask(`${path}/versions/${version}/refuse`, { method: 'POST', body })}
          done={done}
        />
      )}
      {isCompared && !isActive && <Difference {...{ path, from: active, to: version }} />}
    </li>
  );
}

interface OpenerProps {
  readonly words: string;
  readonly isOpen: boolean;
  readonly change: (isOpen: boolean) => void;
}

const Opener = ({ words, isOpen, change }: OpenerProps) => (
  <button type="button" class="button quiet" aria-expanded={isOpen} onClick={() => change(!isOpen)}>
    {words}
  </button>
);

const REVIEWS: Readonly<Record<NonNullable<Version['review']>['state'], string>> = {
  ...{ waiting: 'waits for approval', approved: 'approved', refused: 'refused', unreviewed: 'not reviewed' },
};

interface Compared {
  readonly lines: readonly DiffLine[];
  readonly bytes: readonly [from: number, to: number];
}

/** What another version has in its manifest, and how large its script is. */
function Difference({
  path,
  from,
  to,
}: {
  readonly path: string;
  readonly from: number;
  readonly to: number;
}) {
  const asked = useAsked<Compared>(`${path} ${from} ${to}`, undefined, async (signal) => {
    const [one, other] = await Promise.all(
      [from, to].map((version) => ask<WholeVersion>(`${path}/versions/${version}`, { signal })),
    );
    const [a = 0, b = 0] = await Promise.all(
      [from, to].map((version) => scriptBytes(`${path}/versions/${version}/script`, signal)),
    );
    return { lines: differenceOf(manifestLines(one), manifestLines(other)), bytes: [a, b] };
  });
  return (
    <Shown asked={asked}>
      {({ lines, bytes: [before, after] }) => (
        <>
          <p class="hint">
            Script: {numberText(before)} → {numberText(after)} bytes. Manifest:{' '}
            {lines.every(({ sign }) => sign === ' ') ? 'the same.' : `version ${from} (−) and ${to} (+).`}
          </p>
          {lines.some(({ sign }) => sign !== ' ') && (
            <pre
              class="payload difference"
              tabIndex={0}
              role="region"
              aria-label="Difference of the manifests"
            >
              {lines.map(({ sign, text }, index) => (
                <span key={index} class={{ '+': 'added', '-': 'removed', ' ': '' }[sign]}>
                  {`${sign} ${text}\n`}
                </span>
              ))}
            </pre>
          )}
        </>
      )}
    </Shown>
  );
}

async function scriptBytes(path: string, signal: AbortSignal): Promise<number> {
  const answer = await fetch(path, { signal, headers: { 'annex-console': '1' } });
  return answer.ok ? (await answer.arrayBuffer()).byteLength : 0;
}

const manifestLines = (version: WholeVersion | undefined): string[] => {
  const {
    version: _,
    active: __,
    createdAt: ___,
    review: ____,
    ...manifest
  } = version ?? ({} as WholeVersion);
  return JSON.stringify(manifest, undefined, 2).split('\n');
};

export interface DiffLine {
  readonly sign: '+' | '-' | ' ';
  readonly text: string;
}

/** Beyond this, all lines between the equal beginning and end are shown as other ones. */
const COMPARED_MAX = 1_000;
/** Equal lines around those that differ. */
const CONTEXT = 3;

/** What turns one text into another, by the longest common subsequence of their lines. */
export function differenceOf(from: readonly string[], to: readonly string[]): readonly DiffLine[] {
  let start = 0;
  while (start < from.length && start < to.length && from[start] === to[start]) start += 1;
  let end = 0;
  while (end < from.length - start && end < to.length - start && from.at(-1 - end) === to.at(-1 - end))
    end += 1;
  const [a, b] = [from.slice(start, from.length - end), to.slice(start, to.length - end)];
  const isLong = a.length > COMPARED_MAX || b.length > COMPARED_MAX;
  // lengths[i][j]: of the longest common subsequence of a from i on, and b from j on.
  const lengths = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  if (!isLong)
    for (let i = a.length - 1; i >= 0; i -= 1)
      for (let j = b.length - 1; j >= 0; j -= 1)
        (lengths[i] as Uint16Array)[j] =
          a[i] === b[j]
            ? (lengths[i + 1]?.[j + 1] ?? 0) + 1
            : Math.max(lengths[i + 1]?.[j] ?? 0, lengths[i]?.[j + 1] ?? 0);
  const lines: DiffLine[] = from
    .slice(Math.max(0, start - CONTEXT), start)
    .map((text) => ({ sign: ' ', text }));
  for (let [i, j] = [0, 0]; i < a.length || j < b.length; ) {
    const [mine = '', yours = ''] = [a[i], b[j]];
    if (!isLong && i < a.length && j < b.length && mine === yours) {
      lines.push({ sign: ' ', text: mine });
      i += 1;
      j += 1;
    } else if (
      i < a.length &&
      (j === b.length || isLong || (lengths[i + 1]?.[j] ?? 0) >= (lengths[i]?.[j + 1] ?? 0))
    ) {
      lines.push({ sign: '-', text: mine });
      i += 1;
    } else {
      lines.push({ sign: '+', text: yours });
      j += 1;
    }
  }
  const rest = to.slice(to.length - end, to.length - end + CONTEXT);
  return [...lines, ...rest.map((text) => ({ sign: ' ' as const, text }))];
}

function Secrets({ path }: { readonly path: string }) {
  const asked = useAsked<IntegrationSecrets>(`${path}/secrets`);
  return (
    <>
      <p class="hint">
        Their names. A value is shown to nobody, and replaces the one before at the next call.
      </p>
      <Shown asked={asked}>
        {({ items }) =>
          items.length === 0 ? (
            <p class="hint">The manifest declares none.</p>
          ) : (
            <ul class="places">
              {items.map(({ name, isSet, isDeclared, updatedAt }) => (
                <li key={name}>
                  <code>{name}</code>
                  <State state={isSet ? 'set' : 'missing'} />
                  {updatedAt !== undefined && <Time at={updatedAt} />}
                  {!isDeclared && (
                    <>
                      <span class="hint">the active version does not declare it</span>
                      <Action
                        words={`Remove ${name}`}
                        question={`The value of ${name} is deleted.`}
                        act={() => ask(`${path}/secrets/${at(name)}`, { method: 'DELETE' })}
                        done={asked.again}
                      />
                    </>
                  )}
                </li>
              ))}
            </ul>
          )
        }
      </Shown>
      <ShortForm
        words="Set"
        fields={[
          { name: 'name', label: 'Name' },
          { name: 'value', label: 'Value', type: 'password' },
        ]}
        act={({ name = '', value }) => ask(`${path}/secrets`, { method: 'PUT', body: { [name]: value } })}
        done={asked.again}
      />
    </>
  );
}

function LimitsView({ path, mayChange }: { readonly path: string; readonly mayChange: boolean }) {
  const asked = useAsked<IntegrationLimits>(`${path}/limits`);
  return (
    <Shown asked={asked}>
      {({ limits, deployment, lowered }) => (
        <>
          <LimitRows {...{ limits, deployment, lowered }} />
          {mayChange && (
            <>
              <ShortForm
                words="Lower"
                fields={[
                  { name: 'name', label: 'Limit', choices: Object.keys(limits) },
                  { name: 'value', label: 'To' },
                ]}
                act={({ name = '', value }) => {
                  const kept = Object.fromEntries(
                    Object.entries(limits).filter(([one]) => lowered.includes(one)),
                  );
                  return ask(`${path}/limits`, { method: 'PUT', body: { ...kept, [name]: Number(value) } });
                }}
                done={asked.again}
              />
              {lowered.length > 0 && (
                <Action
                  words="Restore those of the deployment"
                  act={() => ask(`${path}/limits`, { method: 'DELETE' })}
                  done={asked.again}
                />
              )}
            </>
          )}
        </>
      )}
    </Shown>
  );
}

const LimitRows = ({ limits, deployment, lowered }: IntegrationLimits) => (
  <div class="table" role="region" aria-label="Limits" tabIndex={0}>
    <table>
      <thead>
        <tr>
          <th scope="col">Limit</th>
          <th scope="col" class="number">
            In force
          </th>
          <th scope="col" class="number">
            Of the deployment
          </th>
        </tr>
      </thead>
      <tbody>
        {Object.entries(limits).map(([name, value]) => (
          <tr key={name}>
            <td>
              <code>{name}</code>
              {lowered.includes(name) && <State state="lowered" />}
            </td>
            <td class="number">{value.toLocaleString('en')}</td>
            <td class="number">
              {Object.entries(deployment)
                .find(([one]) => one === name)?.[1]
                .toLocaleString('en')}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);
