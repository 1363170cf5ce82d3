/** The part of the service's OpenAPI description that the generator of the client reads. */

/** A JSON Schema. */
export interface Rules {
  readonly title?: string;
  readonly description?: string;
  readonly type?: string;
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Rules[];
  readonly items?: Rules;
  readonly properties?: Readonly<Record<string, Rules>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Rules;
}

export interface Body {
  readonly required?: boolean;
  readonly content?: Readonly<Record<string, { readonly schema: Rules }>>;
}

export interface Parameter {
  readonly in: string;
  readonly name: string;
  readonly required?: boolean;
  readonly schema: Rules;
  readonly description?: string;
}

export interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary?: string;
  readonly description?: string;
  /** Where in the body the id is by which the service recognizes a repetition. */
  readonly 'x-idempotent-by'?: readonly string[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: Body;
  readonly responses: Readonly<Record<string, Body>>;
}

export interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}
