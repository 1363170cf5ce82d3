/**
 * Registers the platform objects of every isolate that can be cloned: Blob, File and DOMException.
 */

import { DOMException } from '../dom-exception.ts';
import {
  Blob,
  blobBytes,
  blobOver,
  blobType,
  File,
  fileLastModified,
  fileName,
  fileOver,
  isBlob,
  isFile,
} from '../fetch/blob.ts';
import { uncurryGetter } from '../primordials.ts';
import { registerSerializable } from './structured-clone-registry.ts';

const exceptionName = uncurryGetter<string>(DOMException.prototype, 'name');
const exceptionMessage = uncurryGetter<string>(DOMException.prototype, 'message');

// The bytes of a blob never change, so a copy shares them.
registerSerializable(Blob.prototype, {
  is: isBlob,
  clone: (blob) => blobOver(blobBytes(blob), blobType(blob)),
});

registerSerializable(File.prototype, {
  is: isFile,
  clone: (file) => fileOver(blobBytes(file), fileName(file), blobType(file), fileLastModified(file)),
});

registerSerializable(DOMException.prototype, {
  is: isDOMException,
  clone(exception) {
    const copy: { stack?: unknown } & DOMException = new DOMException(
      exceptionMessage(exception),
      exceptionName(exception),
    );
    const { stack } = exception as { stack?: unknown };
    if (typeof stack === 'string') copy.stack = stack;
    return copy;
  },
});

function isDOMException(value: object): value is DOMException {
  try {
    exceptionName(value);
    return true;
  } catch {
    return false;
  }
}
