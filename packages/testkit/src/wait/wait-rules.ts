import { type Runtime, systemRuntime } from '@waybill/core'
import { durationMs, instance, type Rule } from '@waybill/core/option'

/** The rule of the runtime that measures and times waits. */
export const runtimeRule: Rule<Runtime> = instance(
  'a Runtime',
  (value) => ['clock', 'timers', 'random'].every((part) => part in (value as object)),
  { default: systemRuntime, because: 'a test against real sockets or services runs in real time' },
)

/** The rule of the longest wait of a test. */
export const deadlineRule: Rule<number> = durationMs({
  default: 10_000,
  because: 'a machine under load needs seconds for work that otherwise takes milliseconds',
})
