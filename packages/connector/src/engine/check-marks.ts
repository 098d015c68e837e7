/** Checks the stores of deduplicating bindings before their start: without the table, every record would fail. */

import type { IdempotencyStore, Inbox } from '@waybill/core'
import { type Runtime, StateError } from '@waybill/core'
import type { ResolvedBinding } from '../binding/resolved-binding.ts'
import { preparerOf } from '../handlers/handle-events.ts'

/** The part of a binding that is checked. */
type Marking = Pick<ResolvedBinding, 'name' | 'deduplicate' | 'handler'>
type Marks = Pick<IdempotencyStore | Inbox<unknown>, 'missing'>

/** The deadline of the check. A start does not wait longer for a database: its records retry until it answers. */
const checkMs = 2_500

/**
 * Rejects when a table is missing. When a store does not answer, the bindings start: a temporary outage of a database
 * must not block bindings that do not use it. Returns undefined when no binding deduplicates.
 */
export function checkMarks(
  bindings: readonly Marking[],
  { timers, logger }: Pick<Runtime, 'timers' | 'logger'>,
): Promise<unknown> | undefined {
  const namesByMarks = new Map<Marks, string[]>()
  for (const binding of bindings) {
    const marks = marksOf(binding)
    if (marks?.missing !== undefined) namesByMarks.set(marks, [...(namesByMarks.get(marks) ?? []), binding.name])
  }
  const check = async ([marks, names]: [Marks, string[]]): Promise<void> => {
    const missing = await missingOf(marks, timers).catch((err: unknown) => {
      const text =
        'Table of `deduplicate` not checked; the binding starts, and its records fail until the store answers'
      logger.warn({ err, bindings: names }, text)
      return undefined
    })
    if (missing instanceof Error) throw missing
  }
  return namesByMarks.size === 0 ? undefined : Promise.all([...namesByMarks].map(check))
}

function marksOf({ deduplicate, handler }: Marking): Marks | undefined {
  return deduplicate?.store ?? deduplicate?.inbox ?? preparerOf(handler)?.inbox
}

async function missingOf(marks: Marks, timers: Runtime['timers']): Promise<Error | undefined> {
  const over = new AbortController()
  const late = timers.sleep(checkMs, over.signal).then(() => {
    throw new StateError(`The deduplication store did not answer within ${checkMs} ms.`)
  })
  try {
    // Called in an async function: a synchronous throw would leave `late` without a handler.
    return await Promise.race([(async () => marks.missing?.())(), late])
  } finally {
    over.abort()
  }
}
