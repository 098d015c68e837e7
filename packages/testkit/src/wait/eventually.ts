import { describeThrown, type Runtime } from '@waybill/core'
import { durationMs, resolveOptions } from '@waybill/core/option'
import { requireFunction } from '../require-argument.ts'
import { WaitDeadlineError, withinDeadline } from './wait-deadline.ts'
import { deadlineRule, runtimeRule } from './wait-rules.ts'

/** How long {@link eventually} waits. */
export interface EventuallyOptions {
  /** @defaultValue 10,000 */
  readonly deadlineMs?: number
  /** @defaultValue 10 */
  readonly everyMs?: number
  /** @defaultValue the system's */
  readonly runtime?: Runtime
}

const rules = {
  deadlineMs: deadlineRule,
  everyMs: durationMs({ default: 10, because: 'below what a person notices, above what costs a core' }),
  runtime: runtimeRule,
}

/**
 * Repeats an assertion until it passes and answers what it returned. It gives up after the first attempt that starts
 * at the deadline or later, so a machine that was asleep gets another chance; the error says what was still wrong and
 * has it as its cause. An attempt that does not end within `deadlineMs` counts as failed. Nothing asserts how long
 * something took.
 */
export async function eventually<T>(assertion: () => T | Promise<T>, options?: EventuallyOptions): Promise<T> {
  requireFunction(
    'eventually()',
    'a function that asserts',
    assertion,
    'Write eventually(() => …): it is called again and again.',
  )
  const { deadlineMs, everyMs, runtime } = resolveOptions('eventually', rules, options)
  const { clock, timers } = runtime
  const endsAt = clock.monotonic() + deadlineMs
  const attempt = async (): Promise<T> => assertion()
  const late = (): WaitDeadlineError => new WaitDeadlineError(`it did not answer within ${deadlineMs} ms`)
  for (;;) {
    const isLast = clock.monotonic() >= endsAt
    try {
      return await withinDeadline(attempt(), deadlineMs, timers, late)
    } catch (cause) {
      if (isLast) throw new WaitDeadlineError(`Not so after ${deadlineMs} ms: ${describeThrown(cause)}`, { cause })
    }
    await timers.sleep(Math.min(everyMs, Math.max(0, endsAt - clock.monotonic())))
  }
}
