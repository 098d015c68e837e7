import { isPlainObject } from '@waybill/core/option'
import { AdminRequestError } from '../problem/admin-errors.ts'

const maxDepth = 20
const maxKeys = 1_000
/** Names that reach the prototype of an object instead of the object. */
const forbiddenKeys: readonly string[] = ['__proto__', 'constructor', 'prototype']

/**
 * Parses the body of a request.
 * @throws AdminRequestError if it is not UTF-8 or JSON, too deep, or has too many or forbidden keys
 */
export function readJson(bytes: Uint8Array): unknown {
  const text = textOf(bytes)
  requireShallow(text)
  const value = parsed(text)
  let keys = 0
  const visit = (one: unknown): void => {
    if (Array.isArray(one)) return one.forEach(visit)
    if (!isPlainObject(one)) return
    for (const [key, inner] of Object.entries(one)) {
      if (forbiddenKeys.includes(key))
        throw new AdminRequestError(`The body has the key "${key}", which is not allowed.`)
      if (++keys > maxKeys) throw new AdminRequestError(`The body has more than ${maxKeys} keys.`)
      visit(inner)
    }
  }
  visit(value)
  return value
}

function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new AdminRequestError('The body is not UTF-8.')
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new AdminRequestError('The body is not JSON.')
  }
}

/** Counts brackets outside of texts before anything is built from them. */
function requireShallow(text: string): void {
  let depth = 0
  let isText = false
  for (let at = 0; at < text.length; at++) {
    const one = text[at]
    if (isText) {
      if (one === '\\') at++
      else if (one === '"') isText = false
    } else if (one === '"') isText = true
    else if (one === '{' || one === '[') {
      if (++depth > maxDepth) throw new AdminRequestError(`The body is nested deeper than ${maxDepth} levels.`)
    } else if (one === '}' || one === ']') depth--
  }
}
