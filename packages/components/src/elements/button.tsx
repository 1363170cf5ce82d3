/** `button`, and the note of an action that failed. */

import { Icon } from '../../../ui/src/icons.tsx';
import { useFieldAttributes } from '../../../ui/src/widgets.tsx';
import { textMember } from '../drawing/json.ts';
import type { Failure } from '../session/component-session.ts';
import {
  type ElementProps,
  label,
  useDisabled,
  useDynamicText,
  usePress,
  useProgress,
  useScope,
} from './scope.ts';

const STYLES: ReadonlySet<string> = new Set(['primary', 'secondary', 'danger']);
export const buttonStyle = (style: string | undefined): string =>
  `button ${style !== undefined && STYLES.has(style) ? style : 'secondary'}`;

export function Button({ node }: ElementProps) {
  const { attributes, path } = node;
  const press = usePress(node);
  const words = useDynamicText(node, 'label');
  const disabled = useDisabled(node);
  const { busy, failure } = useProgress(path);
  const icon = textMember(attributes, 'icon');
  const trailing = textMember(attributes, 'trailingIcon');
  const tooltip = label(node, 'tooltip');
  // A button without a label is read out by its tooltip, or the name of its icon.
  const name = words === '' ? (tooltip ?? icon ?? trailing ?? textMember(attributes, 'style')) : undefined;
  const { id, 'aria-describedby': hintId } = useFieldAttributes('');
  return (
    <>
      <button
        type="button"
        id={id}
        class={buttonStyle(textMember(attributes, 'style'))}
        title={tooltip}
        aria-label={name}
        aria-describedby={hintId}
        aria-busy={busy}
        disabled={disabled}
        onClick={() => void press('onPress')}
      >
        <Icon name={icon} />
        {words !== '' && <span dir="auto">{words}</span>}
        <Icon name={trailing} />
      </button>
      <FailureNote path={path} failure={failure} />
    </>
  );
}

/** Why an action failed, beside the element, with a button to repeat it. */
export function FailureNote({ path, failure }: { path: string; failure: Failure | undefined }) {
  const { stage, session } = useScope();
  if (failure === undefined) return null;
  return (
    <div class="failure" role="alert">
      <span dir="auto">{failure.message}</span>
      <span class="buttons">
        {failure.retry !== undefined && (
          <button type="button" class="button quiet" onClick={failure.retry}>
            {stage.words.retry}
          </button>
        )}
        <button type="button" class="button quiet" onClick={() => session.dismiss(path)}>
          {stage.words.dismiss}
        </button>
      </span>
    </div>
  );
}
