import { describeThrown, type Runtime } from '@waybill/core'
import { durationMs, resolveOptions } from '@waybill/core/option'
import { requireFunction } from '../require-argument.ts'
import { WaitDeadlineError, withinDeadline } from './wait-deadline.ts'
import { deadlineRule, runtimeRule } from './wait-rules.ts'

/** Options of {@link eventually}. */
export interface EventuallyOptions {
  /** @defaultValue 10,000 */
  readonly deadlineMs?: number
  /** @defaultValue 10 */
  readonly everyMs?: number
  /** @defaultValue the system runtime */
  readonly runtime?: Runtime
}

const rules = {
  deadlineMs: deadlineRule,
  everyMs: durationMs({ default: 10, because: 'too short to notice, too long to load a core' }),
  runtime: runtimeRule,
}

/**
 * Repeats an assertion until it passes, and resolves with its result. Gives up after the first attempt that starts at
 * or after the deadline, so that a suspended machine gets another attempt. The error has the last failure in its
 * message and as its cause. An attempt longer than `deadlineMs` counts as failed. No assertion is about durations.
 */
export async function eventually<T>(assertion: () => T | Promise<T>, options?: EventuallyOptions): Promise<T> {
  requireFunction(
    'eventually()',
    'a function that asserts',
    assertion,
    'Write eventually(() => …): it is called repeatedly.',
  )
  const { deadlineMs, everyMs, runtime } = resolveOptions('eventually', rules, options)
  const { clock, timers } = runtime
  const endsAt = clock.monotonic() + deadlineMs
  const attempt = async (): Promise<T> => assertion()
  const late = (): WaitDeadlineError => new WaitDeadlineError(`the attempt did not complete within ${deadlineMs} ms`)
  for (;;) {
    const isLast = clock.monotonic() >= endsAt
    try {
      return await withinDeadline(attempt(), deadlineMs, timers, late)
    } catch (cause) {
      if (isLast)
        throw new WaitDeadlineError(`The assertion still failed after ${deadlineMs} ms: ${describeThrown(cause)}`, {
          cause,
        })
    }
    await timers.sleep(Math.min(everyMs, Math.max(0, endsAt - clock.monotonic())))
  }
}
