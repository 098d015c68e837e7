/** What `deduplicate` means where a configuration gives it as one word. */

import { nearest, showValue } from '@waybill/core/option'
import type { ConfigCode } from '../api/config-code.ts'

/** The word of the specification for marks in the transaction of the effect (C-78). */
const inTransaction = 'IN_TRANSACTION'

type Code = Pick<ConfigCode, 'idempotencyStores' | 'inboxes'>

/**
 * The option that the word stands for; what is no text stays as it is. Another word is reported, and absent then, so that
 * the rules, which know no word at all, do not report it once more.
 */
export function withoutWord(given: unknown, binding: string, code: Code, report: (problem: string) => void): unknown {
  if (typeof given !== 'string') return given
  if (given === inTransaction) {
    const inbox = inboxNameFor(binding, code)
    if (inbox !== undefined) return { inbox }
    report(
      `${inTransaction} needs an inbox called ${binding} or default: give the code of the configuration ` +
        `inboxes: { default: createInbox(database) }; known are ${Object.keys(code.inboxes ?? {}).join(', ') || 'none'}`,
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

/** The inbox called as the binding, or the one that is everybody's. */
function inboxNameFor(binding: string, { inboxes = {} }: Code): string | undefined {
  return [binding, 'default'].find((name) => Object.hasOwn(inboxes, name))
}

function meantBy(word: string, { idempotencyStores = {}, inboxes = {} }: Code): string | undefined {
  if (Object.hasOwn(idempotencyStores, word)) return `{ store: ${word} }`
  if (Object.hasOwn(inboxes, word)) return `{ inbox: ${word} }`
  return nearest(word, [inTransaction])
}
