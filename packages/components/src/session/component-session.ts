/**
 * One component that is shown: keeps its state and props between two drawings, as the contract
 * wants of a product (docs/contract/components.md#state), and runs its actions one after another.
 * It draws nothing; the elements follow its signals.
 *
 * An action that is dispatched while another one runs waits. It is sent with the state that the one
 * before it has left. A failure is kept at the element whose action failed, with a way to repeat
 * it.
 */
import { batch, signal } from '@preact/signals';
import { type DrawnTree, readTree } from '../drawing/drawn-tree.ts';
import { isObject, member, objectMember, textMember } from '../drawing/json.ts';
import { LIMITS } from '../limits.ts';
import type { Action, JsonObject, RenderAnswer, RenderRequest, Transport } from '../transport.ts';
import type { Words } from '../words.ts';
import type { AnswerCache } from './answer-cache.ts';
import { ClientState, type Entered } from './client-state.ts';
import { type SliceClock, Slices } from './slices.ts';

/** Why an action, or the first drawing, did not succeed. */
export interface Failure {
  readonly message: string;
  readonly code: string;
  /** Absent where it makes no sense to repeat it. */
  readonly retry?: () => void;
}

export interface Drawn {
  readonly componentId: string;
  readonly nodes: number;
  readonly slices: number;
  readonly cut: boolean;
}

export interface SessionParts {
  readonly componentId: string;
  readonly props: JsonObject;
  readonly context: JsonObject | undefined;
  readonly transport: Transport;
  readonly cache: AnswerCache;
  readonly clock: SliceClock;
  readonly words: Words;
  readonly onComplete: (returnValue: unknown) => void;
  readonly onDrawn: (drawn: Drawn) => void;
  readonly onFailure: (failure: Failure) => void;
}

interface Task {
  /** Path of the element that dispatched it; empty for the component itself. */
  readonly path: string;
  readonly action?: Action;
  /** What the user had entered when it was dispatched. */
  readonly entered: Entered;
  /** Dispatches it anew, with what the user has entered by then. */
  readonly again: () => void;
  /** Whether a drawing from the cache will not do. */
  readonly isFresh?: boolean;
}

/** Path of what concerns the component as a whole. */
const WHOLE = '';

export class ComponentSession {
  readonly tree = signal<DrawnTree | undefined>(undefined);
  /** Paths of elements whose actions run or wait. */
  readonly busy = signal<ReadonlySet<string>>(new Set());
  /** Path of an element → its failure. */
  readonly failures = signal<ReadonlyMap<string, Failure>>(new Map());
  readonly client = new ClientState();
  readonly slices: Slices;
  readonly componentId: string;
  /** Whether the last drawing may show its frames the claims of the visitor. */
  seesVisitor = false;
  readonly #parts: SessionParts;
  readonly #gone = new AbortController();
  readonly #waiting: Task[] = [];
  #running: Task | undefined;
  #props: JsonObject;
  #state: JsonObject | undefined;

  constructor(parts: SessionParts) {
    this.#parts = parts;
    this.#props = parts.props;
    this.componentId = parts.componentId;
    this.slices = new Slices(parts.clock);
  }

  get words(): Words {
    return this.#parts.words;
  }

  /** Height of its last drawing in this page, in pixels; undefined where there was none. */
  get lastHeight(): number | undefined {
    return this.#parts.cache.heights.get(this.componentId);
  }

  /** Draws it for the first time. */
  start(): void {
    this.#redraw(false);
  }

  /**
   * Has the component carry out an action, whose bindings are resolved.
   *
   * @param again repeats it; by default the same action
   */
  dispatch(path: string, action: Action, again = () => this.dispatch(path, action)): void {
    if (this.#waiting.length >= LIMITS.waitingActions)
      this.fail(path, { message: this.words.tooMany, code: 'TOO_MANY_ACTIONS' });
    else this.#enqueue({ path, action, entered: this.client.entered, again });
  }

  /** Draws it again with the state and props that it has, after the actions that wait. */
  refresh(): void {
    this.#redraw(true);
  }

  /** Draws it with other props, after the actions that wait. */
  replaceProps(props: JsonObject): void {
    this.#props = props;
    this.#redraw(false);
  }

  #redraw(isFresh: boolean): void {
    this.#enqueue({
      path: WHOLE,
      entered: this.client.entered,
      again: () => this.#redraw(isFresh),
      isFresh,
    });
  }

  fail(path: string, failure: Failure): void {
    this.failures.value = new Map([...this.failures.peek(), [path, failure]]);
    this.#parts.onFailure(failure);
  }

  dismiss(path: string): void {
    if (!this.failures.peek().has(path)) return;
    this.failures.value = new Map([...this.failures.peek()].filter(([at]) => at !== path));
  }

  /** Ends it: no answer is waited for any longer. */
  end(): void {
    this.#waiting.length = 0;
    this.#gone.abort();
  }

  #enqueue(task: Task): void {
    if (this.#gone.signal.aborted) return;
    this.dismiss(task.path);
    this.#waiting.push(task);
    void this.#run();
  }

  async #run(): Promise<void> {
    if (this.#running !== undefined) return;
    for (let task = this.#waiting.shift(); task !== undefined; task = this.#waiting.shift()) {
      this.#running = task;
      this.#showBusy();
      await this.#carryOut(task);
    }
    this.#running = undefined;
    this.#showBusy();
  }

  #showBusy(): void {
    const tasks = this.#running === undefined ? this.#waiting : [this.#running, ...this.#waiting];
    this.busy.value = new Set(tasks.map(({ path }) => path));
  }

  async #carryOut(task: Task): Promise<void> {
    const { cache, transport } = this.#parts;
    const sent = this.client.sentFor(task.entered);
    const request = this.#request(task, sent);
    try {
      const answer = await cache.ask(request, transport, this.#gone.signal, task.isFresh);
      if (!this.#gone.signal.aborted) this.#take(answer, sent, task);
    } catch (cause) {
      if (this.#gone.signal.aborted) return;
      this.#failTask(task, { message: this.words.unreachable, code: codeOf(cause) });
    }
  }

  #request({ action }: Task, { values }: Entered): RenderRequest {
    const { componentId, context } = this.#parts;
    return {
      componentId,
      props: this.#props,
      ...(this.#state !== undefined && { state: { ...this.#state, ...values } }),
      ...(context !== undefined && { context }),
      ...(action !== undefined && { action }),
    };
  }

  /** Attack: an answer of any form. Each member is checked before it is used. */
  #take({ status, body }: RenderAnswer, sent: Entered, task: Task): void {
    const rendering = status === 200 && isObject(body) ? body : undefined;
    if (rendering === undefined) this.#failTask(task, failureOf(body, this.words));
    else if (textMember(rendering, 'type') === 'complete') {
      this.end();
      this.tree.value = undefined;
      this.#parts.onComplete(member(rendering, 'returnValue'));
    } else {
      const tree = readTree(member(rendering, 'element'));
      if (tree === undefined)
        this.#failTask(task, { message: this.words.invalidAnswer, code: 'ANSWER_INVALID' });
      else this.#draw(tree, rendering, sent);
    }
  }

  #draw(tree: DrawnTree, rendering: JsonObject, sent: Entered): void {
    const state = objectMember(rendering, 'state') ?? {};
    this.seesVisitor = member(rendering, 'canAccessVisitorClaims') === true;
    this.#state = state;
    this.#props = objectMember(rendering, 'props') ?? {};
    const { nodes, cut } = tree;
    let revealed: Promise<number> = Promise.resolve(0);
    batch(() => {
      this.client.adopt(tree, state, sent);
      revealed = this.slices.reveal(tree.cost);
      this.tree.value = tree;
    });
    void revealed.then(async (slices) => {
      // The page learns of it when it can see it.
      await this.#parts.clock.turn();
      if (!this.#gone.signal.aborted)
        this.#parts.onDrawn({ componentId: this.componentId, nodes, slices, cut });
    });
  }

  #failTask(task: Task, failure: Omit<Failure, 'retry'>): void {
    this.fail(task.path, { ...failure, retry: task.again });
  }
}

function failureOf(body: unknown, words: Words): Omit<Failure, 'retry'> {
  const error = isObject(body) ? objectMember(body, 'error') : undefined;
  const message = error && textMember(error, 'message')?.slice(0, LIMITS.labelChars);
  return {
    message: message || words.failed,
    code: (error && textMember(error, 'code')?.slice(0, LIMITS.labelChars)) ?? 'ANSWER_INVALID',
  };
}

const codeOf = (cause: unknown): string =>
  cause instanceof Error && cause.name === 'TimeoutError' ? 'REQUEST_TIMED_OUT' : 'NETWORK_FAILED';
