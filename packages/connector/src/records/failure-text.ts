/**
 * Describes thrown values for dead letters and logs: bounded, and without control characters. Nothing here throws, even
 * for strings, proxies and objects with throwing getters. Only the user can recognize a secret in a text: `redactErrors`
 * of a binding sees each text whole, before it is cut.
 */

import { Buffer } from 'node:buffer'
import { describeThrown } from '@waybill/core'

/** Removes secrets from a text. */
export type Redact = (text: string) => string

const unredacted: Redact = (text) => text

/** Replaces a text that could not be redacted: it must not be written as it is. */
const redactionFailed = '(removed: redactErrors failed)'

/** Returns a function that never throws and never returns a text that `redact` failed on. */
export function safeRedact(redact: Redact | undefined): Redact {
  if (redact === undefined) return unredacted
  return (text) => {
    try {
      const redacted: unknown = redact(text)
      return typeof redacted === 'string' ? redacted : redactionFailed
    } catch {
      return redactionFailed // Its error may contain the text.
    }
  }
}

const maxStackBytes = 2_048
const maxMessageBytes = 1_024
const maxClassBytes = 256

/** Fast path for printable ASCII, which needs no change: nearly all texts, on the hot path if every record fails. */
const plainLine = /^[\x20-\x7e]*$/
const plainLines = /^[\x20-\x7e\n]*$/

/** Returns the class name of an error, or the type of any other thrown value. */
export function exceptionClassOf(error: unknown): string {
  const name = textAt(error, 'name')
  const called = name === undefined || name === 'Error' ? (constructorName(error) ?? name) : name
  return oneLine(called ?? (error === null ? 'null' : typeof error), maxClassBytes)
}

/** Returns the error message on one line. */
export function exceptionMessageOf(error: unknown, redact: Redact = unredacted): string {
  return oneLine(redact(textAt(error, 'message') ?? describeThrown(error)), maxMessageBytes)
}

/** Returns the stack trace; undefined if there is none. */
export function exceptionStackOf(error: unknown, redact: Redact = unredacted): string | undefined {
  const stack = textAt(error, 'stack')
  if (stack === undefined) return undefined
  // A stack begins with the message, and a long message would leave no room for a frame.
  const message = textAt(error, 'message')
  const short = message === undefined ? undefined : exceptionMessageOf(error, redact)
  const rest = redact(
    message === undefined || message === short ? stack : stack.replace(message, () => short as string),
  )
  const head = rest.slice(0, maxStackBytes * 2)
  if (plainLines.test(head)) return head.slice(0, maxStackBytes)
  return cutText(head.split('\n').map(withoutControls).join('\n'), maxStackBytes)
}

/** Returns the first stack frame outside of Node and node_modules; undefined if there is none. */
export function userFrameOf(error: unknown, redact: Redact = unredacted): string | undefined {
  const frames =
    exceptionStackOf(error, redact)
      ?.split('\n')
      .filter((line) => /^\s+at /.test(line)) ?? []
  return frames.find((line) => !/[( ]node:|[\\/]node_modules[\\/]/.test(line))?.replace(/^\s+at /, '')
}

/** Truncates a text to a number of UTF-8 bytes, between two characters. */
export function cutText(text: string, maxBytes: number): string {
  // A character takes at least one byte. A surrogate pair split here becomes three bytes, which exceed the limit.
  const bytes = Buffer.from(text.length > maxBytes ? text.slice(0, maxBytes + 1) : text)
  if (bytes.length <= maxBytes) return bytes.toString()
  let end = maxBytes
  while (((bytes[end] as number) & 0xc0) === 0x80) end--
  return bytes.toString('utf8', 0, end)
}

function oneLine(text: string, maxBytes: number): string {
  const head = text.slice(0, maxBytes * 2)
  if (plainLine.test(head)) return head.slice(0, maxBytes)
  return cutText(withoutControls(head), maxBytes)
}

/** Replaces control characters, which would split log lines and control terminals. */
function withoutControls(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ')
}

function constructorName(error: unknown): string | undefined {
  try {
    return textAt((error as { constructor?: unknown } | null | undefined)?.constructor, 'name')
  } catch {
    return undefined // A throwing getter or proxy has no name.
  }
}

function textAt(value: unknown, property: string): string | undefined {
  try {
    if ((typeof value !== 'object' || value === null) && typeof value !== 'function') return undefined
    const text = (value as Record<string, unknown>)[property]
    return typeof text === 'string' && text !== '' ? text : undefined
  } catch {
    return undefined // A throwing getter or proxy has no text.
  }
}
