import { instance, type Rule } from '../option/rule.ts'
import { type Runtime, systemRuntime } from './runtime.ts'

/** The option `runtime`, wherever it has no reason of its own. */
export const runtimeRule: Rule<Runtime> = instance(
  'a runtime',
  (value) => typeof value === 'object' && value !== null,
  { default: systemRuntime },
)
