/** Publishes the folder that is dropped on the page, or chosen. What is wrong is shown at its line. */
import { useRef, useState } from 'preact/hooks';
import { isSecretFile } from '../../../src/cli/upload/never-uploaded.ts';
import { Icon } from '../../ui/src/icons.tsx';
import { Callout } from '../../ui/src/widgets.tsx';
import { ApiError } from './api.ts';
import { Failure } from './asked.tsx';
import { Detail } from './detail.tsx';
import { integrationAddress } from './listings.tsx';

interface Problem {
  readonly severity: 'error' | 'warning';
  readonly file?: string;
  readonly line?: number;
  readonly column?: number;
  readonly message: string;
}

interface Published {
  readonly integration: string;
  readonly version: number;
  readonly waits?: { readonly activeVersion: number };
  readonly warnings: readonly Problem[];
}

interface Chosen {
  readonly files: ReadonlyMap<string, File>;
  /** Files that hold credentials by their names, and packages: not sent. */
  readonly leftOut: readonly string[];
}

interface State {
  readonly chosen?: Chosen;
  /** From 0 to 1 while it is sent; 1 while the service bundles it. */
  readonly sent?: number;
  readonly published?: Published;
  readonly problems?: readonly Problem[];
  readonly failure?: Error;
  /** File → its lines, for the problems. */
  readonly sources?: ReadonlyMap<string, readonly string[]>;
}

export function PublishView() {
  const [state, setState] = useState<State>({});
  const [isOver, setOver] = useState(false);
  const secrets = useRef<HTMLTextAreaElement>(null);
  const choose = (files: Promise<ReadonlyMap<string, File>>) =>
    void files.then(
      (all) => publish(sendable(all)),
      (failure: Error) => setState({ failure }),
    );
  const publish = async (chosen: Chosen) => {
    setState({ chosen, sent: 0 });
    try {
      const form = formOf(chosen, secrets.current?.value ?? '');
      const outcome = await send(form, (sent) => setState({ chosen, sent }));
      const problems = 'problems' in outcome ? outcome.problems : outcome.warnings;
      const sources = await sourcesOf(problems, chosen);
      setState({ chosen, sources, ...('problems' in outcome ? { problems } : { published: outcome }) });
    } catch (failure) {
      setState({ chosen, failure: failure as Error });
    }
  };
  const { chosen, sent, published, problems, failure, sources = new Map() } = state;
  return (
    <Detail
      list={['Integrations', 'integrations']}
      title="Publish"
      actions={
        chosen &&
        sent === undefined && (
          <button type="button" class="button" onClick={() => void publish(chosen)}>
            Publish it again
          </button>
        )
      }
    >
      <div
        class={isOver ? 'drop over' : 'drop'}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => {
          event.preventDefault();
          setOver(false);
          // Now: the browser forgets what was dropped when this function ends.
          const entries = [...(event.dataTransfer?.items ?? [])].map((item) => item.webkitGetAsEntry());
          choose(filesOf(entries.filter((entry) => entry !== null)));
        }}
      >
        <Icon name="upload" />
        <p>Drop the folder of an integration here: the one with its manifest.</p>
        <label class="button">
          <span>Choose a folder</span>
          <input
            type="file"
            class="hidden-words"
            ref={(input) => {
              if (input) input.webkitdirectory = true;
            }}
            onChange={(event) => choose(Promise.resolve(pathsOf(event.currentTarget.files ?? [])))}
          />
        </label>
        <p class="hint">
          Files that hold credentials by their names, and packages in node_modules, are not sent.{' '}
          <code>annex publish</code> takes the packages that the code imports.
        </p>
      </div>
      <details>
        <summary>Secrets that the service does not have yet</summary>
        <label class="field">
          <span class="label">One in a line: NAME=value</span>
          <textarea class="textinput" rows={3} spellcheck={false} autocomplete="off" ref={secrets} />
        </label>
      </details>
      <div class="published">
        {sent !== undefined && (
          <p role="status">
            {sent < 1 ? `Sending ${chosen?.files.size} files` : 'Bundling and checking'}{' '}
            <progress max={1} {...(sent < 1 && { value: sent })} aria-label="Progress" />
          </p>
        )}
        {failure && <Failure failure={failure} />}
        {chosen && chosen.leftOut.length > 0 && (
          <p class="hint">
            Not sent: {chosen.leftOut.slice(0, 10).join(', ')}
            {chosen.leftOut.length > 10 && ` and ${chosen.leftOut.length - 10} more`}.
          </p>
        )}
        {published && (
          <Callout tone="good" role="status">
            <p>
              <a href={integrationAddress(published.integration)}>{published.integration}</a> is published:
              version {published.version}{' '}
              {published.waits === undefined
                ? 'answers from now on.'
                : `waits for the operator’s approval; ${
                    published.waits.activeVersion === published.version
                      ? 'only its organization has it meanwhile'
                      : `version ${published.waits.activeVersion} answers meanwhile`
                  }.`}
            </p>
          </Callout>
        )}
        {problems && (
          <Callout tone="bad" role="alert">
            <p>It is not published, and nothing has changed.</p>
          </Callout>
        )}
        <Problems problems={problems ?? published?.warnings ?? []} sources={sources} />
      </div>
    </Detail>
  );
}

interface ProblemsProps {
  readonly problems: readonly Problem[];
  readonly sources: ReadonlyMap<string, readonly string[]>;
}

const Problems = ({ problems, sources }: ProblemsProps) => (
  <ol class="problems">
    {problems.map(({ severity, file, line, column, message }, index) => {
      const source = sources.get(file ?? '')?.[(line ?? 0) - 1];
      return (
        <li key={index} class={severity}>
          <Icon name={severity === 'error' ? 'alert' : 'warning'} />
          <div>
            <p dir="auto">{message}</p>
            {file !== undefined && (
              <p class="hint">
                <code dir="auto">{[file, line, column].filter((one) => one !== undefined).join(':')}</code>
              </p>
            )}
            {source !== undefined && (
              <pre class="payload">
                <span class="faint">{line} </span>
                {source.slice(0, 300)}
                {column !== undefined && column <= 300 && `\n${' '.repeat(String(line).length + column)}^`}
              </pre>
            )}
          </div>
        </li>
      );
    })}
  </ol>
);

/** The files of what was dropped, by their paths in the folder. */
async function filesOf(entries: readonly FileSystemEntry[]): Promise<ReadonlyMap<string, File>> {
  const files = new Map<string, File>();
  const [only] = entries;
  const isFolder = entries.length === 1 && only?.isDirectory;
  const walk = async (entry: FileSystemEntry, path: string): Promise<void> => {
    if (entry.isFile) {
      const file = await new Promise<File>((resolve, reject) =>
        (entry as FileSystemFileEntry).file(resolve, reject),
      );
      files.set(path, file);
      return;
    }
    // Its name is enough to leave it out, with all that is in it.
    if (entry.name === 'node_modules' || isSecretFile(`${path}/`))
      return void files.set(path, new File([], path));
    const reader = (entry as FileSystemDirectoryEntry).createReader();
    for (;;) {
      // At most a hundred at a time.
      const some = await new Promise<FileSystemEntry[]>((resolve, reject) =>
        reader.readEntries(resolve, reject),
      );
      if (some.length === 0) return;
      for (const one of some) await walk(one, path === '' ? one.name : `${path}/${one.name}`);
    }
  };
  if (isFolder) await walk(only, '');
  else for (const entry of entries) await walk(entry, entry.name);
  return files;
}

/** Those of a folder that was chosen: its own name is not a part of their paths. */
const pathsOf = (list: ArrayLike<File>): ReadonlyMap<string, File> =>
  new Map(
    Array.from(list, (file) => [file.webkitRelativePath.split('/').slice(1).join('/') || file.name, file]),
  );

function sendable(all: ReadonlyMap<string, File>): Chosen {
  const isLeftOut = (path: string) => isSecretFile(path) || path.split('/').includes('node_modules');
  const files = new Map([...all].filter(([path]) => !isLeftOut(path)));
  const leftOut = [...all.keys()]
    .filter(isLeftOut)
    .map((path) => path.replace(/\bnode_modules\/.{0,2000}$/, 'node_modules'));
  return { files, leftOut: [...new Set(leftOut)] };
}

function formOf({ files }: Chosen, secretLines: string): FormData {
  const form = new FormData();
  const secrets = Object.fromEntries(
    secretLines
      .split('\n')
      .filter((line) => line.includes('='))
      .map((line) => [line.slice(0, line.indexOf('=')).trim(), line.slice(line.indexOf('=') + 1)]),
  );
  if (Object.keys(secrets).length > 0) form.append('secrets', JSON.stringify(secrets));
  for (const [path, file] of files) form.append('files', file, path);
  return form;
}

/** By XMLHttpRequest, which says how much was sent. */
function send(
  form: FormData,
  progress: (sent: number) => void,
): Promise<Published | { readonly problems: readonly Problem[] }> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('POST', '/v1/integrations');
    request.setRequestHeader('annex-console', '1');
    request.upload.onprogress = ({ loaded, total }) => progress(total === 0 ? 0 : loaded / total);
    request.upload.onload = () => progress(1);
    request.onerror = () => reject(new Error('The service does not answer.'));
    request.onload = () => {
      const answer = JSON.parse(request.responseText || '{}');
      if (request.status < 300) resolve(answer);
      else if (answer.error?.code === 'PUBLISH_INVALID') resolve({ problems: answer.error.problems ?? [] });
      else reject(new ApiError(request.status, answer.error ?? {}));
    };
    request.send(form);
  });
}

/** Lines of the files that have problems. */
async function sourcesOf(problems: readonly Problem[], { files }: Chosen) {
  const named = [
    ...new Set(
      problems.flatMap(({ file, line }) => (file !== undefined && line !== undefined ? [file] : [])),
    ),
  ];
  const read = named.map(async (name) => [name, (await files.get(name)?.text())?.split('\n') ?? []] as const);
  return new Map(await Promise.all(read));
}
