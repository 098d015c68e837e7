/** What `deduplicate` means where a configuration gives it as one word. */

import { nearest, showValue } from '@waybill/core/option'
import type { ConfigCode } from './config-code.ts'

/** The word of the specification for marks in the transaction of the effect (C-78). */
const inTransaction = 'IN_TRANSACTION'

type Code = Pick<ConfigCode, 'idempotencyStores' | 'inboxes'>

/**
 * The option that the word stands for; what is no text stays as it is. Another word is reported, and absent then, so that
 * the rules, which know no word at all, do not report it once more.
 */
export function withoutWord(given: unknown, binding: string, code: Code, report: (problem: string) => void): unknown {
  if (typeof given !== 'string') return given
  if (given === inTransaction) return { inbox: inboxNameFor(binding, code) }
  const meant = meantBy(given, code)
  report(
    `must be ${inTransaction}, or an object that names a store or an inbox, got ${showValue(given)}` +
      (meant === undefined ? '' : `; did you mean ${meant}?`),
  )
  return undefined
}

/** The inbox called as the binding, or the one that is everybody's. */
function inboxNameFor(binding: string, { inboxes = {} }: Code): string {
  return Object.hasOwn(inboxes, binding) ? binding : 'default'
}

function meantBy(word: string, { idempotencyStores = {}, inboxes = {} }: Code): string | undefined {
  if (Object.hasOwn(idempotencyStores, word)) return `{ store: ${word} }`
  if (Object.hasOwn(inboxes, word)) return `{ inbox: ${word} }`
  return nearest(word, [inTransaction])
}
