import type { Runtime } from '@waybill/core'
import { integer, resolveOptions } from '@waybill/core/option'
import { requireText } from '../require-argument.ts'
import { WaitDeadlineError, withinDeadline } from './wait-deadline.ts'
import { deadlineRule, runtimeRule } from './wait-rules.ts'

/** Options of {@link createSignal}. */
export interface SignalOptions {
  /** @defaultValue the system's */
  readonly runtime?: Runtime
}

/** How to wait for a {@link Signal}. */
export interface SignalWait {
  /**
   * How often it must have been sent in all, also before the wait began.
   *
   * @defaultValue 1
   */
  readonly count?: number
  /** @defaultValue 10,000 */
  readonly deadlineMs?: number
}

/** Something that happens in the code under test, for a test to wait for instead of sleeping. */
export interface Signal<T = void> {
  /** Everything that was sent, in order. */
  readonly values: readonly T[]
  /** It happened. Fits as a callback: it needs no `this`. */
  readonly send: (value: T) => void
  /**
   * Resolves when it has happened `count` times, with what was sent the last of these times. At the deadline this wait
   * ends with an error that says what was awaited; the signal goes on.
   */
  wait(options?: SignalWait): Promise<T>
}

const signalRules = { runtime: runtimeRule }
const waitRules = {
  count: integer({ default: 1, min: 1, because: 'most tests wait for one thing' }),
  deadlineMs: deadlineRule,
}

/** Makes a {@link Signal}. `awaited` says in the error what did not happen: `createSignal('order 7 is shipped')`. */
export function createSignal<T = void>(awaited: string, options?: SignalOptions): Signal<T> {
  requireText('createSignal()', 'what is awaited', awaited, "Say it for the error: createSignal('order 7 is shipped').")
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
