import { createComponent, createIntegration } from '@annex/sdk';

type Props = Record<string, never>;
type State = { count: number };

/** A block with state: a press dispatches an action, which returns the next state to draw. */
const counter = createComponent<Props, State>({
  // The `id` of the block in the manifest.
  componentId: 'counter',

  initialState: () => ({ count: 0 }),

  async action(element, action) {
    switch (action.action) {
      case 'increment':
        return { state: { count: element.state.count + 1 } };
      default:
        // No change: the component is drawn as it was.
        return {};
    }
  },

  async render(element) {
    return (
      <block>
        <button label={`Pressed ${element.state.count} times`} onPress={{ action: 'increment' }} />
      </block>
    );
  },
});

export default createIntegration({ components: [counter] });
