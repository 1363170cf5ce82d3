/**
 * `select`. One choice of a plain list is the browser's own `<select>`, which every device knows
 * how to show. All others (several, from a URL, with icons, own values) are a combo box.
 */
import { type Choice, readChoices } from '../../../../src/model/contentkit/choice-page.ts';
import { cutText } from '../drawing/cut-text.ts';
import { listMember, member, textMember } from '../drawing/json.ts';
import { LIMITS } from '../limits.ts';
import { FailureNote } from './button.tsx';
import { choicesAddress } from './choices.ts';
import { ComboBox } from './combo-box.tsx';
import {
  type ElementProps,
  label,
  textOf,
  useDisabled,
  useFieldAttributes,
  usePress,
  useProgress,
  useScope,
} from './scope.ts';
import { CutNote } from './text.tsx';

export function Select({ node }: ElementProps) {
  const { session } = useScope();
  const press = usePress(node);
  const { attributes } = node;
  const { busy, failure } = useProgress(node.path);
  const key = textMember(attributes, 'state') ?? '';
  const options = member(attributes, 'options');
  const listed = listMember(attributes, 'options') ?? [];
  const choices = readChoices(listed);
  const multiple = member(attributes, 'multiple') === true;
  const acceptInput = member(attributes, 'acceptInput') === true;
  const address = choicesAddress(options);
  const change = (value: unknown) => {
    session.client.enter(key, value);
    void press('onValueChange');
  };
  const isPlain = address === undefined && !multiple && !acceptInput && choices.every(({ icon }) => !icon);
  const shared = { node, choices, value: session.client.get(key), change, busy };
  return (
    <>
      {isPlain ? (
        <PlainSelect {...shared} />
      ) : (
        <ComboBox {...shared} address={address} multiple={multiple} acceptInput={acceptInput} />
      )}
      {listed.length > LIMITS.choices && <CutNote />}
      <FailureNote path={node.path} failure={failure} />
    </>
  );
}

interface PlainProps extends ElementProps {
  readonly choices: readonly Choice[];
  readonly value: unknown;
  readonly change: (value: unknown) => void;
  readonly busy: boolean;
}

function PlainSelect({ node, choices, value, change, busy }: PlainProps) {
  const disabled = useDisabled(node);
  const placeholder = label(node, 'placeholder');
  const key = cutText(textMember(node.attributes, 'state') ?? '', LIMITS.labelChars);
  const named = useFieldAttributes(placeholder ?? key);
  const index = choices.findIndex(({ id }) => id === textOf(value));
  // Ids are compared by their place: no text of a tenant becomes a value of the page's form.
  return (
    <select
      class="select"
      {...named}
      aria-busy={busy}
      disabled={disabled}
      value={String(index)}
      onChange={(event) => change(choices[Number(event.currentTarget.value)]?.id)}
    >
      {index === -1 && (
        <option value="-1" disabled={choices.length > 0}>
          {placeholder ?? ''}
        </option>
      )}
      {choices.map(({ id, label: words }, at) => (
        <option key={id} value={String(at)} dir="auto">
          {words}
        </option>
      ))}
    </select>
  );
}
