/** `textinput`: a field for text, with one line or several. */
import { TextLine, useFieldAttributes } from '../../../ui/src/widgets.tsx';
import { cutText } from '../drawing/cut-text.ts';
import { member, textMember } from '../drawing/json.ts';
import { LIMITS } from '../limits.ts';
import { type ElementProps, label, textOf, typing, useDisabled, useScope } from './scope.ts';

export function TextInput({ node }: ElementProps) {
  const { session, stage } = useScope();
  const disabled = useDisabled(node);
  const key = textMember(node.attributes, 'state') ?? '';
  const placeholder = label(node, 'placeholder');
  const named = useFieldAttributes(placeholder ?? cutText(key, LIMITS.labelChars));
  const text = textOf(session.client.get(key));
  // What cannot be shown whole is not edited: cutting it would lose what is not shown.
  const tooLong = text.length > LIMITS.fieldChars;
  const attributes = {
    ...named,
    class: 'textinput',
    dir: 'auto' as const,
    value: cutText(text, LIMITS.fieldChars),
    placeholder,
    disabled,
    readOnly: tooLong,
    maxLength: tooLong ? undefined : LIMITS.fieldChars,
    ...typing(session.client, key),
  };
  return (
    <>
      {member(node.attributes, 'multiline') === true ? (
        <textarea rows={4} {...attributes} />
      ) : (
        <TextLine type={textMember(node.attributes, 'inputType')} attributes={attributes} />
      )}
      {tooLong && <span class="cut">{stage.words.editedTooLong}</span>}
    </>
  );
}
