import { type Runtime, systemRuntime } from '@waybill/core'
import { durationMs, instance, type Rule } from '@waybill/core/option'

/** The runtime that waits are measured and timed by. */
export const runtimeRule: Rule<Runtime> = instance(
  'a Runtime',
  (value) => ['clock', 'timers', 'random'].every((part) => part in (value as object)),
  { default: systemRuntime, because: 'a test against real sockets or services has real time' },
)

/** How long a test waits before it gives up. */
export const deadlineRule: Rule<number> = durationMs({
  default: 10_000,
  because: 'it ends a wait that would never end; a machine under load needs some seconds for what takes milliseconds',
})
