/** `modal`, in a window above the page or, where the component itself is one, in its place. */
import { useId } from 'preact/hooks';
import { Icon } from '../../../ui/src/icons.tsx';
import { textMember } from '../drawing/json.ts';
import { givenReturnValue } from '../session/stage.ts';
import { Children } from './children.tsx';
import { type ElementProps, label, useScope } from './scope.ts';
import { Remark } from './text.tsx';

export function Modal({ node }: ElementProps) {
  const { stage, session } = useScope();
  const titleId = useId();
  const { subtitle = [], submit = [] } = node.slots;
  const title = label(node, 'title');
  const isWindow = session !== stage.root;
  return (
    <section class="modal" aria-labelledby={title === undefined ? undefined : titleId}>
      <div class="modal-head">
        <div>
          {title !== undefined && (
            <h2 class="window-title" id={titleId} dir="auto">
              {title}
            </h2>
          )}
          {subtitle.length > 0 && <Remark nodes={subtitle} />}
        </div>
        {isWindow && (
          <button
            type="button"
            class="button quiet"
            aria-label={stage.words.close}
            onClick={() => stage.closeModal(session, givenReturnValue(session))}
          >
            <Icon name="close" />
          </button>
        )}
      </div>
      <div class="modal-body vstack">
        <Children nodes={node.children} />
      </div>
      {submit.length > 0 && (
        <div class="buttons end">
          <Children nodes={submit} />
        </div>
      )}
    </section>
  );
}

const SIZES: ReadonlySet<string> = new Set(['medium', 'xlarge', 'fullscreen']);

/** Size of the window of a modal. */
export const modalSize = (attributes: ElementProps['node']['attributes'] | undefined): string => {
  const size = attributes === undefined ? 'medium' : (textMember(attributes, 'size') ?? 'medium');
  return SIZES.has(size) ? size : 'medium';
};
