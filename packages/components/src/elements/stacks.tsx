/** Elements that hold others: `block`, `configuration`, stacks, `box`, `card`, and `divider`. */
import { useId } from 'preact/hooks';
import { Icon } from '../../../ui/src/icons.tsx';
import { isObject, listMember, member, numberMember, textMember } from '../drawing/json.ts';
import { LIMITS } from '../limits.ts';
import { FailureNote } from './button.tsx';
import { Children } from './children.tsx';
import { type ElementProps, label, usePress, useProgress, useScope } from './scope.ts';
import { Remark } from './text.tsx';

const GROW_MAX = 1_000;

const ALIGNS: ReadonlySet<string> = new Set(['start', 'center', 'end']);
const alignOf = ({ node }: ElementProps): string => {
  const align = textMember(node.attributes, 'align') ?? '';
  return ALIGNS.has(align) ? ` align-${align}` : '';
};

export const Block = ({ node }: ElementProps) => (
  <div class="block">
    <Controls node={node} />
    <Children nodes={node.children} />
  </div>
);

function Controls({ node }: ElementProps) {
  const { stage } = useScope();
  const controls = (listMember(node.attributes, 'controls') ?? []).filter(isObject).slice(0, LIMITS.controls);
  if (controls.length === 0) return null;
  return (
    <div class="controls" role="toolbar" aria-label={stage.words.menu}>
      {controls.map((attributes, index) => {
        const path = `${node.path}.controls/${index}`;
        return <Control key={path} node={{ ...node, attributes, path }} />;
      })}
    </div>
  );
}

function Control({ node }: ElementProps) {
  const press = usePress(node);
  const { busy, failure } = useProgress(node.path);
  return (
    <>
      <button type="button" class="button quiet" aria-busy={busy} onClick={() => void press('onPress')}>
        <Icon name={textMember(node.attributes, 'icon')} />
        <span dir="auto">{label(node, 'label')}</span>
      </button>
      <FailureNote path={node.path} failure={failure} />
    </>
  );
}

export const VStack = (props: ElementProps) => (
  <div class={`vstack${alignOf(props)}`}>
    <Children nodes={props.node.children} />
  </div>
);

export const HStack = (props: ElementProps) => (
  <div class={`hstack${alignOf(props)}`}>
    <Children nodes={props.node.children} />
  </div>
);

export function Box({ node }: ElementProps) {
  const grow = Math.min(Math.max(numberMember(node.attributes, 'grow') ?? 0, 0), GROW_MAX);
  return (
    <div class="box" style={{ flexGrow: grow }}>
      <Children nodes={node.children} />
    </div>
  );
}

const SIZES: ReadonlySet<string> = new Set(['small', 'medium', 'large']);

export function Divider({ node }: ElementProps) {
  const size = textMember(node.attributes, 'size') ?? 'medium';
  return <hr class={`divider size-${SIZES.has(size) ? size : 'medium'}`} />;
}

export function Card({ node }: ElementProps) {
  const titleId = useId();
  const { failure } = useProgress(node.path);
  const { hint = [], icon = [], buttons = [] } = node.slots;
  const pressable = isObject(member(node.attributes, 'onPress'));
  const isNamed = pressable || label(node, 'title') !== undefined;
  return (
    <section class={pressable ? 'card pressable' : 'card'} aria-labelledby={isNamed ? titleId : undefined}>
      <div class="card-head">
        <div class="card-icon">
          <Children nodes={icon} />
          <Icon name={textMember(node.attributes, 'icon')} />
        </div>
        <div class="card-words">
          <CardTitle node={node} id={titleId} />
          {hint.length > 0 && <Remark nodes={hint} />}
        </div>
        {buttons.length > 0 && (
          <div class="buttons">
            <Children nodes={buttons} />
          </div>
        )}
      </div>
      <FailureNote path={node.path} failure={failure} />
      {node.children.length > 0 && (
        <div class="vstack">
          <Children nodes={node.children} />
        </div>
      )}
    </section>
  );
}

/** The title of a card that can be pressed is a button that covers the card. */
function CardTitle({ node, id }: ElementProps & { id: string }) {
  const { stage } = useScope();
  const press = usePress(node);
  const { busy } = useProgress(node.path);
  const title = label(node, 'title');
  if (!isObject(member(node.attributes, 'onPress')))
    return title === undefined ? null : (
      <div class="card-title" id={id} dir="auto">
        {title}
      </div>
    );
  return (
    <button
      type="button"
      id={id}
      class={title === undefined ? 'card-title cover unnamed' : 'card-title cover'}
      dir="auto"
      aria-busy={busy}
      onClick={() => void press('onPress')}
    >
      {title ?? stage.words.open}
    </button>
  );
}
