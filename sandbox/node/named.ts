/**
 * Names of functions and classes that code sees: in `name`, in messages and in inspected values.
 *
 * The bundler renames a declaration whose name another file has too, and shortens the names of
 * large scripts. So a module gives its members their names by the keys of its default export.
 */
export function named<T extends object>(members: T): T {
  for (const [name, member] of Object.entries(members)) {
    if (typeof member === 'function' && member.name !== name) {
      Object.defineProperty(member, 'name', { value: name, configurable: true });
    }
  }
  return members;
}

export interface OldClass<Made> {
  (...parts: unknown[]): Made;
  new (...parts: unknown[]): Made;
  readonly prototype: Made;
}

/**
 * A class of the kind that came before `class`: it can be called without `new`, and extended by
 * functions.
 *
 * @param begin what the constructor does, with the object as `this`
 */
export function oldClass<Made extends object>(
  name: string,
  Base: Function,
  methods: object,
  begin: (this: Made, ...parts: never[]) => void,
): OldClass<Made> {
  const Class = function (this: unknown, ...parts: never[]): Made | undefined {
    if (!(this instanceof Class)) return new Class(...parts);
    begin.apply(this as Made, parts);
    return undefined;
  } as unknown as OldClass<Made> & Function;
  const prototype = Object.create(Base.prototype, Object.getOwnPropertyDescriptors(methods));
  Object.defineProperty(prototype, 'constructor', { value: Class, writable: true, configurable: true });
  Object.defineProperties(Class, { name: { value: name }, prototype: { value: prototype } });
  return Object.setPrototypeOf(Class, Base);
}
