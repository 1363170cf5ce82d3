/** `textinput`: a field for text, with one line or several. */
import type { PartialInputHTMLAttributes } from 'preact';
import { cutText } from '../drawing/cut-text.ts';
import { member, textMember } from '../drawing/json.ts';
import { LIMITS } from '../limits.ts';
import {
  type ElementProps,
  label,
  textOf,
  typing,
  useDisabled,
  useFieldAttributes,
  useScope,
} from './scope.ts';

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
        <Line type={textMember(node.attributes, 'inputType')} attributes={attributes} />
      )}
      {tooLong && <span class="cut">{stage.words.editedTooLong}</span>}
    </>
  );
}

interface LineProps {
  readonly type: string | undefined;
  readonly attributes: Omit<PartialInputHTMLAttributes<HTMLInputElement>, 'type' | 'role' | 'list'>;
}

/** Attack: a field that the browser fills with the password or the address of the user. */
function Line({ type, attributes }: LineProps) {
  if (type === 'password') return <input type="password" autocomplete="new-password" {...attributes} />;
  if (type === 'email') return <input type="email" autocomplete="off" {...attributes} />;
  return <input type="text" autocomplete="off" {...attributes} />;
}
