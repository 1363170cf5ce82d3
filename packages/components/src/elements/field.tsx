/** `input`: a form element with its label and its remark. */
import { useId } from 'preact/hooks';
import { textMember } from '../drawing/json.ts';
import { Children } from './children.tsx';
import { type ElementProps, FieldProvider, label } from './scope.ts';
import { Remark } from './text.tsx';

/** Elements whose label stands beside them. */
const BESIDE: ReadonlySet<string> = new Set(['switch', 'radio', 'checkbox']);
/** Elements that a `<label>` can name: pressing it focuses them. */
const LABELABLE: ReadonlySet<string> = new Set(['textinput', 'select', 'switch', 'radio', 'checkbox']);

export function Field({ node }: ElementProps) {
  const id = useId();
  const { hint = [], element = [] } = node.slots;
  const type = element[0] === undefined ? '' : (textMember(element[0].attributes, 'type') ?? '');
  const fieldId = `${id}-field`;
  const labelId = `${id}-label`;
  const hintId = hint.length > 0 ? `${id}-hint` : undefined;
  const words = label(node, 'label') ?? '';
  return (
    <div class={BESIDE.has(type) ? 'field beside' : 'field'}>
      {LABELABLE.has(type) ? (
        <label class="label" id={labelId} for={fieldId} dir="auto">
          {words}
        </label>
      ) : (
        <span class="label" id={labelId} dir="auto">
          {words}
        </span>
      )}
      <div class="control">
        <FieldProvider value={{ fieldId, labelId, hintId }}>
          <Children nodes={element.slice(0, 1)} />
        </FieldProvider>
      </div>
      {hintId !== undefined && <Remark nodes={hint} id={hintId} />}
    </div>
  );
}
