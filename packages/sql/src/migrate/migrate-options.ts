import { type Runtime, systemRuntime } from '@waybill/core'
import { instance, nested, orFalse, type Rule, resolveOptions, text } from '@waybill/core/option'
import { type ComponentName, components } from './components.ts'

/** Which tables there shall be. */
export interface MigrateOptions {
  /** Names of tables other than the usual ones; false for those that are not wanted. */
  readonly tables?: Readonly<Partial<Record<ComponentName, string | false>>> | undefined
  /** What a wait for another process is measured by. @defaultValue the system's */
  readonly runtime?: Runtime | undefined
}

const tableRules = Object.fromEntries(
  Object.entries(components).map(([name, { defaultTable }]) => [
    name,
    orFalse(text({ default: defaultTable, because: 'it is what the stores take by default' })),
  ]),
) as Readonly<Record<ComponentName, Rule<string | false>>>

const optionRules = {
  tables: nested(tableRules),
  runtime: instance<Runtime>('a runtime', (value) => typeof value === 'object' && value !== null, {
    default: systemRuntime,
    because: 'only tests have another',
  }),
}

/** Options with nothing left open. */
export interface ResolvedMigrateOptions {
  readonly tables: Readonly<Record<ComponentName, string | false>>
  readonly runtime: Runtime
}

/** @throws an OptionsError with everything that is wrong: a misspelt table would be made under its usual name */
export function resolveMigrateOptions(given: MigrateOptions): ResolvedMigrateOptions {
  return resolveOptions('migrate', optionRules, given)
}
