import type { Runtime } from '@waybill/core'
import { integer, resolveOptions } from '@waybill/core/option'
import { requireText } from '../require-argument.ts'
import { WaitDeadlineError, withinDeadline } from './wait-deadline.ts'
import { deadlineRule, runtimeRule } from './wait-rules.ts'

/** Options of {@link createSignal}. */
export interface SignalOptions {
  /** @defaultValue the system runtime */
  readonly runtime?: Runtime
}

/** Options of a wait for a {@link Signal}. */
export interface SignalWait {
  /**
   * Total number of sends to wait for, including those before the wait began.
   *
   * @defaultValue 1
   */
  readonly count?: number
  /** @defaultValue 10,000 */
  readonly deadlineMs?: number
}

/** An occurrence in the code under test that a test waits for instead of sleeping. */
export interface Signal<T = void> {
  /** All sent values, in order. */
  readonly values: readonly T[]
  /** Records an occurrence. Works as a callback: it needs no `this`. */
  readonly send: (value: T) => void
  /**
   * Resolves with the value of the occurrence number `count`. At the deadline it rejects with an error that names the
   * awaited occurrence; the signal stays usable.
   */
  wait(options?: SignalWait): Promise<T>
}

const signalRules = { runtime: runtimeRule }
const waitRules = {
  count: integer({ default: 1, min: 1, because: 'most tests wait for one occurrence' }),
  deadlineMs: deadlineRule,
}

/** Creates a {@link Signal}. `awaited` names the occurrence in errors: `createSignal('order 7 is shipped')`. */
export function createSignal<T = void>(awaited: string, options?: SignalOptions): Signal<T> {
  requireText(
    'createSignal()',
    'what is awaited',
    awaited,
    "Name the awaited occurrence: createSignal('order 7 is shipped').",
  )
  const { timers } = resolveOptions('createSignal', signalRules, options).runtime
  const values: T[] = []
  const waits = new Set<() => void>()
  return {
    values,
    send(value) {
      values.push(value)
      for (const check of waits) check()
    },
    async wait(given) {
      const { count, deadlineMs } = resolveOptions('wait', waitRules, given)
      const sent = Promise.withResolvers<T>()
      const check = (): void => {
        if (values.length >= count) sent.resolve(values[count - 1] as T)
      }
      waits.add(check)
      check()
      try {
        return await withinDeadline(sent.promise, deadlineMs, timers, () => {
          const often =
            count === 1
              ? ', which did not happen'
              : ` to happen ${count} times; it happened ${values.length === 1 ? 'once' : `${values.length} times`}`
          return new WaitDeadlineError(`Waited ${deadlineMs} ms for "${awaited}"${often}.`)
        })
      } finally {
        waits.delete(check)
      }
    },
  }
}
