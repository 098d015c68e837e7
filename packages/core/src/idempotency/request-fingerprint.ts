import { createHash } from 'node:crypto'
import { ArgumentError } from '../errors.ts'
import { isPlainObject } from '../option/show-value.ts'

/**
 * Returns the fingerprint of a request's content: of bytes and texts as they are, of other values as JSON, in which the
 * order of an object's members does not count.
 *
 * @throws an ArgumentError for a value that JSON cannot express
 */
export function fingerprintOf(body: unknown): string {
  const [kind, content] = contentOf(body)
  return createHash('sha256').update(kind).update(content).digest('base64url')
}

function contentOf(body: unknown): [kind: string, content: string | Uint8Array] {
  if (body instanceof Uint8Array) return ['bytes:', body]
  if (typeof body === 'string') return ['bytes:', body]
  try {
    return ['json:', JSON.stringify(body, inOrder) ?? '']
  } catch (cause) {
    throw new ArgumentError('The body of an idempotent request cannot be written as JSON.', {
      cause,
      impact: 'Nothing was done.',
      hint: 'Pass the text or the bytes of the body instead.',
    })
  }
}

function inOrder(_: string, value: unknown): unknown {
  if (!isPlainObject(value)) return value
  return Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)))
}
