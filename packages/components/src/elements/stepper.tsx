/** `stepper` and its steps. The component decides which step is active. */

import type { DrawnNode } from '../drawing/drawn-tree.ts';
import { textMember } from '../drawing/json.ts';
import { FailureNote } from './button.tsx';
import { Children } from './children.tsx';
import { type ElementProps, label, usePress, useProgress, useScope } from './scope.ts';

const idOf = (step: DrawnNode | undefined): string =>
  step === undefined ? '' : (textMember(step.attributes, 'id') ?? '');

export function Stepper({ node }: ElementProps) {
  const { stage } = useScope();
  const press = usePress(node);
  const { busy, failure } = useProgress(node.path);
  const steps = node.children.filter(({ type }) => type === 'step');
  const wanted = steps.findIndex((step) => idOf(step) === textMember(node.attributes, 'activeStep'));
  const active = Math.max(wanted, 0);
  const step = steps[active];
  // The action binds the id of the step as the client state `step`.
  const goTo = (index: number) => void press('onStepChange', { scope: { step: idOf(steps[index]) } });
  const advance = () => (active + 1 < steps.length ? goTo(active + 1) : void press('onComplete'));
  return (
    <div class="stepper">
      <nav aria-label={stage.words.steps}>
        <ol class="steps">
          {steps.map((one, index) => (
            <li key={idOf(one)}>
              <button
                type="button"
                class="button quiet step-name"
                aria-current={index === active ? 'step' : undefined}
                onClick={() => index !== active && goTo(index)}
              >
                <span class="step-number" aria-hidden="true">
                  {index + 1}
                </span>
                <span dir="auto">{label(one, 'title') ?? idOf(one).slice(0, 50)}</span>
              </button>
            </li>
          ))}
        </ol>
      </nav>
      {step !== undefined && (
        <div class="vstack" key={idOf(step)}>
          <Children nodes={step.children} />
          <div class="buttons end">
            {step.slots['next'] === undefined ? (
              <button type="button" class="button primary" aria-busy={busy} onClick={advance}>
                {active + 1 < steps.length ? stage.words.next : stage.words.done}
              </button>
            ) : (
              <Children nodes={step.slots['next']} />
            )}
          </div>
        </div>
      )}
      <FailureNote path={node.path} failure={failure} />
    </div>
  );
}
