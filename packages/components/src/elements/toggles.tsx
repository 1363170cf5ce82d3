/** `switch`, `radio` and `checkbox`. */
import { useFieldAttributes } from '../../../ui/src/widgets.tsx';
import { member, objectMember, textMember } from '../drawing/json.ts';
import { FailureNote } from './button.tsx';
import { type ElementProps, useDisabled, usePress, useProgress, useScope } from './scope.ts';

interface Toggle {
  readonly chosen: boolean;
  /** Value of the client state once it is pressed. */
  readonly next: unknown;
}

function useToggle({ node }: ElementProps, toggle: (value: unknown) => Toggle) {
  const { session, stage } = useScope();
  const press = usePress(node);
  const disabled = useDisabled(node);
  const { busy, failure } = useProgress(node.path);
  const key = textMember(node.attributes, 'state') ?? '';
  const { chosen, next } = toggle(session.client.get(key));
  const confirm = objectMember(node.attributes, 'confirm');
  const change = () => {
    session.client.enter(key, next);
    void press('onValueChange', { confirm: undefined });
  };
  const onClick = async (event: Event) => {
    if (confirm === undefined) return;
    // It stays as it is while the question is open; the browser takes its own change back.
    event.preventDefault();
    if (await stage.ask(confirm)) change();
  };
  return {
    attributes: { checked: chosen, disabled, 'aria-busy': busy, onClick, onChange: change },
    failure,
    key,
  };
}

const nameOf = ({ node }: ElementProps): string =>
  String(member(node.attributes, 'value') ?? member(node.attributes, 'state') ?? '').slice(0, 100);

export function Switch(props: ElementProps) {
  const named = useFieldAttributes(nameOf(props));
  const { attributes, failure } = useToggle(props, (value) => ({
    chosen: value === true,
    next: value !== true,
  }));
  return (
    <>
      <input type="checkbox" role="switch" class="switch" {...named} {...attributes} />
      <FailureNote path={props.node.path} failure={failure} />
    </>
  );
}

export function Radio(props: ElementProps) {
  const { session } = useScope();
  const scopeId = useRadioScope();
  const named = useFieldAttributes(nameOf(props));
  const own = member(props.node.attributes, 'value');
  const { attributes, failure, key } = useToggle(props, (value) => ({ chosen: value === own, next: own }));
  return (
    <>
      {/* Radio buttons of one name move together by the arrow keys. */}
      <input
        type="radio"
        name={`${session.componentId}${scopeId}${key}`.slice(0, 500)}
        {...named}
        {...attributes}
      />
      <FailureNote path={props.node.path} failure={failure} />
    </>
  );
}

/** Modals have radio buttons of their own. */
function useRadioScope(): string {
  const { stage, session } = useScope();
  return String(stage.modals.value.findIndex((modal) => modal.session === session));
}

export function Checkbox(props: ElementProps) {
  const named = useFieldAttributes(nameOf(props));
  const own = member(props.node.attributes, 'value');
  const { attributes, failure } = useToggle(props, (value) => {
    if (!Array.isArray(value)) return { chosen: value === true, next: value !== true };
    const chosen = value.includes(own);
    return { chosen, next: chosen ? value.filter((other) => other !== own) : [...value, own] };
  });
  return (
    <>
      <input type="checkbox" {...named} {...attributes} />
      <FailureNote path={props.node.path} failure={failure} />
    </>
  );
}
