/** `codeblock`: code to read, or with `state` to edit. */
import { useFieldAttributes } from '../../../ui/src/widgets.tsx';
import { cutLines, cutText } from '../drawing/cut-text.ts';
import { isObject, member, textMember } from '../drawing/json.ts';
import { LIMITS } from '../limits.ts';
import { FailureNote } from './button.tsx';
import { Children } from './children.tsx';
import {
  type ElementProps,
  label,
  textOf,
  typing,
  useDynamic,
  usePress,
  useProgress,
  useScope,
} from './scope.ts';
import { CutNote } from './text.tsx';

export function CodeBlock({ node }: ElementProps) {
  const { failure } = useProgress(node.path);
  const { header = [], footer = [], buttons = [] } = node.slots;
  const syntax = label(node, 'syntax');
  const isEdited = (textMember(node.attributes, 'state') ?? '') !== '';
  return (
    <div class="codeblock">
      {header.length > 0 && (
        <div class="code-part">
          <Children nodes={header} />
        </div>
      )}
      {(syntax !== undefined || buttons.length > 0) && (
        <div class="code-bar">
          <span class="syntax">{syntax}</span>
          <div class="buttons">
            <Children nodes={buttons} />
          </div>
        </div>
      )}
      {isEdited ? <Editor node={node} /> : <Code node={node} />}
      <FailureNote path={node.path} failure={failure} />
      {footer.length > 0 && (
        <div class="code-part">
          <Children nodes={footer} />
        </div>
      )}
    </div>
  );
}

/** Number of the first line; undefined where lines have none. */
function firstNumber({ node }: ElementProps): number | undefined {
  const numbers = member(node.attributes, 'lineNumbers');
  if (numbers === true) return 1;
  return typeof numbers === 'number' && Number.isSafeInteger(numbers) ? numbers : undefined;
}

function Numbers({ first, text }: { first: number; text: string }) {
  const lines = Math.min(text.split('\n').length, LIMITS.codeLines);
  const numbers = Array.from({ length: lines }, (_, index) => first + index);
  return (
    <pre class="numbers" aria-hidden="true">
      {numbers.join('\n')}
    </pre>
  );
}

function Code({ node }: ElementProps) {
  const content = useDynamic(node, 'content');
  const text = typeof content === 'string' ? content : '';
  const shown = cutLines(cutText(text, LIMITS.codeChars), LIMITS.codeLines);
  const first = firstNumber({ node });
  const { 'aria-label': name = '', 'aria-labelledby': labelId } = useFieldAttributes(
    label(node, 'syntax') ?? '',
  );
  return (
    <div class="code-lines" dir="ltr">
      {first !== undefined && <Numbers first={first} text={shown} />}
      {/* What scrolls is reached by the keyboard. */}
      <pre class="code" tabIndex={0} role="group" aria-label={name || 'code'} aria-labelledby={labelId}>
        {shown}
      </pre>
      {text.length > shown.length && <CutNote />}
    </div>
  );
}

function Editor({ node }: ElementProps) {
  const { session, stage } = useScope();
  const press = usePress(node);
  const key = textMember(node.attributes, 'state') ?? '';
  const named = useFieldAttributes(label(node, 'syntax') ?? key);
  const text = textOf(session.client.get(key));
  const tooLong = text.length > LIMITS.fieldChars;
  const shown = cutText(text, LIMITS.fieldChars);
  const first = firstNumber({ node });
  const rows = Math.min(Math.max(shown.split('\n').length, 3), 20);
  return (
    <div class="code-lines" dir="ltr">
      {first !== undefined && <Numbers first={first} text={shown} />}
      <textarea
        class="code"
        {...named}
        rows={rows}
        wrap="off"
        spellcheck={false}
        readOnly={tooLong}
        value={shown}
        {...typing(session.client, key)}
        // The action is dispatched when the field is left, not with each key.
        onChange={() => {
          if (isObject(member(node.attributes, 'onContentChange'))) void press('onContentChange');
        }}
      />
      {tooLong && <span class="cut">{stage.words.editedTooLong}</span>}
    </div>
  );
}
