/** Resolves `deduplicate: IN_TRANSACTION` of a configuration. */

import { nearest, showValue } from '@waybill/core/option'
import type { ConfigCode } from '../api/config-code.ts'

/** The word of the specification for marks in the transaction of the effect. */
const inTransaction = 'IN_TRANSACTION'

type Code = Pick<ConfigCode, 'idempotencyStores' | 'inboxes'>

/**
 * Replaces the word by the option it means. Values that are not text stay unchanged. Any other word is reported and
 * removed, so that the rules do not report it again.
 */
export function withoutWord(given: unknown, binding: string, code: Code, report: (problem: string) => void): unknown {
  if (typeof given !== 'string') return given
  if (given === inTransaction) {
    const inbox = inboxNameFor(binding, code)
    if (inbox !== undefined) return { inbox }
    report(
      `${inTransaction} needs an inbox named ${binding} or default: add ` +
        `inboxes: { default: createInbox(database) } to the code of the configuration; ` +
        `known are ${Object.keys(code.inboxes ?? {}).join(', ') || 'none'}`,
    )
    return undefined
  }
  const meant = meantBy(given, code)
  report(
    `must be ${inTransaction}, or an object that names a store or an inbox, got ${showValue(given)}` +
      (meant === undefined ? '' : `; did you mean ${meant}?`),
  )
  return undefined
}

/** Returns the name of the binding's inbox: its own name, or `default`. */
function inboxNameFor(binding: string, { inboxes = {} }: Code): string | undefined {
  return [binding, 'default'].find((name) => Object.hasOwn(inboxes, name))
}

function meantBy(word: string, { idempotencyStores = {}, inboxes = {} }: Code): string | undefined {
  if (Object.hasOwn(idempotencyStores, word)) return `{ store: ${word} }`
  if (Object.hasOwn(inboxes, word)) return `{ inbox: ${word} }`
  return nearest(word, [inTransaction])
}
