/** Bindings that tell repeats need a place for their marks: without it every record of theirs would fail (C-78). */

import type { IdempotencyStore, Inbox } from '@waybill/core'
import { type Runtime, StateError } from '@waybill/core'
import type { ResolvedBinding } from '../binding/resolved-binding.ts'
import { preparerOf } from '../handlers/handle-events.ts'

/** What is read of a binding here. */
type Marking = Pick<ResolvedBinding, 'name' | 'deduplicate' | 'handler'>
type Marks = Pick<IdempotencyStore | Inbox<unknown>, 'missing'>

/** A start does not wait longer for a database: its records do, and another start is not sooner. */
const patienceMs = 2_500

/**
 * Rejects with what is missing. Where that cannot be learnt the bindings start: a database that is away for a while is no
 * reason to leave those alone that do not need it. Undefined: there is nothing to ask.
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
    const missing = await lookFor(marks, timers).catch((err: unknown) => {
      const text =
        'Could not check whether the table for the marks of `deduplicate` is there; the binding starts, and its records fail until the store answers'
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

async function lookFor(marks: Marks, timers: Runtime['timers']): Promise<Error | undefined> {
  const over = new AbortController()
  const late = timers.sleep(patienceMs, over.signal).then(() => {
    throw new StateError(`The store of marks did not answer within ${patienceMs} ms.`)
  })
  try {
    return await Promise.race([(async () => marks.missing?.())(), late]) // It may throw, and `late` is to be looked at.
  } finally {
    over.abort()
  }
}
