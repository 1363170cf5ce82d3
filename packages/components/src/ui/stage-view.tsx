/** Draws a stage: the component, the windows of its modals, and the question of a `confirm`. */
import { useComputed } from '@preact/signals';
import { useLayoutEffect, useMemo } from 'preact/hooks';
import { Question, Skeleton, useDialog } from '../../../ui/src/widgets.tsx';
import { cutText } from '../drawing/cut-text.ts';
import { textMember } from '../drawing/json.ts';
import { buttonStyle, FailureNote } from '../elements/button.tsx';
import { Children } from '../elements/children.tsx';
import { modalSize } from '../elements/modal.tsx';
import { type Scope, ScopeProvider, useScope } from '../elements/scope.ts';
import { draw } from '../elements/table.tsx';
import { LIMITS } from '../limits.ts';
import type { ComponentSession } from '../session/component-session.ts';
import { type Question as AskedQuestion, givenReturnValue, type Stage } from '../session/stage.ts';

export function StageView({ stage }: { stage: Stage }) {
  const question = stage.question.value;
  return (
    <>
      <SessionView stage={stage} session={stage.root} />
      {stage.modals.value.map(({ id, session }) => (
        <ModalWindow key={id} stage={stage} session={session} />
      ))}
      {question !== undefined && <QuestionWindow stage={stage} question={question} />}
    </>
  );
}

function SessionView({ stage, session }: { stage: Stage; session: ComponentSession }) {
  const scope: Scope = useMemo(() => ({ stage, session, draw }), [stage, session]);
  return (
    <ScopeProvider value={scope}>
      <Component />
    </ScopeProvider>
  );
}

function Component() {
  const { session, stage } = useScope();
  const isBusy = useComputed(() => session.busy.value.size > 0);
  const tree = session.tree.value;
  const roots = useMemo(() => (tree === undefined ? [] : [tree.root]), [tree]);
  const isAwaited = tree === undefined && isBusy.value;
  const { lastHeight } = session;
  // As high as it was, so that nothing below it moves.
  const style = isAwaited && lastHeight !== undefined ? { blockSize: `${lastHeight}px` } : {};
  return (
    <div class={isAwaited ? 'component awaited' : 'component'} aria-busy={isBusy.value} style={style}>
      {isAwaited && <Loading height={lastHeight} words={stage.words.loading} />}
      <Children nodes={roots} />
      <OtherFailures />
    </div>
  );
}

/** Height of a row of the skeleton, with the space to the next (px). */
const ROW_PX = 68;
const ROWS_MAX = 12;

/** The shape of the last drawing; words alone before the first. */
function Loading({ height, words }: { readonly height: number | undefined; readonly words: string }) {
  if (height !== undefined)
    return <Skeleton rows={Math.min(ROWS_MAX, Math.max(1, Math.round(height / ROW_PX)))} words={words} />;
  return (
    <p class="loading" role="status">
      {words}
    </p>
  );
}

/** Failures of the component itself, and of elements that are gone. */
function OtherFailures() {
  const { session } = useScope();
  const paths = session.tree.value?.paths;
  const others = [...session.failures.value].filter(([path]) => path === '' || !isShown(path, paths));
  return (
    <>
      {others.map(([path, failure]) => (
        <FailureNote key={path} path={path} failure={failure} />
      ))}
    </>
  );
}

/** Entries of a menu belong to their block. */
const isShown = (path: string, paths: ReadonlySet<string> | undefined): boolean =>
  paths?.has(path.replace(/\.controls\/\d+$/, '')) ?? false;

/** What has the focus in a modal once it is drawn. */
const FIRST_FIELD = '.modal-body :is(input, select, textarea, button, a)';

function ModalWindow({ stage, session }: { stage: Stage; session: ComponentSession }) {
  const dialog = useDialog();
  const attributes = session.tree.value?.root.attributes;
  const title = attributes && textMember(attributes, 'title');
  const close = () => stage.closeModal(session, givenReturnValue(session));
  const isDrawn = attributes !== undefined;
  useLayoutEffect(() => {
    if (isDrawn) dialog.current?.querySelector<HTMLElement>(FIRST_FIELD)?.focus();
  }, [isDrawn]);
  return (
    <dialog
      ref={dialog}
      class={`window ${modalSize(attributes)}`}
      aria-label={cutText(title ?? session.componentId, LIMITS.labelChars)}
      onCancel={close}
      onClose={close}
    >
      <SessionView stage={stage} session={session} />
      {/* A `modal` has a button of its own to close it. */}
      {(attributes === undefined || textMember(attributes, 'type') !== 'modal') && (
        <div class="buttons end">
          <button type="button" class="button secondary" onClick={close}>
            {isDrawn ? stage.words.close : stage.words.cancel}
          </button>
        </div>
      )}
    </dialog>
  );
}

function QuestionWindow({ stage, question }: { stage: Stage; question: AskedQuestion }) {
  const words = (name: string) => cutText(textMember(question.confirm, name) ?? '', LIMITS.labelChars);
  return (
    <Question
      title={words('title')}
      text={words('text')}
      yes={words('confirm')}
      no={stage.words.cancel}
      style={buttonStyle(textMember(question.confirm, 'style') ?? 'primary')}
      answer={(confirmed) => question.answer(confirmed)}
    />
  );
}
