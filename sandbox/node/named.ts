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
