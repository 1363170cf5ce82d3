/**
 * What a method of the client returns: a promise of the answer's body, which also gives the whole
 * answer.
 */

/** A success of the API. */
export interface Answer<Body> {
  readonly status: number;
  /** Such as `etag` of an installation. */
  readonly headers: Headers;
  readonly body: Body;
}

/**
 * A promise of the body of an answer.
 *
 * @example
 * const installation = await annex.installations.get('hello', id);
 * const { body, headers } = await annex.installations.get('hello', id).answer();
 */
export class Reply<Body> implements Promise<Body> {
  readonly [Symbol.toStringTag] = 'Reply';
  readonly #answer: Promise<Answer<Body>>;

  constructor(answer: Promise<Answer<Body>>) {
    this.#answer = answer;
  }

  /** The body with status and headers. */
  answer(): Promise<Answer<Body>> {
    return this.#answer;
  }

  // biome-ignore lint/suspicious/noThenProperty: a reply is a promise of its body.
  then<Value = Body, Other = never>(
    onBody?: ((body: Body) => Value | PromiseLike<Value>) | null,
    onError?: ((error: unknown) => Other | PromiseLike<Other>) | null,
  ): Promise<Value | Other> {
    return this.#answer.then(({ body }) => body).then(onBody, onError);
  }

  catch<Other = never>(
    onError?: ((error: unknown) => Other | PromiseLike<Other>) | null,
  ): Promise<Body | Other> {
    return this.then(undefined, onError);
  }

  finally(onEnd?: (() => void) | null): Promise<Body> {
    return this.then().finally(onEnd);
  }
}
