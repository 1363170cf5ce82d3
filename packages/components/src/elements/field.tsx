/** `input`: a form element with its label, its remark, and why its value is refused. */
import { Field } from '../../../ui/src/widgets.tsx';
import { textMember } from '../drawing/json.ts';
import { Children } from './children.tsx';
import { type ElementProps, label } from './scope.ts';
import { Remark } from './text.tsx';

/** Elements whose label stands beside them. */
const BESIDE: ReadonlySet<string> = new Set(['switch', 'radio', 'checkbox']);
/** Elements that a `<label>` can name: pressing it focuses them. */
const LABELABLE: ReadonlySet<string> = new Set(['textinput', 'select', 'switch', 'radio', 'checkbox']);

export function Input({ node }: ElementProps) {
  const { hint = [], element = [] } = node.slots;
  const type = element[0] === undefined ? '' : (textMember(element[0].attributes, 'type') ?? '');
  return (
    <Field
      label={label(node, 'label') ?? ''}
      beside={BESIDE.has(type)}
      labelable={LABELABLE.has(type)}
      error={label(node, 'error') || undefined}
      focusesFirst
      hint={hint.length > 0 ? (id) => <Remark nodes={hint} id={id} /> : undefined}
    >
      <Children nodes={element.slice(0, 1)} />
    </Field>
  );
}
