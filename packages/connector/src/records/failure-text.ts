/**
 * What a dead letter says of whatever was thrown: bounded, and fit for logs and consoles. Nothing here throws, since
 * handlers throw strings, proxies and objects whose getters throw. Secrets in an error's text cannot be told from other
 * text and are written as they are.
 */

import { Buffer } from 'node:buffer'
import { describeThrown } from '@waybill/core'

/** S0-132. */
const maxStackBytes = 2_048
const maxMessageBytes = 1_024
const maxClassBytes = 256

/** Texts of which every character is a byte and stays as it is. Nearly all are, and where every record fails they cost. */
const plainLine = /^[\x20-\x7e]*$/
const plainLines = /^[\x20-\x7e\n]*$/

/** The name of the error's class; of what is no error, what it is instead. */
export function exceptionClassOf(error: unknown): string {
  const name = textAt(error, 'name')
  const called = name === undefined || name === 'Error' ? (constructorName(error) ?? name) : name
  return oneLine(called ?? (error === null ? 'null' : typeof error), maxClassBytes)
}

/** What the error says, on one line. */
export function exceptionMessageOf(error: unknown): string {
  return oneLine(textAt(error, 'message') ?? describeThrown(error), maxMessageBytes)
}

/** Where it was thrown; undefined for what has no stack. */
export function exceptionStackOf(error: unknown): string | undefined {
  const stack = textAt(error, 'stack')
  if (stack === undefined) return undefined
  // A stack begins with the message, and a long one would leave no room for a single frame.
  const message = textAt(error, 'message')
  const told = message === undefined ? undefined : exceptionMessageOf(error)
  const rest = message === undefined || message === told ? stack : stack.replace(message, () => told as string)
  const head = rest.slice(0, maxStackBytes * 2)
  if (plainLines.test(head)) return head.slice(0, maxStackBytes)
  return cutText(head.split('\n').map(withoutControls).join('\n'), maxStackBytes)
}

/** The line of the program that threw: the first that is neither of Node nor of a package. Undefined where none is known. */
export function userFrameOf(error: unknown): string | undefined {
  const frames =
    exceptionStackOf(error)
      ?.split('\n')
      .filter((line) => /^\s+at /.test(line)) ?? []
  return frames.find((line) => !/[( ]node:|[\\/]node_modules[\\/]/.test(line))?.replace(/^\s+at /, '')
}

/** As much of a text as fits into so many bytes of UTF-8, cut between two characters. */
export function cutText(text: string, maxBytes: number): string {
  // No character takes less than a byte. A pair cut in two here becomes three bytes, which cannot fit any more.
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

/** Control characters split log lines and steer terminals. */
function withoutControls(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ')
}

function constructorName(error: unknown): string | undefined {
  try {
    return textAt((error as { constructor?: unknown } | null | undefined)?.constructor, 'name')
  } catch {
    return undefined // A getter or proxy that throws: whatever it is, it has no name.
  }
}

function textAt(value: unknown, property: string): string | undefined {
  try {
    if ((typeof value !== 'object' || value === null) && typeof value !== 'function') return undefined
    const text = (value as Record<string, unknown>)[property]
    return typeof text === 'string' && text !== '' ? text : undefined
  } catch {
    return undefined // A getter or proxy that throws: there is no text to be had.
  }
}
