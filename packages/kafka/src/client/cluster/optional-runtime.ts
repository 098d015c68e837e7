import type { Runtime } from '@waybill/core'
import { hasMethods, instance, optional, type Rule } from '@waybill/core/option'

/** The rule of the option `runtime`, wherever it exists. */
export const runtimeRule: Rule<Runtime | undefined> = optional(
  instance<Runtime>('a Runtime', (value) => hasMethods((value as Partial<Runtime> | null)?.clock, 'now')),
)
