/**
 * The body of a publish as `multipart/form-data`: from an object with its parts, or as it was
 * given.
 */

/** A list is a part for each item, an object is JSON. The name of a `File` is its path. */
export function formOf(parts: FormData | object): FormData {
  if (parts instanceof FormData) return parts;
  const form = new FormData();
  for (const [name, value] of Object.entries(parts))
    for (const part of Array.isArray(value) ? value : [value]) append(form, name, part);
  return form;
}

function append(form: FormData, name: string, part: unknown): void {
  if (part === undefined) return;
  if (part instanceof Blob) {
    const { name: file } = part as Partial<File>;
    if (file === undefined) form.append(name, part);
    else form.append(name, part, file);
  } else form.append(name, typeof part === 'object' ? JSON.stringify(part) : String(part));
}
