import type { ErrorContext } from '../errors.ts'
import { nothingWritten, recordUnchanged } from './error-context.ts'
import { ParseError } from './event-errors.ts'
import { utf8Text } from './utf8.ts'

/**
 * Parses a payload that is to be written. A key `__proto__` is refused, because the first careless merge of such an
 * object changes the prototype of another.
 *
 * @throws {@link ParseError}, which tells the position but none of the text: it ends up in logs and headers, and who may
 * read those may not always read payloads.
 */
export function parseJson(text: string, subject: string): unknown {
  return parse(text, subject, nothingWritten)
}

/** {@link parseJson} for the bytes of a record. A byte order mark is passed over. */
export function parseJsonBytes(bytes: Uint8Array, subject: string): unknown {
  const text = utf8Text(bytes)
  if (text === undefined) throw new ParseError(`${subject} is not UTF-8.`, recordUnchanged)
  return parse(text.startsWith('\uFEFF') ? text.slice(1) : text, subject, recordUnchanged)
}

/** The part of {@link parseJson} that comes after parsing: `value` is what `text` was parsed to. */
export function refuseProtoKey(value: unknown, text: string, subject: string, context: ErrorContext): void {
  if (mayNameProto(text) && holdsProtoKey(value)) throw new ParseError(`${subject} holds a key "__proto__".`, context)
}

function parse(text: string, subject: string, context: ErrorContext): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (thrown) {
    const position = /at position \d+/.exec((thrown as Error).message)?.[0]
    const where = position === undefined ? '' : `: it breaks off ${position}`
    throw new ParseError(`${subject} is not JSON${where}.`, context)
  }
  refuseProtoKey(value, text, subject, context)
  return value
}

/** False for nearly every text, at the cost of a search; a key can also be spelled with escapes for its letters. */
function mayNameProto(text: string): boolean {
  return text.includes('__proto__') || (text.includes('\\u00') && /\\u00(?:5f|6f|7[024])/i.test(text))
}

function holdsProtoKey(root: unknown): boolean {
  // A list instead of recursion: nesting is as deep as a sender likes.
  const open: unknown[] = [root]
  while (open.length > 0) {
    const value = open.pop()
    if (typeof value !== 'object' || value === null) continue
    if (Object.hasOwn(value, '__proto__')) return true
    for (const inner of Object.values(value)) open.push(inner)
  }
  return false
}
