import { isUtf8 } from 'node:buffer'

/**
 * Bytes as text, or undefined when they are not UTF-8. Node's own decoding puts U+FFFD in place of what it cannot read,
 * and two different ids would become the same one. Only a text that holds one is checked: hardly any does, and headers
 * are read for every record.
 */
export function utf8Text(bytes: Uint8Array): string | undefined {
  const buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const text = buffer.toString('utf8')
  return text.includes('\uFFFD') && !isUtf8(buffer) ? undefined : text
}
