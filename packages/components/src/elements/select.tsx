/**
 * `select`. One choice of a plain list is the browser's own `<select>`, which every device knows
 * how to show. All others (several, from a URL, with icons, own values) are a combo box.
 */
import { readChoices } from '../../../../src/model/contentkit/choice-page.ts';
import { listOf } from '../../../ui/src/choices.ts';
import { ComboBox } from '../../../ui/src/combo-box.tsx';
import { PlainSelect, useFieldAttributes } from '../../../ui/src/widgets.tsx';
import { cutText } from '../drawing/cut-text.ts';
import { isObject, listMember, member, textMember } from '../drawing/json.ts';
import { LIMITS } from '../limits.ts';
import { FailureNote } from './button.tsx';
import { type ElementProps, label, textOf, useDisabled, usePress, useProgress, useScope } from './scope.ts';
import { CutNote } from './text.tsx';
import { useChoices } from './use-choices.ts';

export function Select({ node }: ElementProps) {
  const { session, stage } = useScope();
  const press = usePress(node);
  const { attributes } = node;
  const { busy, failure } = useProgress(node.path);
  const key = textMember(attributes, 'state') ?? '';
  const options = member(attributes, 'options');
  const listed = listMember(attributes, 'options') ?? [];
  const choices = readChoices(listed);
  const multiple = member(attributes, 'multiple') === true;
  const acceptInput = member(attributes, 'acceptInput') === true;
  const address = isObject(options) ? member(options, 'url') : undefined;
  const disabled = useDisabled(node);
  const placeholder = label(node, 'placeholder');
  const name = cutText(key, LIMITS.labelChars);
  const named = useFieldAttributes(placeholder ?? name);
  const value = session.client.get(key);
  const change = (value: unknown) => {
    session.client.enter(key, value);
    void press('onValueChange');
  };
  const isPlain = address === undefined && !multiple && !acceptInput && choices.every(({ icon }) => !icon);
  return (
    <>
      {isPlain ? (
        <PlainSelect
          named={{ ...named, disabled, 'aria-busy': busy }}
          {...{ choices, change }}
          value={textOf(value)}
          placeholder={placeholder ?? ''}
        />
      ) : (
        <ComboBox
          {...{ name, placeholder, disabled, busy, multiple, acceptInput, change }}
          chosen={(Array.isArray(value) ? value : [value]).map(textOf).filter((id) => id !== '')}
          offer={(asked) => (address === undefined ? listOf(choices) : useChoices(address, asked))}
          words={stage.words}
        />
      )}
      {listed.length > LIMITS.choices && <CutNote />}
      <FailureNote path={node.path} failure={failure} />
    </>
  );
}
